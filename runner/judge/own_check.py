"""The problem's own check of one output, and whose fault it is where the check itself fails.

A check that raises, dies or never ends says nothing by itself: an index out of range is the output's fault, a check
that needs too much memory is the problem's. So another oracle is asked, in which nothing else ever happened, about the
very same data: it must take what the reference gave, and fail on this output again or refuse it. Else nobody's code but
the problem's is to blame: it may have run out of memory over all that was asked before. In the admission test, where no
competitor is to blame, the same oracle is asked where its check raised: does it take what the reference gave?
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from runner.evidence.schedule import A
from runner.evidence.starved import is_starved
from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed, ProblemRaised
from runner.judge.data.memory import Buffer
from runner.judge.sides.oracle import Oracle

if TYPE_CHECKING:
    from runner.judge.trial import Trial

WHILE: Final = "\nwhile it was asked to "  # as sandbox/inside/oracle.py says it
SAID_CHARS: Final = 500  # of an error's last line

log = logging.getLogger("runner.own_check")


def ask(trial: Trial, given: Input, output: Buffer, side: str) -> tuple[bool, str]:
    """Is it right, and what does the check say? Raises OracleFailed where it fails and not because of this output, or
    on the baseline's."""
    try:
        return trial.oracle.check(given.number, given.layout, output)
    except OracleFailed as failed:
        if side == A or (failed.share is not None and is_starved(failed.share.to_json())):
            raise
        log.warning("the problem's own check failed on an output in case %s: %s", given.case, failed)
        if trial.another_oracle is None:
            is_outputs_fault = isinstance(failed, ProblemRaised) and _takes(trial.oracle, given)
        else:
            is_outputs_fault = _is_outputs_fault(trial, trial.another_oracle(), given, output)
        if not is_outputs_fault:
            raise
        raised = str(failed).partition(WHILE)[0]  # what follows are the problem's own lines
        last_line = raised.strip().rsplit("\n", 1)[-1][:SAID_CHARS]
        return False, f"the problem's own check failed on your output: {last_line}"


def _is_outputs_fault(trial: Trial, oracle: Oracle, given: Input, output: Buffer) -> bool:
    """Asks another oracle, which is the trial's from then on."""
    oracle.follow(trial.oracle)
    trial.oracle = oracle
    try:
        oracle.load(dict(trial.problem.files), trial.evidence["init_seed"])
        (again,) = oracle.make_all(given.arguments, [given.drawn_from])
        if again.layout != given.layout or not _takes(oracle, again):
            return False
    except OracleFailed as failed:
        log.warning("it fails on what the reference gave, too: %s", failed)
        return False
    try:
        return not oracle.check(again.number, again.layout, output)[0]
    except OracleFailed:
        return True


def _takes(oracle: Oracle, given: Input) -> bool:
    """Is what the reference gave right?"""
    try:
        return oracle.check(given.number, given.layout, given.expected)[0]
    except OracleFailed as failed:
        log.warning("it fails on what the reference gave, too: %s", failed)
        return False
