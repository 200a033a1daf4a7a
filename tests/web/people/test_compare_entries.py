"""Entry pages show timed cases; two entries are compared by times, and by code where both are public."""

import difflib
import time
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.submissions.permissions import release_code
from leaderboard.web.people.cases import CaseTime, pairs
from leaderboard.web.review import evidence
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

CASES = (
    {"stage": "check", "name": "secret 1", "public": False, "good": True, "message": "hidden words"},
    {"stage": "time", "name": "rows=512", "public": True, "good": True, "measured_us": 500.0, "baseline_us": 1000.0,
     "ratio": 0.5, "half_width": 0.01, "message": "hidden words"},
)  # fmt: skip


@pytest.fixture
def two(stage):
    stage.now = timezone.now() - timedelta(hours=2)
    first, second = stage.submit(stage.ada), stage.submit(stage.ben)
    for submission, ratio in ((first, 0.5), (second, 0.8)):
        stage.judge(submission, ratio=ratio, score_us=1000 * ratio, cases=CASES, message="hidden words")
    return first, second


def text(client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    check(answer)
    return answer.content.decode()


def test_an_entry_shows_its_timed_cases_and_no_secret_case(stage, browser, two) -> None:
    page = text(browser(None), f"/entries/{two[0].pk}")
    assert "rows=512" in page
    assert "2.000×" in page
    assert "secret 1" not in page
    assert "hidden words" not in page


def test_an_entry_leads_to_the_comparison_with_the_leader_and_ones_own(stage, browser, two) -> None:
    first, second = two
    assert f"/compare?a={second.pk}&amp;b={first.pk}" in text(browser(None), f"/entries/{second.pk}")
    assert "your best" in text(browser(stage.ben), f"/entries/{first.pk}")
    assert "your best" not in text(browser(stage.cleo), f"/entries/{first.pk}")


def test_times_are_compared_and_private_code_is_not(stage, browser, two) -> None:
    first, second = two
    page = text(browser(None), f"/compare?a={second.pk}&b={first.pk}")
    assert "1.600×" in page
    assert "rows=512" in page
    assert "custom_kernel" not in page
    assert f"The code of entry {second.pk} is not public" in page
    release_code(submission=first, actor=stage.ada, now=timezone.now())
    assert "KERNEL" not in text(browser(None), f"/compare?a={second.pk}&b={first.pk}")
    release_code(submission=second, actor=stage.ben, now=timezone.now())
    assert "KERNEL" in text(browser(None), f"/compare?a={second.pk}&b={first.pk}")


def test_an_entry_with_itself_is_identical(stage, browser, two) -> None:
    release_code(submission=two[0], actor=stage.ada, now=timezone.now())
    assert "identical" in text(browser(None), f"/compare?a={two[0].pk}&b={two[0].pk}")


def test_entries_of_different_problems_are_not_compared_in_time(stage, browser, two) -> None:
    other = stage.submit(stage.ada, board=make_board("scan"))
    stage.judge(other)
    assert "solve different problems" in text(browser(None), f"/compare?a={two[0].pk}&b={other.pk}")


@pytest.mark.parametrize("given", ["1.5", "-1", "x" * 100, "９", "9" * 30])
def test_a_wrong_number_is_named(stage, browser, given) -> None:
    assert given[:40] in text(browser(None), f"/compare?a={given}&b=1", 400)


def test_a_hidden_entry_is_an_absent_entry(stage, browser, two) -> None:
    first, second = two
    hidden = stage.submit(stage.cleo)
    stage.judge(hidden, ratio=0.2)  # held for review
    absent = text(browser(None), f"/compare?a={first.pk}&b={hidden.pk + 100}", 404)
    assert absent.replace(str(hidden.pk + 100), str(hidden.pk)) == text(
        browser(None), f"/compare?a={first.pk}&b={hidden.pk}", 404
    )
    Competition.objects.update(visibility=CLOSED)
    text(browser(None), f"/compare?a={first.pk}&b={second.pk}", 404)


def test_cases_are_matched_by_name() -> None:
    one = CaseTime("a", 10.0, 20.0, 0.5, None)
    other = CaseTime("b", 10.0, 20.0, 0.5, None)
    found = pairs([one], [other, CaseTime("a", 5.0, 20.0, 0.25, None)])
    assert [(pair.name, pair.change) for pair in found] == [("a", 2.0), ("b", None)]


def test_texts_that_were_made_to_be_slow_are_compared_in_bounded_time() -> None:
    """Lines that repeat fifty times between lines of their own took 2.5 s. /compare is open to strangers."""
    old, new = ("\n".join(f"p{at % 50}\n{side}{at}" for at in range(1_499)) for side in "ab")
    began = time.process_time()
    found = evidence.unified(old, new)
    assert time.process_time() - began < 1.0
    assert found.is_cut
    assert not found.refusal


@given(st.lists(st.sampled_from("abcde"), max_size=40), st.lists(st.sampled_from("abcde"), max_size=40))
@settings(max_examples=200, deadline=None, database=None)
def test_a_difference_reads_as_usual(old: list[str], new: list[str]) -> None:
    usual = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    assert [line.text for line in evidence.unified("\n".join(old), "\n".join(new)).lines] == usual
