"""/api/v1/boards: filters and pages, and the problem for a judge at home. Closed boards stay absent."""

import pytest

from leaderboard.competitions.models import Board, ProblemVersion
from problems.spec import Fuzz, IntRange, Problem
from tests.leaderboard.stage import make_problem
from tests.web.test_pages_are_strict import check


@pytest.fixture
def boards(stage):
    """Three boards in two competitions, and one in a closed competition."""
    from tests.web.matrix_stage import build

    return build(stage)


def slugs(client, query=""):
    answer = client.get(f"/api/v1/boards{query}")
    assert answer.status_code == 200, answer.content
    return [board["slug"] for board in answer.json()]


def test_boards_are_filtered_by_competition_hardware_state_and_text(boards, browser) -> None:
    client = browser(None)
    everything = slugs(client)
    assert {"softmax", "winter-softmax"} <= set(everything)
    assert slugs(client, "?competition=winter") == ["winter-softmax"]
    assert slugs(client, "?text=WINTER") == ["winter-softmax"]
    assert slugs(client, "?text=softmax WINTER") == ["winter-softmax"], "words in any order, as on the page"
    assert slugs(client, "?hardware=CPU") == everything
    assert slugs(client, "?hardware=H100") == []
    assert sorted(slugs(client, "?open=true") + slugs(client, "?open=false")) == everything
    assert client.get("/api/v1/boards?open=perhaps").json()["errors"][0]["field"] == "open"


def test_boards_are_paged_by_cursor(boards, browser) -> None:
    from leaderboard.client.clients import _NEXT

    client, found, query = browser(None), [], "?limit=1"
    for _ in range(20):
        answer = client.get(f"/api/v1/boards{query}")
        found += [board["slug"] for board in answer.json()]
        following = _NEXT.search(answer.headers.get("Link", ""))
        if not following:
            break
        query = f"?limit=1&cursor={following.group(1)}"
    assert found == slugs(client)
    assert client.get("/api/v1/boards?cursor=nonsense").json()["errors"][0]["field"] == "cursor"


def test_closed_boards_are_absent_from_every_filter(boards, browser) -> None:
    secret = boards.keys["secret"]
    for query in ("", f"?competition={secret}", f"?text={secret}", "?open=true", "?limit=200"):
        assert secret not in slugs(browser(None), query)
    assert browser(None).get(f"/api/v1/boards/{secret}/problem").status_code == 404


def test_problem_is_that_of_the_site_without_its_baseline(stage, browser) -> None:
    version = stage.board.version
    answer = browser(None).get("/api/v1/boards/softmax/problem?hardware=cpu").json()
    problem = Problem.from_bundle(answer["problem"])
    assert (answer["board"], answer["hardware"], answer["digest"]) == ("softmax", "cpu", version.digest)
    assert problem.baseline is None
    assert problem.files == version.part("files")
    assert browser(None).get("/api/v1/boards/softmax/problem?hardware=H100").status_code == 404


def test_page_and_api_show_the_ranges_of_secret_cases(stage, browser) -> None:
    sizes, kinds = IntRange(1, 200_000, odd=True, log=True), ("normal", "a < b", 3, [1, 2])
    problem = make_problem(fuzz=Fuzz({"size": sizes, "kind": kinds}, 12))
    version = {"digest": problem.digest, "problem": stage.board.problem, "bundle": problem.to_bundle()}
    Board.objects.update(version=ProblemVersion.objects.create(**version))
    shown = browser(None).get("/api/v1/boards/softmax/problem").json()["problem"]
    assert Problem.from_bundle(shown).fuzz == problem.fuzz
    page = browser(None).get("/boards/softmax")
    check(page)
    text = page.content.decode()
    assert "<code>size</code>: odd, 1 to 200000, each octave equally likely" in text
    assert "<code>kind</code>: normal, a &lt; b, 3, [1, 2]" in text
    assert "At least 12 cases are drawn from these ranges" in text
