"""A profile on the page and over the API: sentence, figures, rows, files, for those who see the submission."""

import base64
from typing import Any

import pytest

from leaderboard.standings.models import Entry
from leaderboard.submissions.models import QuotaLine, Submission, Takedown
from runner.evidence import profiled
from runner.evidence.profiled import Row, Traced
from tests.leaderboard.stage import Stage

CONTENT = b"<script>alert(1)</script>"
TRACED = Traced(
    wall_us=100.0,
    cpu_us=100.0,
    cores=1,
    outside=0.7,
    operators=(Row(name="aten::<b>mul</b>", calls=3, us=60.0),),
    files={"operators.txt": base64.b64encode(CONTENT).decode()},
)
PROFILE = profiled.on_cpu("rows=8", TRACED, None, ["A note."]).model_dump(mode="json")


@pytest.fixture
def sent(stage: Stage) -> int:
    submission = stage.submit(mode="profile")
    stage.judge(submission, profile=PROFILE)
    return submission.pk


def test_owner_and_organiser_see_it(stage: Stage, sent: int, browser: Any) -> None:
    for person in (stage.ada, stage.olga):
        page = browser(person).get(f"/submissions/{sent}").content.decode()
        assert "Latency bounds this kernel: 70 % of its time passes outside PyTorch&#x27;s operators" in page
        assert "aten::&lt;b&gt;mul&lt;/b&gt;" in page
        assert "A note." in page
        assert "may be forged" in page
        told = browser(person).get(f"/api/v1/submissions/{sent}").json()
        assert (told["profile"]["bound"], told["profile"]["rows"][0]["share"]) == ("latency", 1.0)
        assert told["profile"]["figures"][0]["percent"] is None
        assert [file["name"] for file in told["files"]] == ["operators.txt"]
        answer = browser(person).get(told["files"][0]["url"])
        assert answer.content == CONTENT
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{sent}-operators.txt"'


def test_stranger_gets_nothing(stage: Stage, sent: int, browser: Any) -> None:
    address = f"/api/v1/submissions/{sent}/files/operators.txt"
    assert {browser(person).get(address).status_code for person in (stage.ben, stage.cleo)} == {404}
    assert browser(None).get(address).status_code == 401


def test_code_that_is_taken_down_takes_its_profile_along(stage: Stage, sent: int, browser: Any) -> None:
    Takedown.objects.create(submission=Submission.objects.get(pk=sent), reason="x", created_at=stage.now)
    assert browser(stage.ada).get(f"/api/v1/submissions/{sent}").json()["profile"] is None
    assert browser(stage.ada).get(f"/api/v1/submissions/{sent}/files/operators.txt").status_code == 404


@pytest.mark.parametrize("name", ["trace.json.gz", "..", "nothing", "operators.txt%00"])
def test_file_that_it_has_not_is_not_found(stage: Stage, sent: int, browser: Any, name: str) -> None:
    assert browser(stage.ada).get(f"/api/v1/submissions/{sent}/files/{name}").status_code == 404


def test_it_never_ranks_and_costs_a_token_of_its_own(sent: int) -> None:
    assert not Entry.objects.exists()
    assert list(QuotaLine.objects.values_list("submission", "mode")) == [(sent, "profile")]


def test_profile_with_forged_contents_is_not_shown(stage: Stage, browser: Any) -> None:
    submission = stage.submit(mode="profile")
    stage.judge(submission, profile=PROFILE | {"files": {"../x": "aGk="}})
    answer = browser(stage.ada).get(f"/submissions/{submission.pk}")
    assert answer.status_code == 200
    assert "Latency bounds" not in answer.content.decode()


def test_submit_page_offers_it(stage: Stage, browser: Any) -> None:
    page = browser(stage.ada).get("/boards/softmax/submit?mode=profile").content.decode()
    assert 'value="profile" checked' in page
