"""The sample submissions of a fresh site: sent with the real command line as the sample accounts, really judged.

Which account sends which file is a pure function; what was sent already is asked of the site, so that a second run
sends only what is missing.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from deploy.console import note, say
from deploy.processes import CLEAN_ENVIRONMENT
from deploy.site import Site, get_json

ACCOUNTS: Final = ("ada", "ben", "cleo", "dora", "emil")
LIBRARY: Final = Path("problems") / "library" / "kernels101"
SUBMIT_TIMEOUT_S: Final = 900.0
ROUNDS: Final = 3
SENT_AGAIN: Final = ("unmeasurable", "infra_error")  # says something about the machine, nothing about the kernel


@dataclass(frozen=True)
class Sample:
    """One file that one account sends to one board; `folder` says what it should get."""

    account: str
    board: str
    folder: str  # accepted, slow or wrong
    path: Path

    @property
    def filename(self) -> str:
        """What the site will call it; an account sends no two files of one name to a board."""
        return self.path.name


def plan(library: Path) -> list[Sample]:
    """On softmax an accepted file from every account, each another as far as they go; on vectoradd one of each kind."""
    softmax = _files(library / "softmax", "accepted")
    samples = [
        Sample(account, "softmax", "accepted", path) for account, path in zip(ACCOUNTS, cycle(softmax), strict=False)
    ]
    for account, folder in {"ada": "accepted", "ben": "wrong", "cleo": "slow"}.items():
        samples += [Sample(account, "vectoradd", folder, path) for path in _files(library / "vectoradd", folder)[:1]]
    return samples


def _files(problem: Path, folder: str) -> list[Path]:
    return sorted((problem / "submissions" / folder).glob("*.py"))


def submit_all(site: Site, samples: list[Sample], tokens: dict[str, str]) -> None:
    """Send what has no verdict yet, each account its own in order, and print the verdict of all.

    What a busy machine could not measure is sent again, as its competitor would.
    """
    for _ in range(ROUNDS):
        missing = [sample for sample in samples if sample.account in tokens and not _has_verdict(site, sample, tokens)]
        if not missing:
            break
        note(f"{len(missing)} submissions, each judged in containers of its own; this takes a while")
        _send_all(site, missing, tokens)
    _print_verdicts(site, samples, tokens)


def _send_all(site: Site, samples: list[Sample], tokens: dict[str, str]) -> None:
    queues: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        queues[sample.account].append(sample)
    with ThreadPoolExecutor(len(ACCOUNTS)) as pool:
        for done in [pool.submit(_send, site, queue, tokens) for queue in queues.values()]:
            done.result()


def _has_verdict(site: Site, sample: Sample, tokens: dict[str, str]) -> bool:
    """Whether it was sent and came back with something about the kernel; one that is under way counts as well."""
    row = _find(site, sample, tokens)
    return row is not None and _full(site, row, sample, tokens).get("outcome") not in SENT_AGAIN


def submit_command(program: Path, sample: Sample) -> list[str]:
    options = ["--board", sample.board, "--hardware", "cpu", "--mode", "ranked"]
    return [str(program), "submit", str(sample.path), *options]


def _send(site: Site, queue: list[Sample], tokens: dict[str, str]) -> None:
    for sample in queue:
        done = subprocess.run(
            submit_command(site.python.parent / "photofinish", sample),
            env={
                **CLEAN_ENVIRONMENT,
                "HOME": os.environ.get("HOME", "/"),
                "PHOTOFINISH_URL": site.url,
                "PHOTOFINISH_TOKEN": tokens[sample.account],
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SUBMIT_TIMEOUT_S,
        )
        note(f"{sample.account:5} {sample.board:10} {sample.folder}/{sample.filename}: exit code {done.returncode}")
        if _find(site, sample, tokens) is None:
            note((done.stdout + done.stderr).strip()[-600:])


def _find(site: Site, sample: Sample, tokens: dict[str, str]) -> Any:
    """The account's newest submission of that file on that board, or None."""
    listed = get_json(f"{site.url}/api/v1/submissions?board={sample.board}&limit=100", tokens[sample.account])
    rows = listed["results"] if isinstance(listed, dict) else listed
    return next((row for row in rows if row["filename"] == sample.filename and row["board"] == sample.board), None)


def _full(site: Site, row: dict[str, Any], sample: Sample, tokens: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = get_json(f"{site.url}/api/v1/submissions/{row['id']}", tokens[sample.account])
    return found


def _print_verdicts(site: Site, samples: list[Sample], tokens: dict[str, str]) -> None:
    rows = [("account", "board", "file", "verdict", "ratio", "rank")]
    for sample in samples:
        if sample.account in tokens and (row := _find(site, sample, tokens)):
            full = _full(site, row, sample, tokens)
            rows.append((sample.account, sample.board, f"{sample.folder}/{sample.filename}", *verdict(full)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        say("     " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def verdict(submission: dict[str, Any]) -> tuple[str, str, str]:
    """Verdict, ratio to the baseline and rank of a submission, as text for a table."""
    word = str(submission.get("outcome") or submission["status"])
    if reason := submission.get("reason"):
        word += f" ({reason})"
    if review := submission.get("review"):
        word += f", {str(review).replace('_', ' ')}"
    ratio = submission.get("ratio")
    rank = submission.get("rank")
    return word, f"{ratio:.3f}" if ratio else "-", str(rank) if rank else "-"
