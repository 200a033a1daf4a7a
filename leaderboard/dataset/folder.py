"""A data set as a folder: Parquet and JSON lines by table and split, and a card that Hugging Face's hub reads."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

import yaml

from leaderboard.dataset import columns, parquet
from leaderboard.dataset.likeness import SPLITS, Kept, sketch_of, split_of
from leaderboard.submissions.tokens import read

MOST_IN_GROUP: Final = 20_000  # kernels of a problem and hardware in a table; their sketches are in memory
GROUP_ROWS: Final = 1_000  # of a row group of Parquet
GROUP_CHARS: Final = 16_000_000
CARD: Final = "README.md"
HUB_LICENCES: Final = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "BSD-3-Clause": "bsd-3-clause",
    "GPL-3.0-or-later": "gpl-3.0",
    "CC0-1.0": "cc0-1.0",
}
SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True)
class Row:
    """A row, with the part of its problem and hardware by which duplicates are found."""

    group: tuple[str, str]
    digest: str
    source: str
    values: dict[str, Any]


@dataclass(frozen=True)
class About:
    """The part of the card that depends on the source of the rows."""

    title: str
    text: str  # Markdown
    now: datetime


class Split:
    """The two files of a table's split. Rows wait until a row group is full."""

    def __init__(self, folder: Path, table: str, split: str, stack: ExitStack) -> None:
        _, kinds = columns.TABLES[table]
        meanings = {name: columns.MEANINGS.get(name, "") for name in kinds}
        self._columns, self._writer = list(kinds), parquet.Writer(kinds, meanings)
        self._waiting: list[list[Any]] = []
        self._chars = 0
        self._parquet: IO[bytes] = stack.enter_context(_made(folder / table / f"{split}.parquet").open("wb"))
        self._lines: IO[str] = stack.enter_context(
            _made(folder / "jsonl" / table / f"{split}.jsonl").open("w", encoding="utf-8")
        )

    def add(self, values: Mapping[str, Any]) -> None:
        line = {name: values[name] for name in self._columns}
        self._lines.write(json.dumps(line, ensure_ascii=False, default=datetime.isoformat) + "\n")
        self._waiting.append([values[name] for name in self._columns])
        self._chars += len(values["code"]) + len(values["description"]) + len(values["reference"])
        if len(self._waiting) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
            self._flush()

    def end(self) -> None:
        self._flush()
        self._parquet.write(self._writer.end())

    def _flush(self) -> None:
        if self._waiting:
            self._parquet.write(self._writer.group(self._waiting))
        self._waiting, self._chars = [], 0


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write(
    folder: Path, tables: Mapping[str, Iterable[Row]], keys: Mapping[str, str], about: About
) -> dict[str, Counter[str]]:
    """Write the data set into an empty folder. Return the number of rows by table, by split and by left-out kind.

    `tables`: rows of each table, of which the rows of a group come in a row. `keys`: key of the split by problem.
    """
    counts, licences = dict[str, Counter[str]](), set[str]()
    for table, found in tables.items():
        count = counts[table] = Counter[str]()
        files: dict[str, Split] = {}
        group, kept = None, Kept()
        with ExitStack() as stack:
            for row in found:
                if row.group != group:
                    group, kept = row.group, Kept()
                if len(kept) >= MOST_IN_GROUP:
                    count["beyond the limit"] += 1
                    continue
                if kind := kept.add(row.digest, sketch_of(read(row.source).tokens)):
                    count[f"{kind} duplicates"] += 1
                    continue
                split = split_of(keys[row.group[0]])
                if split not in files:
                    files[split] = Split(folder, table, split, stack)
                files[split].add(row.values)
                licences.add(row.values["licence"])
                count[split] += 1
            for file in files.values():
                file.end()
    (folder / CARD).write_text(card(counts, sorted(licences), about), encoding="utf-8")
    return counts


def card(counts: Mapping[str, Counter[str]], licences: list[str], about: About) -> str:
    """Return the card: YAML for the hub, then the same for people."""
    used = {table: [split for split in SPLITS if count[split]] for table, count in counts.items()}
    total = sum(count[split] for count in counts.values() for split in SPLITS)
    configs = [
        {
            "config_name": table,
            "data_files": [{"split": split, "path": f"{table}/{split}.parquet"} for split in splits],
            **({"default": True} if table == "kernels" else {}),
        }
        for table, splits in used.items()
        if splits
    ]
    head = {
        "pretty_name": about.title,
        "license": [HUB_LICENCES.get(name, "other") for name in licences],
        "tags": ["code", "gpu", "kernels", "performance"],
        "task_categories": ["text-generation"],
        "size_categories": [next((name for most, name in SIZES if total < most), "n>1M")],
        "configs": configs,
    }
    text = f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n# {about.title}\n\n{about.text}\n"
    text += (
        "`kernels` has kernels that passed, `rejected` kernels that did not, with the reason, for training judges.\n"
    )
    text += "All rows of a problem are in one split. Of exact and near duplicates (MinHash over tokens), the fastest\n"
    text += "stays. Each row has its licence and its author; keep both with the code.\n\n"
    text += "## Rows\n\n| table | " + " | ".join((*SPLITS, "left out")) + " |\n"
    text += "| --- " * (len(SPLITS) + 2) + "|\n"
    for table, count in counts.items():
        left_out = ", ".join(f"{number} {kind}" for kind, number in sorted(count.items()) if kind not in SPLITS)
        text += f"| `{table}` | " + " | ".join(str(count[split]) for split in SPLITS) + f" | {left_out or '0'} |\n"
    for table, (schema, kinds) in columns.TABLES.items():
        text += f"\n## Columns of `{table}`\n\nSchema `{schema}`.\n\n| column | type | meaning |\n| --- | --- | --- |\n"
        text += "".join(f"| `{name}` | {kind} | {columns.MEANINGS.get(name, '')} |\n" for name, kind in kinds.items())
    return text
