"""Every reader of strangers' text is linear: twice the text takes at most 2.5 times as long.

Processor time is compared, not wall time. A reader that looks slow is measured again, and the shortest times count:
foreign work on the machine makes a run longer and never shorter.
"""

import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from leaderboard.cli import render as cli_render
from leaderboard.cli.config import Misuse
from leaderboard.errors import UserError
from leaderboard.review.rules import similarity
from leaderboard.source import SourceError, read_source
from leaderboard.submissions import tokens
from leaderboard.submissions.diff import unified
from leaderboard.web import markup
from leaderboard.web.submissions.syntax import marked_lines
from problems import fields
from problems.directives import overruled_directives
from problems.fields import ProblemError
from problems.formats import gpumode, inspect, kernelbench
from problems.formats.files import Files, parse_yaml
from runner.judge.trial import files_beside
from sandbox.protocol import clean_text, cut

GROWTH = 2.5
SLACK_S = 0.003  # below this, times are the machine's and not the reader's
TRIES = 40  # a busy machine needs more tries for an undisturbed pair
ESCAPINGS = 75  # of a plain text in the time of one highlighting: a busy machine slows both

PIECES = (
    *("\n", " ", "\t", "\\", "\\\n", '"', "'", '"""', "'''", "#", "/", "/*", "*/", "//", "#/**//**/", "(", ")", "["),
    *("]", "{", "}", "<", ">", "&", "@", "$", "$$", "`", "```", "~~", "*", "_", "|", "-", ":", ",", ";", "!", ".", "a"),
    *(
        "é",
        "1",
        "0x",
        "1_",
        "e",
        "f'",
        "rb'",
        "def a():",
        "import a",
        "from ",
        "class ",
        "#include <",
        "#!POPCORN ",
        "\r",
    ),
    *("\\text{", "\\frac{", "](", "![", "&#", "- ", "> ", "1. ", "x = 1\n", "a b(c);", "if 1:\n "),
)
KNOWN = (
    ("", "\n "),
    ("", "\n"),
    ("", "#/**//**/"),
    ("", "("),
    ("", "[{("),
    ("", "\\"),
    ("", "a"),
    ("x = '", "\\\n"),
    ("x = '''", "\n"),
    ('x = """(;', "'a"),
    ("x = '''(;\"", "\\a"),
    ("x = '", "a"),
    ("x = (", '"a"\n'),
    ("x = 0x", "f"),
    ("x = 1", "_1"),
    ("$", "\\text{"),
    ("", "[a]("),
    ("", "```\n"),
    ('R"a(', ')a"'),
    ("", 'R"aaaaaaaaaaaaaaaaa'),
    ("", '""🙂(\n(\n(\n'),
    ("", "1\n.(\n.(\n"),
    ("", ". "),
)
MODEL = """class Model:
    def forward(self, x):
        return x
def get_inputs():
    return [1]
def get_init_inputs():
    """  # a text goes on with the body
TASK = """files: [{name: reference.py, source: reference.py}, {name: submission.py, source: "@SUBMISSION@"}]
benchmarks: [{seed: 1}]
"""
PREFIXES = ("", "x = '", "x = '''(;", "x = (", "x = 1", "$", "/*", '"', "```python\n", "#!POPCORN gpu ")


def coloured(filename: str) -> Callable[[str], object]:
    return lambda text: markup.code(text, filename)


def read_embedded(text: str) -> None:
    list(tokens.rendered(list(tokens.lex_c(text, count(1)))))


def read_fingerprints(text: str) -> None:
    stream = tokens.read(text).tokens
    similarity.fingerprints_of(stream)
    similarity.opaque_chars_of(stream, len(text))


def read_model(text: str) -> None:
    kernelbench.parse(f"{MODEL}{text}", "1_text.py", 1)


def read_task(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        described, reference = Path(folder, "task.yml"), Path(folder, "reference.py")
        described.write_text(f"{TASK}description: {json.dumps(text)}")
        reference.write_text(f"def generate_input(seed): return seed\ndef ref_kernel(data): return data\n{text}")
        gpumode.read_task(Path(folder), Path(folder), "text", Files())


READERS: dict[str, tuple[int, Callable[[str], Any]]] = {  # characters of the shorter text, reader
    "highlight python": (20_000, coloured("a.py")),
    "highlight cuda": (20_000, coloured("a.cu")),
    "markdown": (4_000, markup.markdown),
    "markdown fence": (4_000, lambda text: markup.markdown(f"```python\n{text}")),
    "tokens": (5_000, tokens.read),
    "embedded C and renaming": (5_000, read_embedded),
    "similarity": (5_000, read_fingerprints),
    "source": (50_000, lambda text: read_source(text.encode())),
    "directives": (50_000, lambda text: overruled_directives(text, board="a", hardware="b")),
    "cli text": (50_000, cli_render.clean),
    "lines of a verdict": (50_000, lambda text: marked_lines(text, "a")),
    "diffs": (50_000, lambda text: unified(text, f"{text[1:]}\nb")),
    "files_beside": (20_000, lambda text: files_beside(text, {"reference.py": text})),
    "clean_text": (20_000, lambda text: clean_text(text.encode())),
    "cut": (50_000, lambda text: cut(text, len(text) - 50)),
    "parse_yaml": (2_000, lambda text: parse_yaml(text, "task.yml")),
    "fields.printable": (20_000, fields.printable),
    "inspect.code": (20_000, inspect.code),
    "gpumode": (2_000, read_task),
    "kernelbench": (5_000, read_model),
    "kernelbench strings": (5_000, lambda text: read_model(f"{json.dumps(text)}\n{text!r}")),  # always parsed
}
PLAIN_MEGABYTE = "".join(path.read_text() for path in sorted(Path(markup.__file__).parents[1].rglob("*.py")))[
    :1_000_000
]
_numbers: Iterator[int] = count()


def seconds(reader: Callable[[str], Any], text: str) -> float:
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(UserError, SourceError, Misuse, ProblemError):
            reader(f"{text}\n{next(_numbers)}")  # never the same twice: some answers are kept
        return time.thread_time() - began
    finally:
        gc.enable()


def check_linear(name: str, prefix: str, unit: str, size: int | None = None) -> None:
    usual, reader = READERS[name]
    size = size or usual
    short, long = (prefix + (unit * (chars // len(unit) + 1))[:chars] for chars in (size, 2 * size))
    once, twice = [], []
    for _ in range(TRIES):
        once.append(seconds(reader, short))
        twice.append(seconds(reader, long))
        if min(twice) <= GROWTH * min(once) + SLACK_S:
            return
    pytest.fail(f"{name}: {prefix!r} + {unit!r} × {size}: {min(once):.4f} s, twice that {min(twice):.4f} s")


@pytest.mark.parametrize("name", READERS)
def test_reader_takes_a_plain_text(name: str) -> None:
    READERS[name][1]("a = 1")  # raises nothing: what is measured below is the whole reader


@pytest.mark.parametrize("name", READERS)
def test_reader_is_linear_in_the_length_of_known_hostile_texts(name: str) -> None:
    for prefix, unit in KNOWN:
        check_linear(name, prefix, unit)


@pytest.mark.parametrize("name", READERS)
def test_reader_is_linear_in_the_length_of_any_repeated_text(name: str) -> None:
    @settings(max_examples=12, deadline=None, database=None, phases=[Phase.generate])  # a slow text is not shrunk
    @given(st.sampled_from(PREFIXES), st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join))
    def check(prefix: str, unit: str) -> None:
        check_linear(name, prefix, unit)

    check()


def test_tokens_join_adjacent_strings_in_linear_time() -> None:
    check_linear("tokens", "x = (", f'"{"a" * 30}"\n', 500_000)


def test_kernelbench_reads_a_chain_of_attributes_in_linear_time() -> None:
    check_linear("kernelbench", "a", ".a", 2_000)


@pytest.mark.parametrize("filename", ["a.py", "a.cu"])
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "\n ",
            '\n "',
            "#/**//**/",
            "'",
            '"\\\n',
            'R"a(',
            "/*",
            "1 ",
            "a",
            " ",
            "<",
            ".",
            "`",
            "*/",
            "\0",
            "&🙂",
            "/*;",
        ),
        *('""🙂(\n(\n(\n', '\'""""🙂', '"&"🙂', "1\n.(\n.(\n", "1aaaaaa🙂", "'\n/", ".🙂\ndef \n.R\"('é#'\\a\n\t"),
    ],
)
def test_highlight_of_a_megabyte_takes_less_than_200_ms(filename: str, unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000]
    taken, escaping = [], []
    for _ in range(TRIES):
        taken.append(seconds(coloured(filename), text))
        escaping.append(seconds(escape, PLAIN_MEGABYTE))
        if min(taken) < max(0.2, ESCAPINGS * min(escaping)):
            return
    pytest.fail(f"{filename}: {unit!r}: {min(taken):.3f} s, {min(taken) / min(escaping):.0f} times its escaping")


def test_highlight_colours_an_honest_megabyte_to_its_end() -> None:
    code = PLAIN_MEGABYTE[: PLAIN_MEGABYTE.rindex("\n\n\ndef ")]  # and no half of a text in quotes
    html = markup.code(f"{code}\nreturn None", "a.py")
    assert html.endswith('<span class="k">return</span> <span class="k">None</span>')
