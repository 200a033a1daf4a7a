"""Tracks, prizes, awards, the standing as a whole and confirmations over /api/v1."""

from __future__ import annotations

from leaderboard.awards.models import Award
from leaderboard.competitions.models import Competition, Role
from tests.leaderboard.awards.test_awards_from_standing_to_announcement import race, track
from tests.leaderboard.confirmations.test_record_is_confirmed import overtake
from tests.leaderboard.records import confirm
from tests.web.api.acting import field_of, send

AT = "/api/v1/organise/kernels-101"
HERE = "organise/kernels-101"


def test_a_track_and_its_prizes_are_made_changed_and_removed(stage, owner, browser) -> None:
    made = send(owner, f"{HERE}/tracks", name="Fast", kind="first_to_beat", board="softmax", hardware="cpu", speedup=2)
    assert (made.status_code, made.json()["slug"], made.json()["speedup"]) == (201, "fast", 2)
    edited = send(owner, f"{HERE}/tracks/fast", speedup=4, ties="share").json()
    assert (edited["name"], edited["board"], edited["speedup"], edited["ties"]) == ("Fast", "softmax", 4, "share")
    assert field_of(send(owner, f"{HERE}/tracks/fast", kind="tag", tag="none")) == (400, "tag")
    prized = send(owner, f"{HERE}/tracks/fast/prizes", place=1, amount="1000", currency="EUR", sponsor="Acme").json()
    assert [(one["place"], one["amount"], one["sponsor"]) for one in prized["prizes"]] == [(1, "1000.00", "Acme")]
    assert field_of(send(owner, f"{HERE}/tracks/fast/prizes", place=2)) == (400, "text")
    (public,) = browser(None).get("/api/v1/competitions/kernels-101/awards").json()
    assert public["prizes"][0]["currency"] == "EUR"
    assert send(owner, f"{HERE}/tracks/fast/prizes/remove", place=1).json()["prizes"] == []
    assert send(owner, f"{HERE}/tracks/fast/prizes/remove", place=1).status_code == 404
    assert send(owner, f"{HERE}/tracks/fast/remove").status_code == 204
    assert owner.get(f"{AT}/tracks").json() == []
    assert send(owner, f"{HERE}/tracks", name="Nowhere", kind="board", board="x", hardware="cpu").status_code == 400


def test_an_award_goes_all_the_way(stage, tool, browser) -> None:
    race(stage)
    track(stage, 1000, 500, eligibility="")
    olga = tool(stage.olga, "review")
    assert field_of(send(olga, f"{HERE}/tracks/best/award/announce")) == (409, "award")
    proposed = send(olga, f"{HERE}/tracks/best/award/propose").json()
    assert (proposed["state"], [one["winner"] for one in proposed["winners"]]) == ("proposed", ["ada", "ben"])
    assert proposed["winners"][0]["money"] == [{"amount": "1000.00", "currency": "EUR"}]
    asked = send(olga, f"{HERE}/tracks/best/award/confirm").json()
    assert [pair["settled"] for pair in asked["pairs"]] == [True, False], "a record confirmed the first"
    Award.objects.update(state="confirmed")
    assert field_of(send(olga, f"{HERE}/tracks/best/award/approve")) == (400, "reason")
    assert send(olga, f"{HERE}/tracks/best/award/approve", reason="sound").json()["state"] == "approved"
    assert send(olga, f"{HERE}/tracks/best/award/announce").json()["state"] == "announced"
    assert field_of(send(olga, f"{HERE}/tracks/best", name="Other")) == (409, "track")
    (public,) = browser(None).get("/api/v1/competitions/kernels-101/awards").json()
    assert public["winners"][0]["winner"] == "ada"
    (shown,) = olga.get(f"{AT}/awards").json()
    assert [step["state"] for step in shown["steps"]] == ["proposed", "approved", "announced"]
    withdrawn = send(olga, f"{HERE}/tracks/best/award/withdraw", reason="a copy").json()
    assert withdrawn["state"] == "nothing proposed"


def test_proposed_awards_are_for_owners(stage, tool) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    client = tool(stage.ben, "review")
    assert client.get(f"{AT}/awards").status_code == 403
    assert client.get(f"{AT}/tracks").status_code == 200
    assert send(client, f"{HERE}/tracks/best/award/propose").status_code == 403


def test_the_standing_is_frozen_revealed_and_finalised(stage, owner) -> None:
    assert "freeze" in owner.get(f"{AT}/standing").json()["possible"]
    assert field_of(send(owner, f"{HERE}/standing/freeze")) == (400, "reason")
    frozen = send(owner, f"{HERE}/standing/freeze", reason="the finish").json()
    assert (frozen["phase"], frozen["frozen"]) == ("frozen", True)
    assert send(owner, f"{HERE}/standing/freeze", reason="again").json() == frozen, "without a further effect"
    stage.submit(stage.ada)
    left = send(owner, f"{HERE}/standing/finalise", reason="over")
    assert field_of(left) == (409, "anyway")
    final = send(owner, f"{HERE}/standing/finalise", reason="over", anyway=True).json()
    assert (final["frozen"], final["unjudged"]) == (False, 1)
    assert Competition.objects.get(slug="kernels-101").final_at is not None
    assert "reopen" in final["possible"]


def test_an_undecided_confirmation_is_settled_by_a_reviewer(stage, tool) -> None:
    overtake(stage)
    held = confirm(stage, told={"held": True})
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    olga = tool(stage.olga, "review")
    (line,) = [one for one in olga.get(f"{AT}/confirmations").json() if one["id"] == held.pk]
    assert (line["waits"], line["has_report"]) == (True, True)
    assert olga.get(f"{AT}/confirmations/{held.pk}").json()["confirmation"]["wins"] == 5
    mine = tool(stage.ada, "review")
    assert mine.get(f"{AT}/confirmations/{held.pk}").status_code == 404, "of her own code"
    assert send(mine, f"{HERE}/confirmations/{held.pk}/close", reason="mine").status_code == 403
    assert field_of(send(olga, f"{HERE}/confirmations/{held.pk}/close", reason=" ")) == (400, "reason")
    asked = send(olga, f"{HERE}/confirmations/{held.pk}/ask", reason="a quiet host").json()
    assert (asked["id"] > held.pk, asked["state"]) == (True, "queued")
    assert send(olga, f"{HERE}/confirmations/{held.pk}/close", reason="x").status_code == 409
