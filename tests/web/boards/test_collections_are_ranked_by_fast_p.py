"""A collection's page ranks by fast_p, draws its curve, and shows an entrant's answers problem by problem."""

import pytest

from leaderboard import pipeline
from leaderboard.admissions.compiled import ask_compiled
from leaderboard.competitions.models import APART, Board, Competition, Problem, ProblemVersion
from leaderboard.desk import acts
from leaderboard.entrants.enter import enter_in_division
from leaderboard.entrants.models import Entrant
from leaderboard.judging.runners import greet
from leaderboard.review.standing import held_results
from leaderboard.submissions.intake import Upload
from problems.formats import kernelbench
from problems.spec import COMPILED
from tests.leaderboard.stage import passing
from tests.web.test_pages_are_strict import check

SOURCE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * {factor}

def get_inputs():
    return [torch.rand(8)]

def get_init_inputs():
    return []
"""
FILES = ((1, "1_Double.py"), (1, "2_Triple.py"), (2, "1_Tenfold.py"), (2, "2_Dice.py"))
DICE = SOURCE.format(factor="torch.rand(8)")


@pytest.fixture
def boards(stage) -> list[Board]:
    competition = Competition.objects.create(slug="kernelbench", name="KernelBench")
    return [_board(competition, level, name) for level, name in FILES]


def _board(competition: Competition, level: int, filename: str) -> Board:
    source = DICE if "Dice" in filename else SOURCE.format(factor=len(filename))
    specification = kernelbench.parse(source, filename, level)
    problem = Problem.objects.create(slug=specification.slug, title=specification.title)
    version = ProblemVersion.objects.create(
        problem=problem, digest=specification.digest, bundle=specification.to_bundle()
    )
    return Board.objects.create(
        competition=competition, problem=problem, version=version, slug=specification.slug, hardware="cpu"
    )


def race(stage, board: Board, *ratios: float) -> None:
    """Judge kernels of ada's, and clear results held for their speed."""
    for ratio in ratios:
        result = stage.judge(stage.submit(stage.ada, board=board), ratio=ratio, half_width=0.01)
        if held_results().filter(pk=result.pk).exists():
            pipeline.clear_result(result=result, actor=stage.olga, reason="it is sound", now=stage.later(1))


def page(browser, address: str) -> str:
    answer = browser(None).get(address)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def test_failures_count_and_what_cannot_be_judged_does_not(stage, browser, boards) -> None:
    race(stage, boards[0], 0.6, 0.4)
    stage.judge(stage.submit(stage.ada, board=boards[1]), outcome="wrong")
    stage.judge(stage.submit(stage.ben, board=boards[0]), ratio=0.995, half_width=0.01)
    stage.judge(stage.submit(stage.ben, board=boards[2]), ratio=0.9, half_width=0.01)
    text = page(browser, "/collections/kernelbench")
    assert "Of 3 problems; 1 more cannot be judged here" in text
    ada, ben = text.index(">ada</a>"), text.index(">ben</a>")
    assert ada < ben, "both win one at p = 1; ada's is more than twice as fast"
    assert text[ada:ben].count("33.3\N{NARROW NO-BREAK SPACE}%") == 3
    assert 'class="curve curve-1"' in text


def test_a_former_name_leads_to_the_entrants_page(stage, browser, boards) -> None:
    race(stage, boards[0], 0.6)
    given = {"actor": stage.olga, "reason": "asked for it", "now": stage.later(1)}
    acts.rename_person(person=stage.ada, name="adele", **given)
    answer = browser(None).get("/collections/kernelbench/ada?baseline=eager")
    assert (answer.status_code, answer["Location"]) == (302, "/collections/kernelbench/adele?baseline=eager")
    assert "adele" in page(browser, answer["Location"])
    Entrant.objects.update(pseudonym="Nightjar")
    assert browser(None).get("/collections/kernelbench/ada").status_code == 404, "a pseudonym stays one"


def test_an_entrants_page_has_a_line_a_problem(stage, browser, boards) -> None:
    race(stage, boards[0], 0.6, 0.4, 0.8)
    text = page(browser, "/collections/kernelbench/ada")
    assert "2.500×" in text, "the best kernel of a problem"
    assert text.count("not solved") == 2
    assert text.count(">yes<") == 3
    assert browser(None).get("/collections/kernelbench/cleo").status_code == 404


def time_compiled(stage, board: Board, **told) -> None:
    """Have rex time torch.compile on this board, in an epoch that its hello has opened."""
    greet(runner=stage.rex, fingerprint={}, epoch="driver-1", now=stage.now)
    stage.rex.refresh_from_db()
    ask_compiled(board=board, actor=stage.olga, now=stage.later(1))
    job = pipeline.claim_work(runner=stage.rex, now=stage.later(1))
    assert pipeline.take_report(runner=stage.rex, report=passing(job, epoch="driver-1", **told), now=stage.later(1))


def test_the_sites_timing_of_torch_compile_is_the_second_baseline(stage, browser, boards) -> None:
    time_compiled(stage, boards[0], ratio=0.625)
    for board in boards[:2]:
        race(stage, board, 0.5)
    eager, compiled = (page(browser, f"/collections/kernelbench/ada?baseline={name}") for name in ("eager", "compile"))
    assert "2.000×" in eager
    assert "1.250×" in compiled
    assert "no baseline" in compiled, "the other problem has no such time"
    assert "torch.compile of the reference was timed by the site on 1 of" in page(browser, "/collections/kernelbench")


def test_a_competitors_torch_compile_is_a_kernel_like_any(stage, browser, boards) -> None:
    template = boards[0].version.part("templates")[COMPILED]
    sent = pipeline.submit(
        Upload(board=boards[0].slug, hardware="cpu", mode="ranked", filename="compiled.py", data=template.encode()),
        owner=stage.ben,
        now=stage.later(1),
    )
    stage.judge(sent, ratio=0.625, half_width=0.01)
    assert "torch.compile of the reference has no time yet" in page(browser, "/collections/kernelbench")


def test_a_board_shows_the_sites_timing_or_why_there_is_none(stage, browser, boards) -> None:
    time_compiled(stage, boards[0], ratio=0.625)
    text = page(browser, "/boards/kb1-001-double/cpu")
    assert "1.600×" in text
    assert "driver-1" in text
    time_compiled(stage, boards[1], outcome="build_error", message="No C++ compiler is in the image.")
    text = page(browser, "/boards/kb1-002-triple/cpu")
    assert "torch.compile of the reference gives no time on cpu. It did not load: No C++ compiler" in text
    time_compiled(stage, boards[1], outcome="infra_error", reason="problem", evidence={"operator": "seed 7"})
    text = page(browser, "/boards/kb1-002-triple/cpu")
    assert "own code failed: its organiser can see why" in text
    assert "seed 7" not in text, "secret data"
    time_compiled(stage, boards[0], outcome="timeout", message="It took too long.")
    assert "1.600×" in page(browser, "/boards/kb1-001-double/cpu"), "a later failure does not hide a figure"
    assert "torch.compile" not in page(browser, "/boards/softmax/cpu"), "a problem without the template"


@pytest.mark.parametrize("address", ["/", "/boards"])
def test_it_is_one_link_among_the_cards_of_others(stage, browser, boards, address) -> None:
    text = page(browser, address)
    assert text.count('href="/collections/kernelbench"') == 1
    assert "Standings over 3 problems" in text, "the dice cannot be judged"
    assert 'href="/boards/softmax' in text
    assert 'href="/boards/kb1-001-double"' not in text


def test_its_card_names_the_place_of_an_agent_among_agents(stage, browser, boards) -> None:
    Competition.objects.update(agents_rank=APART)
    competition = Competition.objects.get(slug="kernelbench")
    enter_in_division(user=stage.ada, competition=competition, division="agent", model_name="m", now=stage.now)
    board = Board.objects.get(pk=boards[0].pk)
    for owner, ratio in ((stage.ben, 0.6), (stage.ada, 0.7)):
        stage.judge(stage.submit(owner, board=board), ratio=ratio, half_width=0.01)
    for user, said in ((stage.ada, "1st among agents, 33.3"), (stage.ben, "1st, 33.3")):
        assert f'data-label="You">{said}' in browser(user).get("/").content.decode()


def test_nobody_yet(stage, browser, boards) -> None:
    assert "Nobody has solved a problem on cpu yet" in page(browser, "/collections/kernelbench")


@pytest.mark.parametrize("path", ["kernels-101", "nope", "kernelbench?hardware=H200", "kernelbench?baseline=luck"])
def test_what_is_no_collection_is_not_there(stage, browser, boards, path) -> None:
    assert browser(None).get(f"/collections/{path}").status_code == 404


def test_its_competition_lists_problems_by_number_and_leads_to_the_standing(stage, browser, boards) -> None:
    _board(boards[0].competition, 1, "10_Last.py")
    text = page(browser, "/competitions/kernelbench")
    assert 'href="/collections/kernelbench"' in text
    places = [
        text.index(f">{title}<") for title in ("1.1 Double", "1.2 Triple", "1.10 Last", "2.1 Tenfold", "2.2 Dice")
    ]
    assert places == sorted(places)
    assert text.count("not judged here") == 1
    assert "/collections/" not in page(browser, "/competitions/kernels-101")


def test_a_problem_that_cannot_be_judged_asks_for_no_kernel(stage, browser, boards) -> None:
    for address in ("/boards/kb2-002-dice", "/boards/kb2-002-dice/cpu"):
        text = page(browser, address)
        assert "not judged here" in text
        assert "Its forward draws random numbers" in text
        assert "/submit" not in text


def test_cases_that_differ_in_their_seeds_alone_are_told_once(stage, browser, boards) -> None:
    assert page(browser, f"/boards/{boards[0].slug}").count("<code>default ×2</code>") == 1
