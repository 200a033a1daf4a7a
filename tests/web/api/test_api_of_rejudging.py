"""Re-judging sets over /api/v1: chosen, drawn up, compared, tried, applied, stopped and discarded."""

from __future__ import annotations

import csv
import io

import pytest

from leaderboard.competitions.models import Role
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import RejudgeSet
from tests.leaderboard.rejudging_stage import judge_shadow
from tests.web.api.acting import field_of, send

CHOICE = {"competition": "kernels-101", "kind": "published"}


def test_a_set_is_chosen_made_compared_and_applied(stage, owner, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission, ratio=0.9)
    assert send(owner, "rejudge/choose", **CHOICE).json()["submissions"] == 1
    assert not RejudgeSet.objects.exists()
    assert field_of(send(owner, "rejudge", **CHOICE, name="judge 2")) == (400, "reason")
    made = send(owner, "rejudge", **CHOICE, name="judge 2", reason="a bug in the judge")
    assert (made.status_code, made.json()["submissions"], made.json()["judged"]) == (201, 1, 0)
    at = f"rejudge/{made.json()['id']}"
    assert field_of(send(owner, "rejudge", **CHOICE, name="judge 2", reason="again")) == (409, "name")
    assert field_of(send(owner, f"{at}/apply", reason="better")) == (409, "leave_out")
    judge_shadow(stage, submission, ratio=0.8, score_us=800.0)
    shown = owner.get(f"/api/v1/{at}").json()
    assert (shown["set"]["judged"], shown["fates"]) == (1, {"applied": 1})
    (item,) = owner.get(f"/api/v1/{at}/items").json()
    assert (item["submission"], item["ratio_before"], item["ratio_after"]) == (submission.pk, 0.9, 0.8)
    table = owner.get(f"/api/v1/{at}/items?format=csv").content.decode()
    assert next(csv.DictReader(io.StringIO(table)))["entrant"] == "ada"
    assert send(owner, f"{at}/try").json()["counts"]["published"] == 1
    entries = "/api/v1/boards/softmax/cpu/entries"
    assert browser(None).get(entries).json()[0]["ratio"] == 0.9
    applied = send(owner, f"{at}/apply", reason="better").json()
    assert (applied["set"]["state"], applied["counts"]["published"]) == ("applied", 1)
    assert browser(None).get(entries).json()[0]["ratio"] == 0.8
    assert send(owner, f"{at}/apply", reason="better").json()["counts"] == {}, "repeated: without effect"


def test_choosing_counts_submissions_that_are_being_judged_again(stage, owner) -> None:
    for again in (stage.submit(stage.ada), stage.submit(stage.ben)):
        stage.judge(again)
    rejudge(submission=again, actor=stage.olga, reason="a bug in the judge", now=stage.later(1))
    chosen = send(owner, "rejudge/choose", **CHOICE).json()
    assert (chosen["submissions"], chosen["left_out"]) == (1, 1)
    listed = send(owner, "rejudge/choose", **CHOICE | {"kind": "list", "ids": [again.pk]})
    assert field_of(listed) == (400, "ids")
    assert "being judged again" in listed.json()["errors"][0]["message"]


def test_a_set_is_stopped_and_discarded(stage, owner) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission)
    at = f"rejudge/{send(owner, 'rejudge', **CHOICE, name='x', reason='y').json()['id']}"
    assert send(owner, f"{at}/stop", reason="a slip").json()["counts"] == {"cancelled": 1}
    assert send(owner, f"{at}/discard", reason="a slip").json()["set"]["state"] == "discarded"
    assert [one["name"] for one in owner.get("/api/v1/rejudge").json()] == ["x"]


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"kind": "runner"}, 400, "runner"),
        ({"kind": "list"}, 400, "ids"),
        ({"kind": "list", "ids": [999_999]}, 400, "ids"),
        ({"kind": "version", "version": "sha256:0"}, 400, "selection"),
        ({"board": "softmax"}, 404, "board"),
    ],
)
def test_a_wrong_choice_names_the_field(stage, owner, changes, status, field) -> None:
    stage.judge(stage.submit(stage.ada))
    assert field_of(send(owner, "rejudge/choose", **CHOICE | changes)) == (status, field)


def test_sets_are_hidden_from_others_and_changed_by_owners(stage, owner, tool) -> None:
    stage.judge(stage.submit(stage.ada))
    at = f"rejudge/{send(owner, 'rejudge', **CHOICE, name='x', reason='y').json()['id']}"
    stranger = tool(stage.ada, "review")
    assert stranger.get("/api/v1/rejudge").json() == []
    assert stranger.get(f"/api/v1/{at}").status_code == 404
    assert send(stranger, "rejudge/choose", **CHOICE).status_code == 404
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.VIEWER)
    viewer = tool(stage.cleo, "review")
    assert viewer.get(f"/api/v1/{at}").status_code == 200
    for path, sent in (("rejudge/choose", CHOICE), (f"{at}/try", {}), (f"{at}/discard", {"reason": "z"})):
        assert send(viewer, path, **sent).status_code == 403, path
