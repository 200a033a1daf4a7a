"""Checks of a worklog name missing parts and claims that their reports contradict, in linear time."""

import time
from typing import Any

import pytest

from leaderboard.classes.checks import Check, checks_of
from leaderboard.matches.models import SECTIONS

EARLY, LATE = "2027-03-01T10:00:00+00:00", "2027-03-01T11:00:00+00:00"


def version(number: int, speedup: float | None, side: str = "human", **more: Any) -> dict[str, Any]:
    submission = number + (10 if side == "human" else 20)
    usual = {"has_reason": number > 1, "is_finished": True, "passes_both": bool(speedup and speedup > 1)}
    figure = {"speedup": speedup, "half_width": 0.02 if speedup else None}
    return {
        "side": side,
        "number": number,
        "submission": submission,
        "url": f"/v/{submission}",
        **usual,
        **figure,
    } | more


def document(text: str = "", *versions: dict[str, Any], predicted: str | None = EARLY) -> dict[str, Any]:
    texts = dict.fromkeys(SECTIONS, "written") | {"hand": text}
    runs = {"predicted_at": predicted, "first_run_at": LATE, "versions": list(versions)}
    missing = [name for name, found in texts.items() if not found]
    return {"titles": {name: name for name in SECTIONS}, "texts": texts, "missing": missing, "runs": runs}


def named(found: list[Check], name: str) -> Check:
    return next(one for one in found if one.name == name)


def flags(text: str, *versions: dict[str, Any]) -> list[tuple[int | None, str, str]]:
    found = checks_of(document(text, *(versions or (version(1, 1.6),))))
    return [(one.line, one.number, one.text) for one in found if one.name == "claim"]


def test_history_is_checked() -> None:
    parts = (version(1, None), version(2, 1.5), version(3, 1.6, has_reason=False), version(1, None, "machine"))
    found = checks_of(document("", *parts))
    first = named(found, "prediction before the first run")
    assert (first.text, first.is_good) == ("yes", True)
    assert named(found, "reasons").text == "1 of 2 later versions have a reason"
    assert named(found, "reasons").is_good is False
    assert named(found, "first try of the model").text == "did not pass both gates"
    assert named(found, "sections").text == "empty: hand"


@pytest.mark.parametrize(("predicted", "said"), [(None, "no prediction"), (LATE, "no: a kernel ran before it")])
def test_prediction_after_the_first_run_is_named(predicted: str | None, said: str) -> None:
    found = named(checks_of(document(predicted=predicted)), "prediction before the first run")
    assert said in found.text
    assert found.is_good is False


@pytest.mark.parametrize(
    "text",
    [
        "It reached 1.6× (#11).", "#11 is 1.6x as fast", "1,6× for #11", "1.63× at #11", "2× at #11",
        "I predicted 2.5×, and #11 reached 1.6×.", "2.1× without a report", "#11 without a figure",
        "`2.1× #11`", "```\n2.1× #11\n```", "2.1×\n#11", "2.1×" + "." * 200 + "#11", "0x2.1 #11",
    ],
)  # fmt: skip
def test_claims_that_agree_or_name_no_report_are_not_flagged(text: str) -> None:
    assert flags(text) == []


def test_claim_outside_its_interval_is_flagged_with_line_and_figure() -> None:
    [(line, number, text)] = flags("A line.\n```\ncode\n```\nSo it is 2.1× faster (#11).")
    assert (line, number) == (5, "2.1×")
    assert text.startswith("stands beside #11, whose report says 1.600× ±2.0")


def test_each_report_is_compared_with_the_figures_beside_it() -> None:
    pair = (version(1, 1.6), version(2, 2.4))
    assert flags("1.6× (#11) and 2.4× (#12)", *pair) == []
    assert [number for _, number, _ in flags("#11 has 1.6×, #12 has 3.0×", *pair)] == ["3.0×"]


def test_reports_without_a_speedup_are_named() -> None:
    assert "no version of this match" in flags("3× (#99)")[0][2]
    assert "no speed-up" in flags("3× (#11)", version(1, None))[0][2]


def test_worklog_of_the_first_shape_has_checks_of_its_texts() -> None:
    old = document("x")
    del old["runs"]
    assert [one.name for one in checks_of(old)] == ["sections", "claims"]


@pytest.mark.parametrize("part", ["2× #11 ", "#11", "2×", "[", "`", "$", "```\n", "\n", "~", "1", "[a]("])
def test_checks_take_linear_time(part: str) -> None:
    began = time.process_time()
    checks_of(document(part * 200_000, version(1, 1.6)))
    assert time.process_time() - began < 5
