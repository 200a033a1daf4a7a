"""The admin calls of `popcorn`, mapped onto staff and owners of competitions, with a token of the scope `review`."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.competitions.models import Board, Competition, InviteCode, Role
from leaderboard.operations.models import Maintenance
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import make_board
from tests.web.popcorn.test_popcorn_contract import is_shown, post

STAFF = (("post", "start"), ("post", "stop"), ("get", "stats"))
OWNERS = (("delete", "leaderboards/softmax"), ("get", "leaderboards/softmax/invites"), ("post", "invites"))
INVITES = {"leaderboards": ["softmax"], "count": 2}


def call(client: Client, method: str, path: str, sent: Any = None) -> Any:
    told = {"data": sent, "content_type": "application/json"} if sent is not None else {}
    return getattr(client, method)(f"/popcorn/admin/{path}", **told)


@pytest.fixture
def owner(stage):
    """Return ben, who owns the competition and is no staff."""
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    return stage.ben


@pytest.mark.parametrize(("method", "path"), STAFF)
def test_site_wide_acts_are_for_staff_alone(stage, admin, owner, method, path) -> None:
    for person in (stage.ada, owner):
        is_shown(call(admin(person), method, path), 403, "actor", "only an organiser")
    assert call(admin(stage.olga), method, path).status_code == 200


@pytest.mark.parametrize(("method", "path"), [*STAFF, *OWNERS, ("get", "submissions/1"), ("delete", "invites/pfi_x")])
def test_admin_calls_need_a_token_with_the_scope_review(stage, admin, browser, method, path) -> None:
    is_shown(call(admin(stage.olga, "read", "submit"), method, path), 403, "review", "/tokens")
    way_in = ("scope “review”", "/tokens", "POPCORN_ADMIN_TOKEN")
    is_shown(call(Client(headers={"Authorization": "Bearer None"}), method, path), 401, "unknown", *way_in)
    is_shown(call(browser(stage.olga), method, path), 401, "missing", *way_in)  # a session is not enough


@pytest.mark.parametrize("path", ["leaderboards", "update-problems"])
def test_admin_calls_without_a_counterpart_answer_with_the_scope_review_alone(stage, admin, path) -> None:
    is_shown(call(admin(stage.olga), "post", path, {}), 404, "zip", "/sets")


@pytest.mark.parametrize(("method", "path"), OWNERS)
def test_acts_on_a_leaderboard_are_for_owners_of_its_competition(stage, admin, owner, method, path) -> None:
    is_shown(call(admin(stage.ada), method, path, INVITES), 403, "actor", "owner")
    assert call(admin(owner), method, path, INVITES).status_code == 200


def test_stop_refuses_submissions_until_start(stage, admin, cli) -> None:
    olga = admin(stage.olga)
    for _ in range(2):
        assert call(olga, "post", "stop").json() == {"status": "ok", "accepting_jobs": False}
    is_shown(post(cli(stage.ada)), 503, "stopped the submissions")
    is_shown(call(admin(stage.ada), "post", "start"), 403, "only an organiser")
    assert Maintenance.objects.exists()
    for _ in range(2):
        assert call(olga, "post", "start").json() == {"status": "ok", "accepting_jobs": True}
    assert post(cli(stage.ada)).status_code == 202


def test_stats_count_submissions_and_runs(stage, admin) -> None:
    stage.now = timezone.now() - timedelta(days=2)
    stage.judge(stage.submit())
    stage.now = timezone.now() - timedelta(hours=1)
    stage.judge(stage.submit(stage.ben, mode="test"), outcome="wrong")
    stage.submit(stage.ben)
    whole = call(admin(stage.olga), "get", "stats").json()
    assert whole == {
        "num_submissions": 3,
        "num_users": 2,
        "num_unique_codes": 3,
        "num_runs": 3,
        "runs_passed": 1,
        "runs_failed": 1,
        "runs_unfinished": 1,
    }
    last = call(admin(stage.olga), "get", "stats?last_day_only=true").json()
    assert (last["num_submissions"], last["runs_passed"]) == (2, 0)


def test_submission_of_anybody_is_shown_and_taken_off_its_board_by_staff(stage, admin) -> None:
    submission = stage.submit()
    stage.judge(submission)
    path = f"submissions/{submission.pk}"
    assert call(admin(stage.olga), "get", path).json()["code"] == submission.source
    assert call(admin(stage.olga), "delete", path).json() == {"status": "ok", "submission_id": submission.pk}
    assert Client().get("/popcorn/submissions/softmax/cpu").json() == []
    assert Submission.objects.filter(pk=submission.pk).exists()
    is_shown(call(admin(stage.cleo), "get", path), 404, "submission")
    is_shown(call(admin(stage.cleo), "delete", path), 404, "submission")


def test_submission_is_not_deleted_by_somebody_who_only_may_see_it(stage, admin) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.VIEWER)
    for mode in ("test", "ranked"):
        submission = stage.submit(mode=mode)
        stage.judge(submission)
        is_shown(call(admin(stage.cleo), "delete", f"submissions/{submission.pk}"), 403)


def test_leaderboard_with_submissions_is_closed_by_force_alone(stage, admin, owner) -> None:
    make_board("softmax", "H200")
    stage.submit()
    is_shown(call(admin(owner), "delete", "leaderboards/softmax"), 409, "board", "close it instead")
    assert Board.objects.filter(slug="softmax").count() == 2  # all of it or nothing
    for _ in range(2):
        answer = call(admin(owner), "delete", "leaderboards/softmax?force=true")
        assert answer.json() == {"status": "ok", "leaderboard": "softmax"}
    (board,) = Board.objects.filter(slug="softmax")
    assert (board.hardware, board.is_open_at(timezone.now())) == ("cpu", False)
    is_shown(call(admin(owner), "delete", "leaderboards/nothing"), 404, "leaderboard")


def test_invites_are_issued_listed_used_and_revoked(stage, admin, cli, owner) -> None:
    Competition.objects.update(visibility="closed")
    made = call(admin(owner), "post", "invites", INVITES).json()
    assert (made["status"], len(made["codes"]), made["leaderboards"]) == ("ok", 2, ["softmax"])
    used, unused = made["codes"]
    joined = cli(stage.cleo).post("/popcorn/user/join", {"code": used}, content_type="application/json")
    assert joined.status_code == 200
    listed = call(admin(owner), "get", "leaderboards/softmax/invites").json()["invites"]
    assert [(one["user_id"], one["user_name"]) for one in listed] == [(None, None), (str(stage.cleo.pk), "cleo")]
    assert all(set(one) == {"code", "user_id", "user_name", "created_at"} for one in listed)
    assert not {used, unused} & {one["code"] for one in listed}  # only the site's digests could know them
    assert call(admin(owner), "delete", f"invites/{used}").json()["was_claimed"] is True
    assert call(admin(owner), "delete", f"invites/{listed[0]['code']}").json()["was_claimed"] is False
    assert not InviteCode.objects.filter(revoked_at=None).exists()
    is_shown(call(admin(owner), "delete", f"invites/{used}"), 404, "code")
    is_shown(call(admin(stage.ada), "delete", f"invites/{unused}"), 404, "code")


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"count": 0}, 400, ("count", "1")),
        ({"count": 501}, 400, ("count", "500")),
        ({"leaderboards": []}, 400, ("leaderboards",)),
        ({"leaderboards": "softmax"}, 400, ("leaderboards",)),
        ({"leaderboards": ["nothing"]}, 404, ("leaderboard", "nothing")),
        ({"leaderboards": ["softmax", "winter"]}, 400, ("leaderboards", "ask for each apart")),
    ],
)
def test_invites_that_are_refused_name_the_field(stage, admin, changes, status, words) -> None:
    board = make_board("winter")
    Board.objects.filter(pk=board.pk).update(competition=Competition.objects.create(slug="winter", name="Winter"))
    is_shown(call(admin(stage.olga), "post", "invites", INVITES | changes), status, *words)
    assert not InviteCode.objects.exists()
