"""Acts of administrators over /api/v1: epochs, runners, enrolment, shares, incidents, suspended accounts, intake."""

from __future__ import annotations

from leaderboard.judging.epochs import current_epoch, propose_epoch
from leaderboard.judging.models import Share
from leaderboard.judging.runners import find_runner, greet
from leaderboard.operations import maintenance
from runner.wire import Place
from tests.web.api.acting import field_of, send


def test_a_proposed_epoch_is_shown_to_organisers_and_chosen_by_administrators(stage, olga, owner) -> None:
    for name in ("first", "second"):
        propose_epoch(hardware="cpu", name=name, fingerprint={"driver": name}, now=stage.now)
    (waiting,) = owner.get("/api/v1/epochs").json()
    assert (waiting["epoch"], waiting["current"], waiting["differences"]) == (
        "second",
        "first",
        ["driver first → second"],
    )
    chosen = {"hardware": "cpu", "epoch": "second", "reason": "All hosts have it."}
    assert send(owner, "epochs/choose", **chosen).status_code == 403
    assert send(olga, "epochs/choose", **chosen).json()["state"] == "current"
    assert current_epoch("cpu") == "second"
    assert field_of(send(olga, "epochs/choose", **chosen)) == (409, "epoch")
    assert field_of(send(olga, "epochs/dismiss", hardware="cpu", epoch="x", reason="y")) == (404, "epoch")


def test_runners_are_listed_drained_and_get_a_new_token(stage, olga, owner) -> None:
    greet(runner=stage.rex, fingerprint={}, epoch="", place=Place("rack-7", 3, "26-38"), now=stage.now)
    [line] = olga.get("/api/v1/runners").json()
    assert line["name"] == "rex"
    assert {name: line[name] for name in ("host", "device", "cores", "node")} == Place("rack-7", 3, "26-38").to_json()
    assert send(olga, "runners/rex/drain").json() == {"name": "rex", "token": ""}
    stage.rex.refresh_from_db()
    assert stage.rex.draining_at is not None
    assert send(olga, "runners/rex/suspend").status_code == 400, "a reason is missing"
    assert send(olga, "runners/rex/suspend", reason="a hot host").status_code == 200
    assert olga.get("/api/v1/runners").json()[0]["why"] == "a hot host"
    text = send(olga, "runners/rex/rotate", reason="a leak").json()["token"]
    found = find_runner(text, now=stage.now)
    assert found == stage.rex
    assert send(owner, "runners/rex/resume").status_code == 403
    assert send(olga, "runners/nobody/drain").status_code == 404


def test_a_host_is_enrolled_by_a_code(stage, olga) -> None:
    made = send(olga, "enrolments", name="tex", hardware="H200", minutes=15)
    assert (made.status_code, made.json()["code"].startswith("pfe_")) == (201, True)
    assert field_of(send(olga, "enrolments", name="tex", hardware="H200")) == (409, "name")
    (line,) = olga.get("/api/v1/enrolments").json()
    assert "code" not in line
    assert send(olga, f"enrolments/{line['id']}/withdraw").status_code == 204
    assert olga.get("/api/v1/enrolments").json() == []


def test_shares_of_hardware_are_set_and_ended(stage, olga) -> None:
    sent = {"competition": "kernels-101", "hardware": "cpu", "reason": "half is enough"}
    assert send(olga, "shares", **sent, percent=50).status_code == 204
    assert olga.get("/api/v1/shares").json() == [{"competition": "kernels-101", "hardware": "cpu", "percent": 50}]
    assert field_of(send(olga, "shares", **sent, percent=100)) == (400, "percent")
    assert send(olga, "shares", **sent, percent=None).status_code == 204
    assert not Share.objects.exists()
    assert send(olga, "shares", **sent | {"competition": "none"}, percent=1).status_code == 404


def test_incidents_are_opened_noted_and_ended(stage, olga, browser) -> None:
    made = send(olga, "incidents", title="Slow runners", text="We look into it.").json()
    assert [one["title"] for one in browser(None).get("/api/v1/status").json()["incidents"]] == ["Slow runners"]
    ended = send(olga, f"incidents/{made['id']}", text="Solved.", ends=True).json()
    assert (len(ended["notes"]), ended["ended_at"] is None) == (2, False)
    assert field_of(send(olga, f"incidents/{made['id']}", text="More.")) == (409, "incident")


def test_owners_suspend_in_their_competitions_and_administrators_everywhere(stage, olga, owner, tool) -> None:
    stage.judge(stage.submit(stage.ada))
    here = {"username": "ada", "competition": "kernels-101", "reason": "a copy"}
    (row,) = send(owner, "review/accounts/suspend", **here).json()
    assert (row["username"], row["competition"], row["by"]) == ("ada", "kernels-101", "ben")
    assert owner.get("/api/v1/boards/softmax/cpu/entries").status_code == 403, "the scope read is another"
    assert olga.get("/api/v1/review/accounts").json() == [row]
    assert send(owner, "review/accounts/reinstate", **here).json() == []
    everywhere = here | {"competition": ""}
    assert field_of(send(owner, "review/accounts/suspend", **everywhere)) == (403, "actor")
    assert send(olga, "review/accounts/suspend", **everywhere).json()[0]["competition"] == ""
    assert field_of(send(olga, "review/accounts/suspend", **here | {"username": "nobody"})) == (404, "user")
    assert tool(stage.cleo, "review").get("/api/v1/review/accounts").status_code == 404


def test_the_intake_stops_with_a_sentence(stage, olga) -> None:
    try:
        assert send(olga, "admin/stop", sentence="A move.", minutes=5).json() == {"accepting": False}
        assert maintenance.current().text == "A move."
        send(olga, "admin/stop")
        assert maintenance.current().text == "A move.", "a repetition keeps the sentence"
    finally:
        send(olga, "admin/start")
