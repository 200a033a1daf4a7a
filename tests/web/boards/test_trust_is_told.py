"""Pages explain in words how far a number can be trusted: ties, runs, forgeable share, telemetry, epochs."""

import re

import pytest

from leaderboard.judging.models import Runner
from leaderboard.judging.runners import set_aside
from leaderboard.judging.verdicts import MOST
from tests.web.test_pages_are_strict import check


def page(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def test_a_board_marks_ties_and_runs_and_puts_no_clock_tolerance_beside_a_name(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.9), (stage.ada, 0.9), (stage.ben, 0.902)):
        stage.judge(stage.submit(owner, kernel=1), ratio=ratio, forgeable=0.0312)
    text = page(browser(None), "/boards/softmax/cpu")
    assert text.count("Tied within the noise") == 2
    assert "mean of 2 runs" in text
    assert "forgeable" not in text.lower()
    assert "≤\N{NARROW NO-BREAK SPACE}3.2" not in text, "it stands on the page of each entry"
    entry = page(browser(None), re.search(r"/entries/[0-9]+", text)[0])
    assert "<dt>clock tolerance</dt><dd>≤\N{NARROW NO-BREAK SPACE}3.2" in entry
    assert "The judge&#x27;s clock confirms all of the time but for this share at most" in entry
    assert "What these numbers mean" in text


def test_a_board_ranks_one_epoch_and_links_the_others(stage, browser) -> None:
    for owner, epoch in ((stage.ada, "driver-1"), (stage.ben, "driver-2")):
        stage.judge(stage.submit(owner), epoch=epoch)
    stage.choose("driver-2")
    now, before = (page(browser(None), f"/boards/softmax/cpu{query}") for query in ("", "?epoch=driver-1"))
    assert ("ben" in now, ">ada" in now, "?epoch=driver-1" in now) == (True, False, True)
    assert (">ada" in before, "An earlier timing epoch" in before) == (True, True)
    assert browser(None).get("/boards/softmax/cpu?epoch=driver-3").status_code == 404


@pytest.mark.parametrize(
    ("level", "words"), [("full", "recorded during every timed block"), ("mask_only", "ten times a second")]
)
def test_a_submission_says_what_was_watched_and_what_can_be_forged(stage, browser, level, words) -> None:
    submission = stage.submit()
    stage.judge(submission, telemetry=level, forgeable=0.004)
    text = page(browser(stage.ada), f"/submissions/{submission.pk}")
    assert words in text
    assert "clock tolerance" in text
    assert "≤\N{NARROW NO-BREAK SPACE}0.4" in text


def test_a_submission_says_why_it_does_not_rank(stage, browser) -> None:
    submission = stage.submit()
    stage.judge(submission, telemetry="none")
    text = page(browser(stage.ada), f"/submissions/{submission.pk}")
    assert "Passed, not ranked" in text
    assert "could not watch its own clocks" in text
    assert "not ranked" in page(browser(stage.ada), "/submissions")


def test_a_submission_of_an_earlier_epoch_says_so(stage, browser) -> None:
    old = stage.submit()
    stage.judge(old, epoch="driver-1")
    proposed = stage.submit(stage.ben)
    stage.judge(proposed, epoch="driver-2")
    assert "waits for an organiser" in page(browser(stage.ben), f"/submissions/{proposed.pk}")
    stage.choose("driver-2")
    assert "the board of an earlier timing epoch" in page(browser(stage.ada), f"/submissions/{old.pk}")


def test_a_spoiled_measurement_is_not_held_against_anybody(stage, browser) -> None:
    submission = stage.submit()
    for tries in range(1, MOST + 2):
        stage.judge(submission, outcome="unmeasurable", reason="voids")
        text = page(browser(stage.ada), f"/submissions/{submission.pk}")
        assert f"{tries} measurement{'' if tries == 1 else 's'} of this failed" in text
    assert "not your kernel&#x27;s fault" in text


def test_a_page_of_what_is_timed_again_says_so_with_what_was_measured(stage, browser, settings) -> None:
    settings.REMEASURE_AFTER_S = 120
    submission = stage.submit()
    check_case = {"stage": "check", "name": "n=1", "public": True, "good": True, "reason": "", "message": ""}
    timed = {"stage": "time", "name": "n=5", "public": True, "good": True, "measured_us": 2024.0, "baseline_us": 2400.0}
    cases = (check_case, timed | {"ratio": 0.843, "half_width": 0.77})
    stage.judge(submission, outcome="unmeasurable", reason="unsteady", message="± 77 %", cases=cases)
    text = page(browser(stage.ada), f"/submissions/{submission.pk}")
    assert "Judged again soon: the machine was disturbed (try 2 of 4)" in text
    assert "Submit again" not in text
    assert "Send it again" not in text
    shown = text.partition("Measured so far, not ranked")[2]
    for figure in ("2.024 ms", "1.186×", "±77 %"):
        assert figure in shown
    stage.later(120)
    stage.claim()
    assert "Judged again now: the machine was disturbed (try 2 of 4)" in page(
        browser(stage.ada), f"/submissions/{submission.pk}"
    )


def test_a_page_of_what_no_try_could_time_shows_the_figures_as_not_ranked(stage, browser) -> None:
    submission = stage.submit()
    timed = {"stage": "time", "name": "n=5", "public": True, "good": True, "measured_us": 2024.0, "baseline_us": 2400.0}
    for _ in range(MOST + 1):
        stage.judge(
            submission,
            outcome="unmeasurable",
            reason="unsteady",
            message="the machine was disturbed.",
            cases=(timed | {"ratio": 0.843, "half_width": 0.77},),
        )
    text = page(browser(stage.ada), f"/submissions/{submission.pk}")
    for said in ("2.024 ms", "Not ranked", "not ranked", "it cost you nothing"):
        assert said in text
    assert "Measured so far" not in text


def test_a_page_of_a_starved_run_does_not_call_it_correct(stage, browser, settings) -> None:
    settings.REMEASURE_AFTER_S = 0
    submission = stage.submit()
    for tried in range(1, MOST + 2):
        stage.judge(submission, outcome="unmeasurable", reason="starved", message="A time limit ran out.")
        text = page(browser(stage.ada), f"/submissions/{submission.pk}")
        assert ("Judged again soon: the machine was overloaded" in text) == (tried <= MOST)
    assert "Not judged: the machine was overloaded" in text
    assert "it cost you nothing" in text
    assert "orrect, but" not in text
    assert "output was right" not in text


def test_lost_runners_are_told_too(stage, browser) -> None:
    from leaderboard.judging.sweep import expire_leases

    submission = stage.submit()
    stage.claim()
    stage.later(61)
    expire_leases(now=stage.now)
    text = page(browser(stage.ada), f"/submissions/{submission.pk}")
    assert "1 earlier attempt lost its runner" in text


def test_organisers_see_which_machines_are_out_and_why(stage, browser) -> None:
    set_aside(runner=Runner.objects.get(), reason="hw_thermal_slowdown", now=stage.now)
    text = page(browser(stage.olga), "/runners")
    assert "set aside" in text
    assert "hw_thermal_slowdown" in text
    assert browser(stage.ada).get("/runners").status_code == 404
    assert browser(None).get("/runners").status_code == 302
