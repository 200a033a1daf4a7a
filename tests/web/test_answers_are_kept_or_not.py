"""ETags and caching: public caches may keep an answer only if the request identifies no reader."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

PUBLIC = ("/", "/boards", "/boards/softmax", "/boards/softmax/cpu", "/competitions", "/api/v1/boards")


@pytest.mark.parametrize("path", [*PUBLIC, "/api/v1/boards/softmax/cpu/entries", "/api/v1/competitions"])
def test_public_answers_are_kept_for_a_moment_and_have_an_etag(stage, browser, path: str) -> None:
    stage.judge(stage.submit())
    answer = browser(None).get(path)
    assert answer["Cache-Control"] == "public, max-age=10"
    assert {"Cookie", "Authorization"} <= set(answer["Vary"].split(", "))
    again = browser(None).get(path, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    stage.judge(stage.submit(stage.ben), ratio=0.5, score_us=500.0)
    changed = browser(None).get(path, headers={"If-None-Match": answer["ETag"]})
    if "softmax/cpu" in path:
        assert changed.status_code == 200


@pytest.mark.parametrize("path", [*PUBLIC, "/sign-in", "/account", "/submissions", "/api/v1/me"])
def test_answers_to_somebody_are_private(stage, browser, tool, path: str) -> None:
    for client in (browser(stage.ada), tool(stage.ada)):
        assert {"private", "no-store"} <= set(client.get(path)["Cache-Control"].split(", "))


def test_answers_that_set_a_cookie_are_private(stage, browser) -> None:
    answer = browser(None).get("/sign-in")
    assert answer.cookies
    assert {"private", "no-store"} <= set(answer["Cache-Control"].split(", "))


def test_submission_is_polled_by_its_etag(stage, tool) -> None:
    submission, client = stage.submit(), tool(stage.ada)
    path = f"/api/v1/submissions/{submission.pk}"
    etag = client.get(path)["ETag"]
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    stage.judge(submission)
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/boards", "/boards", "/"])
def test_lists_of_boards_read_no_bundles(stage, browser, path: str) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert browser(None).get(path).status_code == 200
    selected = [query["sql"].partition(" FROM ")[0] for query in asked]
    assert not [sql for sql in selected if '"bundle",' in sql or sql.endswith('"bundle"')]


def test_lists_of_boards_say_which_are_not_judged(stage, browser) -> None:
    from leaderboard.competitions.models import Board, ProblemVersion

    bundle = stage.board.version.bundle | {"unsupported": "needs two devices"}
    version = ProblemVersion.objects.create(problem=stage.board.problem, digest="sha256:" + "1" * 64, bundle=bundle)
    Board.objects.create(
        competition=stage.board.competition, problem=version.problem, version=version, slug="pair", hardware="cpu"
    )
    assert b"needs two devices" in browser(None).get("/boards").content
