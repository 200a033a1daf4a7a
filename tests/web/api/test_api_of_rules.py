"""Settings, quotas, thresholds, figures and exports of a competition over /api/v1, for its organisers."""

from __future__ import annotations

from asgiref.sync import async_to_sync

from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.judging.epochs import propose_epoch
from leaderboard.judging.models import EpochPin
from tests.web.api.acting import field_of, send
from tests.web.organise.test_exports_are_safe_files import joined

AT = "/api/v1/organise/kernels-101"
HERE = "organise/kernels-101"


def with_role(stage, tool, user, role):
    Role.objects.create(competition=stage.board.competition, user=user, role=role)
    return tool(user, "review")


def test_every_role_reads_and_owners_alone_change(stage, tool, owner) -> None:
    viewer = with_role(stage, tool, stage.cleo, Role.VIEWER)
    for path in ("", "/quotas", "/thresholds", "/tracks", "/changes", "/state", "/codes"):
        assert viewer.get(f"{AT}{path}").status_code == 200, path
    assert send(viewer, f"{HERE}/quotas", quotas={}, reason="mine").status_code == 403
    assert tool(stage.ada, "review").get(f"{AT}/quotas").status_code == 404


def test_quotas_of_some_modes_are_set_with_a_reason(stage, owner) -> None:
    before = owner.get(f"{AT}/quotas").json()["quotas"]
    five = {"capacity": 5, "per_day": 2}
    assert field_of(send(owner, f"{HERE}/quotas", quotas={"ranked": five})) == (400, "reason")
    done = send(owner, f"{HERE}/quotas", quotas={"ranked": five}, reason="Few machines.").json()["quotas"]
    assert (done["ranked"], done["test"]) == (five, before["test"])
    assert field_of(send(owner, f"{HERE}/quotas", quotas={"fast": five}, reason="x")) == (400, "quotas")
    none = {"ranked": {"capacity": 0, "per_day": 1}}
    assert send(owner, f"{HERE}/quotas", quotas=none, reason="x").status_code == 400


def test_thresholds_are_tried_and_set(stage, tool, owner) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.4)
    usual = {one["rule"]: one for one in owner.get(f"{AT}/thresholds").json()}
    assert usual["bimodal"]["threshold"] == usual["bimodal"]["usual"]
    viewer = with_role(stage, tool, stage.cleo, Role.VIEWER)
    effect = send(viewer, f"{HERE}/thresholds/try", thresholds={"faster_than_best": 1.1}).json()
    assert effect["looked"] + effect["unmeasured"] == 1
    assert stage.board.competition.thresholds == {}
    looser = {"bimodal": "off", "aftermath": 0.2}
    done = send(owner, f"{HERE}/thresholds", thresholds=looser, reason="A noisy host.").json()
    now = {one["rule"]: one["threshold"] for one in done}
    assert (now["bimodal"], now["aftermath"]) == (None, 0.2)
    again = send(owner, f"{HERE}/thresholds", thresholds={"bimodal": None}, reason="Quiet again.").json()
    now = {one["rule"]: one["threshold"] for one in again}
    assert (now["bimodal"], now["aftermath"]) == (usual["bimodal"]["usual"], 0.2)
    wrong = send(owner, f"{HERE}/thresholds", thresholds={"faster_than_best": "off"}, reason="x")
    assert field_of(wrong) == (400, "thresholds.faster_than_best")
    endless = owner.post(f"{AT}/thresholds", '{"thresholds": {"bimodal": 1e999}, "reason": "x"}', "application/json")
    assert field_of(endless) == (400, "thresholds.bimodal")


def test_a_board_is_edited_by_the_fields_sent(stage, owner) -> None:
    named = {"board": "softmax", "hardware": "cpu"}
    done = send(owner, f"{HERE}/boards/edit", **named, tags=["fast"], deadline="2030-01-01T00:00:00Z").json()
    assert (done["tags"], done["deadline"][:4]) == (["fast"], "2030")
    done = send(owner, f"{HERE}/boards/edit", **named, deadline=None).json()
    assert (done["tags"], done["deadline"]) == (["fast"], None)
    assert field_of(send(owner, f"{HERE}/boards/edit", **named, digest="sha256:0")) == (404, "digest")
    assert send(owner, f"{HERE}/boards/edit", board="softmax", hardware="H100").status_code == 404
    slip = send(owner, f"{HERE}/boards", digest=stage.board.version.digest, hardware="CPU")
    assert field_of(slip) == (400, "hardware")
    assert "spells it cpu" in slip.json()["detail"]


def test_a_competition_is_cloned_and_deleted(stage, tool, owner) -> None:
    made = send(owner, f"{HERE}/clone", slug="summer", name="Summer", shift_days=7)
    assert (made.status_code, made.json()["visibility"]) == (201, "closed")
    assert Board.objects.filter(competition__slug="summer").count() == 1
    assert field_of(send(owner, f"{HERE}/clone", slug="summer", name="Summer")) == (409, "slug")
    assert field_of(send(owner, "organise/summer/delete", slug="x", reason="a slip")) == (400, "slug")
    assert send(owner, "organise/summer/delete", slug="summer", reason="a slip").status_code == 204
    assert not Competition.objects.filter(slug="summer").exists()
    stage.submit(stage.ada)
    assert send(owner, f"{HERE}/delete", slug="kernels-101", reason="x").status_code == 409


def test_changes_analytics_and_state_are_the_pages_figures(stage, owner) -> None:
    stage.judge(stage.submit(stage.ada))
    send(owner, HERE, description="New.")
    (change, *_) = owner.get(f"{AT}/changes").json()
    assert (change["act"], change["who"]) == ("edit competition", "ben")
    assert (change["changes"][0][0], change["changes"][0][2]) == ("description", "New.")
    figures = owner.get(f"{AT}/analytics").json()
    assert (len(figures["days"]), figures["funnel"][0]["count"]) == (30, 1)
    state = owner.get(f"{AT}/state").json()
    assert [(one["hardware"], one["queued"]) for one in state["queues"]] == [("cpu", 0)]
    assert [one["name"] for one in state["runners"]] == ["rex"]


def test_the_pin_of_a_contest_is_moved(stage, owner) -> None:
    for name in ("first", "second"):
        propose_epoch(hardware="cpu", name=name, fingerprint={}, now=stage.now)
    (before,) = owner.get(f"{AT}/state").json()["epochs"]
    assert (before["epoch"], before["pinned_at"], before["others"]) == ("first", None, ["second"])
    moved = send(owner, f"{HERE}/epochs", hardware="cpu", epoch="second", reason="The old host died.")
    assert moved.json()["epochs"][0]["epoch"] == "second"
    assert EpochPin.objects.get().epoch == "second"
    assert field_of(send(owner, f"{HERE}/epochs", hardware="cpu", epoch="third", reason="x")) == (404, "epoch")


def test_exports_come_with_a_token(stage, tool, owner) -> None:
    stage.judge(stage.submit(stage.ada))
    viewer = with_role(stage, tool, stage.cleo, Role.VIEWER)
    rows = viewer.get(f"{AT}/exports/submissions")
    assert rows["Content-Type"] == "application/json"
    read = async_to_sync(joined)
    assert b'"owner": "ada"' in read(rows.streaming_content)
    table = viewer.get(f"{AT}/exports/submissions?format=csv")
    assert read(table.streaming_content).startswith(b"submission,board,")
    assert viewer.get(f"{AT}/exports/code").status_code == 403
    assert b"custom_kernel" in read(owner.get(f"{AT}/exports/code").streaming_content)
    assert owner.get(f"{AT}/exports/nothing").status_code == 404


def test_a_message_needs_mail(stage, owner, settings) -> None:
    settings.MAIL_URL = ""
    assert field_of(send(owner, f"{HERE}/message", subject="Hello", text="all")) == (409, "text")


def test_a_retracted_kernel_is_restored_by_owners(stage, owner, tool, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission)
    at, mine = f"submissions/{submission.pk}", tool(stage.ada)
    assert send(mine, f"{at}/retract", reason="mine").json()["lines"] == 1
    assert browser(None).get("/api/v1/boards/softmax/cpu/entries").json() == []
    assert send(tool(stage.ada, "review"), f"{at}/restore", reason="mine").status_code == 403
    assert field_of(send(owner, f"{at}/restore")) == (400, "reason")
    assert send(owner, f"{at}/restore", reason="a slip").json()["lines"] == 1


def test_code_is_published_early_by_its_owner(stage, owner, tool, browser) -> None:
    submission = stage.submit(stage.ada)
    stage.judge(submission)
    address = f"/api/v1/entries/{submission.pk}"
    assert browser(None).get(address).json()["code"] is None
    assert send(tool(stage.ben), f"submissions/{submission.pk}/publish-code").status_code == 403
    assert send(tool(stage.ada), f"submissions/{submission.pk}/publish-code").status_code == 204
    assert browser(None).get(address).json()["code_public"] is True
