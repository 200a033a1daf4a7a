"""A line shows the share of the speed of light that its run reached, if the report has both time and bound."""

from typing import Any

import pytest

from leaderboard.standings.models import Entry
from leaderboard.standings.publish import light_share
from tests.leaderboard.stage import Stage


def report(bounds: dict[str, Any], times: dict[str, Any]) -> dict[str, Any]:
    limits = {"cases": [{"case": name, "hard": ns and {"resource": "memory", "ns": ns}} for name, ns in bounds.items()]}
    cases = [{"stage": "time", "name": name, "measured_us": us} for name, us in times.items()]
    return {"cases": [{"stage": "check", "name": "a"}, *cases], "evidence": {"limits": limits}}


@pytest.mark.parametrize(
    ("told", "share"),
    [
        (report({"a": 50_000, "b": 200_000}, {"a": 100, "b": 400}), 0.5),
        (report({"a": 80_000, "b": 20_000}, {"a": 100, "b": 100}), 0.4),
        (report({"a": 300_000}, {"a": 100}), 1.0),
        (report({"a": None}, {"a": 100}), None),
        (report({"a": 50_000}, {"a": 100, "b": 100}), None),
        (report({"a": "fast"}, {"a": 100}), None),
        (report({"a": 50_000}, {"a": float("nan")}), None),
        ({"cases": None, "evidence": {"limits": []}}, None),
        ({}, None),
    ],
)
def test_share(told: dict[str, Any], share: float | None) -> None:
    assert light_share(told) == (share if share is None else pytest.approx(share))


def test_a_line_keeps_it(stage: Stage) -> None:
    told = report({"a": 50_000}, {"a": 100})
    stage.judge(stage.submit(), cases=tuple(told["cases"]))
    assert Entry.objects.get().light is None, "this report has no bounds"
