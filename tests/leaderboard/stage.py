"""The cast and the stage: ada (competitor), ben (team mate), cleo (stranger), olga (organiser), rex (a runner).

`stage` sends submissions, and claims and reports as a runner would, on a clock of its own.
"""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion
from leaderboard.judging.claim import claim_next
from leaderboard.judging.epochs import current_epoch
from leaderboard.judging.models import RUNNING, Attempt, Result, Runner
from leaderboard.judging.runners import create_runner, lock_able
from leaderboard.standings.epochs import choose_epoch
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from problems.spec import Problem as Specification
from runner.wire import TIMED_MODES, Job, Report
from tests.runner.judge.suspects import steady

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PLENTY = {"ranked": 10_000, "benchmark": 10_000, "test": 10_000, "profile": 10_000}  # for tests of unrelated behaviour
SOURCE = b"def custom_kernel(data):\n    return data\n"


@dataclass
class Stage:
    board: Board
    ada: User
    ben: User
    cleo: User
    olga: User
    rex: Runner
    now: datetime = NOON
    sent: int = field(default=0)

    def later(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def submit(
        self, owner: User | None = None, *, mode: str = "ranked", board: Board | None = None, kernel: int | None = None
    ) -> Submission:
        """Send a submission a second after the last, with a kernel of its own unless `kernel` is given."""
        board, owner = board or self.board, owner or self.ada
        self.sent += 1
        return pipeline.submit(
            Upload(
                board=board.slug,
                hardware=board.hardware,
                mode=mode,
                filename="kernel.py",
                data=SOURCE + f"KERNEL = {kernel or -self.sent}  # sent as {self.sent}\n".encode(),
                lineage={"model": "m"} if owner.agent_of_id else {},
            ),
            owner=owner,
            now=self.later(1),
        )

    def claim(self, runner: Runner | None = None) -> Job:
        """Claim the next attempt with rex or, while rex judges, with another runner of its hardware.

        The runner measures in the current epoch, unless a test gives a runner.
        """
        chosen = runner or self._idle()
        if runner is None:
            chosen.epoch = current_epoch(chosen.hardware)
        assert lock_able(chosen, now=self.now), f"{chosen} may not work now"
        job = claim_next(runner=chosen, now=self.now)
        assert job is not None, "there was nothing to claim"
        return job

    def report(self, job: Job, *, runner: Runner | None = None, **told: Any) -> bool:
        """Send a report from the runner that claimed the job."""
        report = passing(job, **told)
        holder = runner or Attempt.objects.get(pk=int(job.attempt_id)).runner or self.rex
        return pipeline.take_report(runner=holder, report=report, now=self.later(1))

    def _idle(self) -> Runner:
        if not self.rex.attempts.filter(state__in=RUNNING).exists():
            return self.rex
        idle = Runner.objects.filter(hardware=self.rex.hardware, name__startswith="spare-")
        found = idle.exclude(attempts__state__in=RUNNING).first()
        return found or make_runner(f"spare-{Runner.objects.count()}", self.rex.hardware)

    def choose(self, epoch: str, hardware: str = "cpu") -> None:
        """Let olga make an epoch current."""
        told = {"actor": self.olga, "reason": "the drivers were updated", "now": self.later(1)}
        choose_epoch(hardware=hardware, name=epoch, **told)

    def judge(self, submission: Submission, **told: Any) -> Result:
        """Claim and report the next attempt in the queue, which must be this submission's."""
        job = self.claim()
        assert job.submission_id == str(submission.pk)
        assert self.report(job, **told)
        return Result.objects.get(attempt_id=job.attempt_id)


def passing(job: Job, **told: Any) -> Report:
    """Return a report of a pass slightly faster than the baseline, with the given changes."""
    outcome = told.setdefault("outcome", "passed")
    if outcome == "passed" and job.mode in TIMED_MODES:
        told = {"score_us": 900.0, "ratio": 0.9, "half_width": 0.01} | told
        told = {"evidence": steady(told["ratio"]) if told["ratio"] else {}} | told
    return Report(attempt_id=job.attempt_id, token=job.token, **told)


def make_problem(slug: str = "softmax", **changes: Any) -> Specification:
    bundle = {
        "slug": slug,
        "title": "Row softmax",
        "description": "Softmax of each row.",
        "files": {"reference.py": "def ref_kernel(data):\n    return data\n"},
        "benchmarks": ({"rows": 512, "cols": 4096, "seed": 1}, {"rows": 64, "cols": 1024, "seed": 2}),
        "ranking_by": "geom",
        "gpus": ("cpu",),
    }
    return Specification(**(bundle | changes))


def make_board(slug: str = "softmax", hardware: str = "cpu", **changes: Any) -> Board:
    specification = make_problem(slug)
    if "competition" not in changes:
        usual = {"name": "Kernels 101", "quotas": PLENTY}
        changes["competition"], _ = Competition.objects.get_or_create(slug="kernels-101", defaults=usual)
    problem, _ = Problem.objects.get_or_create(slug=slug, defaults={"title": specification.title})
    version, _ = ProblemVersion.objects.get_or_create(
        digest=specification.digest, defaults={"problem": problem, "bundle": specification.to_bundle()}
    )
    return Board.objects.create(problem=problem, version=version, slug=slug, hardware=hardware, **changes)


def mark_unsupported(board: Board) -> None:
    """Give the board a version of its problem that the site cannot judge."""
    bundle = board.version.bundle | {"unsupported": "It imports transformers."}
    digest = f"sha256:{board.pk:064x}"
    board.version = ProblemVersion.objects.create(problem=board.problem, digest=digest, bundle=bundle)
    board.save()


def make_runner(name: str, hardware: str = "cpu") -> Runner:
    return create_runner(name=name, hardware=hardware, now=NOON)[0]


def make_stage() -> Stage:
    return Stage(
        board=make_board(),
        ada=User.objects.create_user("ada"),
        ben=User.objects.create_user("ben"),
        cleo=User.objects.create_user("cleo"),
        olga=User.objects.create_superuser("olga"),
        rex=make_runner("rex"),
    )


def current(submission: Submission) -> Attempt:
    return Attempt.objects.get(submission=submission, is_current=True)


def environment() -> dict[str, str]:
    """Return the environment for a process of the site: the given address, with pytest-django's database."""
    name = connection.settings_dict["NAME"]
    return {**os.environ, "DATABASE_URL": urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))}


def cut_connections() -> None:
    """Terminate all database connections of other processes, as a restart of the server does.

    The waiting connections of this process's pool are closed instead: it would try them in turn, ever more slowly.
    """
    connection.close()
    connection.close_pool()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchall(), "nobody else is connected"
