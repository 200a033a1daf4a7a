"""Timings of torch.compile: requests, claims in their epoch, reports, and what they leave alone."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from leaderboard import pipeline
from leaderboard.admissions.compiled import ask_compiled, ask_for_untimed, end_unranked, newest_timings
from leaderboard.admissions.door import refusal
from leaderboard.admissions.models import FAILED, PASSED, CompiledTiming
from leaderboard.audit.models import Row
from leaderboard.competitions import authoring
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging.models import DONE, ERROR, QUEUED, Attempt, EpochPin
from leaderboard.judging.runners import greet
from leaderboard.standings.epochs import choose_epoch
from leaderboard.standings.models import Entry
from leaderboard.submissions.models import QuotaLine, Submission
from problems.spec import COMPILED
from runner.wire import Job
from tests.leaderboard.stage import Stage, make_board, make_problem, make_runner, passing

TEMPLATE = "import torch\n"


def with_template(board: Board, **changes) -> Board:
    found = make_problem(board.slug, templates={COMPILED: TEMPLATE}, **changes)
    board.version = ProblemVersion.objects.create(problem=board.problem, digest=found.digest, bundle=found.to_bundle())
    board.save()
    return board


@pytest.fixture
def board(stage: Stage) -> Board:
    hello(stage, "driver-1")
    return with_template(stage.board)


def hello(stage: Stage, epoch: str) -> None:
    greet(runner=stage.rex, fingerprint={}, epoch=epoch, now=stage.now)
    stage.rex.refresh_from_db()


def ask(stage: Stage) -> CompiledTiming:
    return ask_compiled(board=stage.board, actor=stage.olga, now=stage.later(1))


def claim(stage: Stage) -> Job:
    job = pipeline.claim_work(runner=stage.rex, now=stage.later(1))
    assert job is not None
    return job


def timed(stage: Stage, **told) -> CompiledTiming:
    timing = ask(stage)
    told = {"epoch": "driver-1"} | told
    assert pipeline.take_report(runner=stage.rex, report=passing(claim(stage), **told), now=stage.later(1))
    timing.refresh_from_db()
    return timing


def test_the_job_of_a_timing_is_the_template_judged_as_ranked(stage: Stage, board: Board) -> None:
    timing = ask(stage)
    job = claim(stage)
    assert (job.task, job.mode, job.source, job.submission_id) == ("judge", "ranked", TEMPLATE, "")
    assert (job.attempt_id, job.problem_digest) == (f"compiled-{timing.pk}", board.version.digest)
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_a_timing_is_stored_with_its_epoch_and_never_ranks(stage: Stage, board: Board) -> None:
    timing = timed(stage, ratio=0.5, half_width=0.02, score_us=40.0)
    assert (timing.outcome, timing.epoch) == (PASSED, "driver-1")
    assert (timing.ratio, timing.half_width, timing.score_us) == (0.5, 0.02, 40.0)
    for table in (Submission, Attempt, Entry, QuotaLine):
        assert not table.objects.exists(), table
    assert refusal(version_id=board.version_id, hardware="cpu") == "", "the board stays open"


def test_a_timing_that_torch_compile_failed_says_why(stage: Stage, board: Board) -> None:
    timing = timed(stage, outcome="runtime_error", message="Unsupported: no compiler.")
    assert timing.outcome == FAILED
    assert timing.message == (
        "torch.compile of the reference gives no time on cpu. It failed while running: Unsupported: no compiler."
    )
    assert timing.ratio is None


def test_a_timing_whose_problem_failed_is_settled_with_the_error_for_organisers(stage: Stage, board: Board) -> None:
    timing = timed(stage, outcome="infra_error", reason="problem", evidence={"operator": "seed 7: no module x"})
    assert (timing.outcome, timing.message) == (FAILED, "The problem's own code failed: seed 7: no module x")
    assert timing.public_message == "The problem's own code failed: its organiser can see why."
    assert ask_for_untimed(now=stage.now) == (0, [])
    out_of_time = {"outcome": "infra_error", "reason": "out_of_time"}
    late = timed(stage, **out_of_time)
    for losses in (1, 2):
        assert (late.state, late.losses) == ("queued", losses), "a machine may hang"
        assert pipeline.take_report(runner=stage.rex, report=passing(claim(stage), **out_of_time), now=stage.later(1))
        late.refresh_from_db()
    assert (late.outcome, "raise them" in late.message, late.public_message) == (FAILED, True, late.message)


def test_no_timing_is_asked_of_a_problem_that_cannot_be_judged(stage: Stage) -> None:
    hello(stage, "driver-1")
    with_template(stage.board, unsupported="It needs aiter.")
    assert ask_for_untimed(now=stage.now) == (0, [])
    with pytest.raises(UserError, match="cannot be judged here: It needs aiter"):
        ask(stage)


@pytest.mark.parametrize(
    "told",
    [
        {"outcome": "unmeasurable", "message": "noisy"},
        {"outcome": "infra_error", "reason": "broken"},
        {"epoch": "driver-2"},
        {"half_width": None},
    ],
    ids=str,
)
def test_a_timing_without_a_figure_is_queued_again_and_ends_after_three(stage: Stage, board: Board, told) -> None:
    timing = timed(stage, **told)
    assert (timing.state, timing.ratio) == (QUEUED, None)
    for _ in range(2):
        pipeline.take_report(
            runner=stage.rex, report=passing(claim(stage), **({"epoch": "driver-1"} | told)), now=stage.later(1)
        )
    timing.refresh_from_db()
    assert (timing.state, timing.outcome, timing.ratio) == (DONE, ERROR, None)
    assert "No runner could finish this timing" in timing.message


def test_a_timing_is_claimed_in_its_own_epoch_only(stage: Stage, board: Board) -> None:
    ask(stage)
    tess = make_runner("tess")
    greet(runner=tess, fingerprint={}, epoch="driver-2", now=stage.now)
    tess.refresh_from_db()
    assert pipeline.claim_work(runner=tess, now=stage.later(pipeline.LONG_PATIENCE.total_seconds())) is None
    assert claim(stage).attempt_id.startswith("compiled-")


def test_attempts_come_before_a_timing_until_its_patience_ends(stage: Stage, board: Board) -> None:
    for user in (stage.ada, stage.ben, stage.cleo):
        stage.submit(user)
    ask(stage)
    assert stage.report(claim(stage))
    stage.later(pipeline.PATIENCE.total_seconds())
    job = claim(stage)
    assert job.attempt_id.startswith("compiled-")
    again = claim(stage)
    assert again.attempt_id == job.attempt_id, "the runner holds the timing"
    job = again
    pipeline.take_report(runner=stage.rex, report=passing(job, epoch="driver-1"), now=stage.later(1))
    assert not claim(stage).attempt_id.startswith("compiled-")


def test_asking_twice_is_one_timing_and_only_organisers_ask(stage: Stage, board: Board) -> None:
    assert ask(stage) == ask(stage)
    with pytest.raises(UserError, match="only a reviewer"):
        ask_compiled(board=board, actor=stage.ada, now=stage.now)


def test_an_organiser_waits_for_the_operators_timing_after_asking_for_it(stage: Stage, board: Board) -> None:
    assert ask_for_untimed(now=stage.now) == (1, [])
    unawaited = CompiledTiming.objects.get()
    assert ask(stage) == ask(stage) == unawaited
    assert [row.actor for row in Row.objects.filter(act="ask_compiled_timing").order_by("pk")] == [None, stage.olga]
    assert CompiledTiming.objects.get().is_awaited


def test_a_timing_needs_a_template_and_an_epoch(stage: Stage) -> None:
    with pytest.raises(UserError, match="compile_baseline: true"):
        ask(stage)
    with_template(stage.board)
    with pytest.raises(UserError, match="no runner of cpu has named a timing epoch yet"):
        ask(stage)


def test_a_new_epoch_has_no_timing_until_it_is_asked_for(stage: Stage, board: Board) -> None:
    timed(stage)
    assert newest_timings([board], now=stage.now).keys() == {board.pk}
    hello(stage, "driver-2")
    choose_epoch(hardware="cpu", name="driver-2", actor=None, reason="a new driver", now=stage.now)
    assert newest_timings([board], now=stage.now) == {}


def test_a_queued_timing_ends_when_no_board_ranks_its_epoch(stage: Stage, board: Board, settings) -> None:
    assert "leaderboard.admissions.compiled.end_unranked" in dict(settings.SWEEPER_ACTS)
    timing = ask(stage)
    hello(stage, "driver-2")
    assert end_unranked(now=stage.now) == 0, "the new epoch is only proposed"
    stage.choose("driver-2")
    newer = ask(stage)
    assert end_unranked(now=stage.now) == 1
    timing.refresh_from_db()
    assert (timing.state, timing.outcome) == (DONE, ERROR)
    assert "ranks the timing epoch driver-1 any more" in timing.message
    assert claim(stage).attempt_id == newer.attempt_id


def test_a_queued_timing_stays_while_a_contest_pins_its_epoch(stage: Stage, board: Board) -> None:
    ask(stage)
    EpochPin.objects.create(competition=board.competition, hardware="cpu", epoch="driver-1", pinned_at=stage.now)
    hello(stage, "driver-2")
    stage.choose("driver-2")
    assert end_unranked(now=stage.now) == 0
    EpochPin.objects.all().delete()
    assert end_unranked(now=stage.now) == 1


def test_the_command_asks_for_what_has_no_timing(stage: Stage, board: Board) -> None:
    make_board("vectoradd")
    with_template(make_board("matmul", hardware="H200"))
    out = StringIO()
    call_command("ask_admission", "--compiled", stdout=out)
    assert out.getvalue().splitlines() == [
        "1 timing of torch.compile asked for; /admission shows what comes",
        "no runner of H200 has named a timing epoch yet; ask again once one has joined",
    ]
    CompiledTiming.objects.update(state=DONE, outcome=FAILED, finished_at=stage.now)
    assert ask_for_untimed(now=stage.now) == (0, ["H200"]), "torch.compile would fail again"
    CompiledTiming.objects.update(outcome=ERROR)
    assert ask_for_untimed(now=stage.now) == (1, ["H200"])


def test_a_timing_does_not_keep_an_unused_problem(stage: Stage, board: Board) -> None:
    timed(stage)
    authoring.delete_problem(
        competition=board.competition,
        name=board.slug,
        actor=stage.olga,
        slug=board.problem.slug,
        reason="a slip",
        now=stage.later(1),
    )
    assert not CompiledTiming.objects.exists()
