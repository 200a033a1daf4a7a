"""Acts of owners and administrators over /api/v1; the token needs the scope `review`."""

from django.utils import timezone


def send(client, path, **sent):
    return client.post(f"/api/v1/{path}", sent, content_type="application/json")


def owner_of(stage, user):
    from leaderboard.competitions.models import Role

    Role.objects.create(competition=stage.board.competition, user=user, role=Role.OWNER)
    return user


def test_invite_codes_are_made_listed_and_revoked(stage, tool) -> None:
    client = tool(owner_of(stage, stage.ben), "review")
    made = send(client, "organise/kernels-101/codes", count=2, boards=["softmax"], note="class").json()["codes"]
    assert len(set(made)) == 2
    listed = client.get("/api/v1/organise/kernels-101/codes").json()
    assert [(one["boards"], one["note"], one["used_by"]) for one in listed] == [(["softmax"], "class", None)] * 2
    assert all(not text.endswith(listed[0]["prefix"]) for text in made), "the site keeps the beginning alone"
    assert send(client, "organise/kernels-101/codes/revoke", code=made[0]).json()["was_used"] is False
    assert len(client.get("/api/v1/organise/kernels-101/codes").json()) == 1
    again = send(client, "organise/kernels-101/codes/revoke", code=made[0])
    assert (again.status_code, again.json()["errors"][0]["field"]) == (404, "code")
    wrong = send(client, "organise/kernels-101/codes", count=1, boards=["nope"])
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (404, "board")


def test_organisers_acts_need_the_scope_review(stage, tool) -> None:
    answer = tool(owner_of(stage, stage.ben)).get("/api/v1/organise/kernels-101/codes")
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


def test_a_board_with_submissions_is_closed_by_force(stage, tool) -> None:
    client = tool(owner_of(stage, stage.ben), "review")
    stage.submit()
    refused = send(client, "organise/kernels-101/boards/remove", board="softmax")
    assert refused.status_code in (400, 409)
    done = send(client, "organise/kernels-101/boards/remove", board="softmax", force=True)
    assert done.json() == {"removed": 0, "closed": 1}
    stage.board.refresh_from_db()
    assert stage.board.closes_at <= timezone.now()


def test_administrators_stop_count_and_start(stage, tool) -> None:
    from leaderboard.operations import maintenance

    stage.ben.is_staff = True
    stage.ben.save()
    client = tool(stage.ben, "review")
    stage.submit()
    assert client.get("/api/v1/admin/stats").json()["num_submissions"] == 1
    assert tool(stage.ada, "review").get("/api/v1/admin/stats").status_code == 403
    try:
        assert send(client, "admin/stop").json() == {"accepting": False}
        refused = send(tool(stage.ada), "submissions", board="softmax", hardware="cpu", mode="test", code="x = 1")
        assert (refused.status_code, refused.json()["code"]) == (503, "maintenance")
    finally:
        assert send(client, "admin/start").json() == {"accepting": True}
    assert maintenance.current() is None
