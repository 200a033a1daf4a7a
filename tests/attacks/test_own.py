"""Our own attacks on this particular judge: each was tried, each success got a defence, and all stay here."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.attacks.attack import Attack
from tests.attacks.conftest import Judge

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]


def attacks() -> list[ParameterSet]:
    paths = [path for folder in ("own", "ranks") for path in sorted((Path(__file__).parent / folder).glob("*.py"))]
    found = [Attack.read(path) for path in paths]
    timed = (pytest.mark.timed,)
    return [pytest.param(one, id=one.path.stem, marks=timed if one.expect == "timed" else ()) for one in found]


@pytest.mark.parametrize("attack", attacks())
def test_it_gains_nothing(attack: Attack, judge: Judge) -> None:
    report = judge(attack.source, attack.problem, attack.mode)
    assert attack.gained(report) == "", (report.outcome, report.reason, report.message[:600], report.logs["stderr"])
