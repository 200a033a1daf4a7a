"""Acts of owners and administrators over /api/v1; the token needs the scope `review`."""

from django.utils import timezone

from tests.leaderboard.stage import make_board


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


def test_boards_of_a_name_are_removed_together_or_not_at_all(stage, tool) -> None:
    """By force, a board is closed that cannot be removed, here for a person's own quota."""
    from datetime import timedelta

    from leaderboard.competitions.models import Board
    from leaderboard.submissions.models import QuotaException

    client, board = tool(owner_of(stage, stage.ben), "review"), stage.board
    make_board(hardware="a100")  # comes before cpu
    QuotaException.objects.create(
        user=stage.ada,
        competition=board.competition,
        board=board,
        mode="ranked",
        capacity=1,
        per_day=1,
        created_at=stage.now,
        ends_at=stage.now + timedelta(days=1),
    )
    refused = send(client, "organise/kernels-101/boards/remove", board="softmax")
    assert (refused.status_code, Board.objects.filter(slug="softmax").count()) == (409, 2)
    done = send(client, "organise/kernels-101/boards/remove", board="softmax", force=True)
    assert done.json() == {"removed": 1, "closed": 1}
    assert Board.objects.get(slug="softmax") == board


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


def test_an_owner_edits_announces_and_shares_roles(stage, tool, browser) -> None:
    client = tool(owner_of(stage, stage.ben), "review")
    at = "organise/kernels-101"
    edited = send(client, at, description="New *text*.")
    assert (edited.status_code, edited.json()["description"]) == (200, "New *text*.")
    assert client.get(f"/api/v1/{at}").json() == edited.json()
    wrong = send(client, at, max_team_size=0)
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "max_team_size")
    news = send(client, f"{at}/announcements", title="Hello", text="all").json()
    assert [one["title"] for one in browser(None).get("/api/v1/competitions/kernels-101/announcements").json()] == [
        "Hello"
    ]
    gone = send(client, f"{at}/announcements/withdraw", id=news["id"], reason="too early")
    assert gone.json()["withdrawn_at"]
    assert browser(None).get("/api/v1/competitions/kernels-101/announcements").json() == []
    assert send(client, f"{at}/roles", username="cleo", role="viewer").json()["role"] == "viewer"
    assert {one["username"] for one in client.get(f"/api/v1/{at}/roles").json()} >= {"ben", "cleo"}
    assert send(client, f"{at}/roles/revoke", username="cleo").status_code == 204
    assert tool(stage.cleo, "review").get(f"/api/v1/{at}").status_code == 404


def test_an_owner_adds_and_closes_a_board(stage, tool) -> None:
    client = tool(owner_of(stage, stage.ben), "review")
    (known,) = client.get("/api/v1/organise/kernels-101/boards").json()
    made = send(client, "organise/kernels-101/boards", digest=known["digest"], hardware="H200", tags=["fast"])
    assert (made.status_code, made.json()["slug"], made.json()["hardware"]) == (201, "softmax", "H200")
    again = send(client, "organise/kernels-101/boards", digest=known["digest"], hardware="H200")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    unknown = send(client, "organise/kernels-101/boards", digest="sha256:0", hardware="H200")
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (404, "digest")
    closed = send(client, "organise/kernels-101/boards/close", board="softmax", hardware="H200", reason="done")
    assert closed.json()["deadline"] is not None


def test_a_version_may_be_named_by_the_beginning_of_its_digest(stage, tool) -> None:
    from leaderboard.competitions.models import ProblemVersion

    client, version = tool(owner_of(stage, stage.ben), "review"), stage.board.version
    at, begun = "organise/kernels-101/boards", version.digest[:15]
    assert send(client, at, digest=begun, hardware="H200").json()["digest"] == version.digest
    twin = f"{begun}{'0' * (71 - len(begun))}"
    other = ProblemVersion.objects.create(problem=version.problem, digest=twin, bundle=version.bundle)
    stage.board.competition.boards.filter(hardware="H200").update(version=other)
    several = send(client, at, digest=begun, hardware="H100")
    assert several.status_code == 404
    assert "write more of the digest" in several.json()["errors"][0]["message"]
    assert send(client, at, digest=version.digest[:14], hardware="H100").status_code == 404, "too short to be one"


def test_an_owner_deletes_an_unused_problem(stage, tool) -> None:
    from tests.leaderboard.stage import make_board

    client, at = tool(owner_of(stage, stage.ben), "review"), "organise/kernels-101/problems/delete"
    told = {"board": "softmax", "slug": "softmax", "reason": "a trial"}
    wrong = send(client, at, **told | {"slug": "other"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "slug")
    absent = send(client, at, **told | {"board": "other"})
    assert (absent.status_code, absent.json()["errors"][0]["field"]) == (404, "board")
    submission = stage.submit()
    assert (send(client, at, **told).status_code, send(client, at, **told).json()["code"]) == (409, "conflict")
    other = make_board("layernorm")
    assert send(client, at, board="layernorm", slug="layernorm", reason="a trial").status_code == 204
    assert not type(other).objects.filter(pk=other.pk).exists()
    assert tool(stage.ada).get(f"/api/v1/submissions/{submission.pk}").status_code == 200


def test_a_problem_of_a_closed_competition_cannot_be_added_elsewhere(stage, tool) -> None:
    from leaderboard.competitions.models import Board, ProblemVersion
    from tests.web.matrix_stage import build

    secret = Board.objects.filter(pk=build(stage).keys["secret_board"])
    known = secret.get().version
    digest = f"sha256:{'0' * 64}"
    secret.update(version=ProblemVersion.objects.create(problem=known.problem, digest=digest, bundle=known.bundle))
    client = tool(owner_of(stage, stage.cleo), "review")
    answer = send(client, "organise/kernels-101/boards", digest=digest, hardware="H200")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (404, "digest")


def test_administrators_create_competitions_that_are_closed_at_first(stage, tool, browser) -> None:
    stage.ben.is_staff = True
    stage.ben.save()
    client = tool(stage.ben, "review")
    made = send(client, "organise", slug="spring", name="Spring")
    assert (made.status_code, made.json()["visibility"]) == (201, "closed")
    assert browser(None).get("/api/v1/competitions/spring").status_code == 404
    assert send(client, "organise", slug="spring", name="Spring").json()["errors"][0]["field"] == "slug"
    refused = send(tool(stage.ada, "review"), "organise", slug="autumn", name="Autumn")
    assert refused.status_code == 403
    assert [one["slug"] for one in client.get("/api/v1/organise").json()] == ["kernels-101", "spring"]
