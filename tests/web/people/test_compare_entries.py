"""Entry pages show timed cases; two entries are compared by times, and by code where both are public."""

import copy
import difflib
import hashlib
import re
import time
from datetime import timedelta
from unittest.mock import Mock

import jwt
import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.errors import StoreAway
from leaderboard.judging import archive
from leaderboard.submissions.diff import unified
from leaderboard.submissions.permissions import release_code
from leaderboard.web.people.cases import CaseTime, pairs
from tests.leaderboard.stage import make_board
from tests.runner.judge.suspects import steady
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


def test_an_entry_shows_its_machine_and_clock(stage, browser) -> None:
    stage.now = timezone.now() - timedelta(hours=2)
    evidence = copy.deepcopy(steady(0.5))
    evidence["fingerprint"] |= {"gpu": "NVIDIA H200", "driver": "570.00"}
    blocks = [block for quad in evidence["timing"][0]["quads"] for block in quad["blocks"]]
    for mhz, block in enumerate((block for block in blocks if block["side"] == "candidate"), start=1_900):
        block["heat"]["after"]["clock_mhz"] = mhz
    submission = stage.submit(stage.ada)
    stage.judge(submission, ratio=0.5, evidence=evidence)
    page = " ".join(re.sub("<[^>]+>", "", text(browser(None), f"/entries/{submission.pk}")).split())
    assert "NVIDIA H200" in page
    assert "driver 570.00" in page
    assert re.search(r"19\d\d MHz in the median, 1900 to 19\d\d MHz", page)
    other = stage.submit(stage.ben)
    stage.judge(other, ratio=0.8, evidence=steady(0.8) | {"fingerprint": {"cpu": "a cpu"}})
    assert "not reported by this device" in text(browser(None), f"/entries/{other.pk}")


def test_an_entry_leads_to_its_neighbours_in_the_ranking(stage, browser, two) -> None:
    third = stage.submit(stage.cleo)
    stage.judge(third, ratio=0.9)
    first, second = two
    page = text(browser(None), f"/entries/{second.pk}")
    assert f'rel="prev" href="/entries/{first.pk}">Faster: rank 1, 2.000×' in page
    assert f'rel="next" href="/entries/{third.pk}">Slower: rank 3, 1.111×' in page
    assert 'rel="prev"' not in text(browser(None), f"/entries/{first.pk}")
    assert 'rel="next"' not in text(browser(None), f"/entries/{third.pk}")
    release_code(submission=second, actor=stage.ben, now=timezone.now())
    assert f'href="/entries/{first.pk}#code"' in text(browser(None), f"/entries/{second.pk}")


def test_a_board_shows_its_cases_by_entry(stage, browser, two) -> None:
    page = text(browser(None), "/boards/softmax/cpu/cases")
    row = page[page.index("<tbody>") : page.index("</tbody>")]
    assert "<code>rows=512</code>" in row
    assert row.count("2.000×") == 2, "both runs have the same case"
    assert row.count(", best") == 2
    assert page.index("1. ada") < page.index("2. ben")
    assert "secret 1" not in page
    assert "hidden words" not in page
    Competition.objects.update(freeze_at=two[0].created_at)
    assert "No case has been timed on cpu yet" in text(browser(stage.olga), "/boards/softmax/cpu/cases")


def test_a_boards_cases_name_reports_that_cannot_be_read(stage, browser, two, monkeypatch) -> None:
    monkeypatch.setattr(archive, "_read_all", Mock(side_effect=StoreAway("no answer")))
    assert "the store of reports does not answer" in text(browser(None), "/boards/softmax/cpu/cases")


def test_a_signed_result_is_checked_without_the_site(stage, browser, two, settings) -> None:
    _, second = two
    answer = browser(None).get(f"/api/v1/entries/{second.pk}/signed").json()
    keys = browser(None).get("/api/v1/keys").json()["keys"]
    header = jwt.get_unverified_header(answer["jws"])
    [key] = [key for key in keys if key["kid"] == header["kid"]]
    assert jwt.decode(answer["jws"], jwt.PyJWK(key).key, algorithms=["EdDSA"]) == answer["result"]
    told = {name: answer["result"][name] for name in ("submission", "user", "rank", "ratio", "site", "code_sha256")}
    assert told == {
        "submission": second.pk,
        "user": "ben",
        "rank": 2,
        "ratio": 0.8,
        "site": settings.SITE_URL,
        "code_sha256": None,
    }
    assert [case["name"] for case in answer["result"]["cases"]] == ["rows=512"]
    assert answer["result"]["machine"] == {"facts": [], "clock_mhz": None}
    own = browser(stage.ben).get(f"/api/v1/entries/{second.pk}/signed").json()["result"]
    assert own["code_sha256"] == hashlib.sha256(second.source.encode()).hexdigest()
    forged = answer["jws"][:-8] + "AAAAAAAA"
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(forged, jwt.PyJWK(key).key, algorithms=["EdDSA"])


def test_a_former_key_still_verifies_beside_a_new_one(stage, browser, two, settings) -> None:
    signed = browser(None).get(f"/api/v1/entries/{two[0].pk}/signed").json()
    before = browser(None).get("/api/v1/keys").json()["keys"]
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key-that-is-long-enough-to-be-a-key"  # pragma: allowlist secret
    after = browser(None).get("/api/v1/keys").json()["keys"]
    assert after[1] == before[0] != after[0]
    assert jwt.decode(signed["jws"], jwt.PyJWK(after[1]).key, algorithms=["EdDSA"])["rank"] == 1


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
    absent = text(browser(None), f"/compare?a={first.pk}&b={hidden.pk + 10_000}", 404)
    assert absent.replace(str(hidden.pk + 10_000), str(hidden.pk)) == text(
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
    found = unified(old, new)
    assert time.process_time() - began < 1.0
    assert found.is_cut
    assert not found.refusal


@given(st.lists(st.sampled_from("abcde"), max_size=40), st.lists(st.sampled_from("abcde"), max_size=40))
@settings(max_examples=200, deadline=None, database=None)
def test_a_difference_reads_as_usual(old: list[str], new: list[str]) -> None:
    usual = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    assert [line.text for line in unified("\n".join(old), "\n".join(new)).lines] == usual
