"""Rank 0, a container's first process, ends with any other rank, and in the same way. Here are processes alone."""

import os
import tempfile
from pathlib import Path

import pytest

from tests import forks

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
PROGRAM = f"""
import os, signal, sys
sys.path.insert(0, {str(INSIDE)!r})
import world
BEFORE
rank, _ = world.fork(RANKS)
if rank == RANKS - 1:
    END
signal.pause()
"""


@pytest.mark.parametrize(
    ("end", "code"), [("os._exit(7)", 7), ("os._exit(0)", 0), ("os.kill(os.getpid(), signal.SIGKILL)", 137)]
)
def test_rank_0_ends_with_the_code_of_a_rank(end: str, code: int) -> None:
    assert ended("RANKS = 3", end) == code


def test_it_ends_also_where_nobody_can_ask_how_a_rank_ended() -> None:
    assert ended("RANKS = 2; signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "os._exit(7)") == 1


def ended(before: str, end: str) -> int:
    program = PROGRAM.replace("BEFORE", before).replace("END", end)
    with tempfile.TemporaryFile() as errors:
        return forks.Forked(program, [], {"PATH": os.environ["PATH"]}, errors.fileno()).wait(timeout=60)
