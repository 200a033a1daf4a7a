"""A stage with every kind of hidden content, and people with and without the right to read it.

Public competition `kernels-101`: ada and her team mate ben have a published, a held, a rejected and a retracted
submission. `secret` is closed, `frozen` is frozen with a submission sent since. Everything hidden from strangers
contains a word of PLANTED.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import issue_token
from leaderboard.admissions.ask import ask_test
from leaderboard.audit.models import Row
from leaderboard.awards.models import Award
from leaderboard.classes import assignments
from leaderboard.classes import people as courses
from leaderboard.competitions.access import issue_codes, publish_announcement
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion, Role, SetUpload, Track
from leaderboard.confirmations.models import HELD as NOT_SETTLED
from leaderboard.confirmations.models import RECORD, Confirmation, Found
from leaderboard.desk import acts
from leaderboard.entrants.models import Entrant, Membership, TeamInvite
from leaderboard.judging.enrolment import make_code
from leaderboard.judging.epochs import propose_epoch
from leaderboard.judging.models import Attempt, Epoch, Result, Runner
from leaderboard.matches import acts as matches
from leaderboard.matches.models import Match
from leaderboard.operations import bans
from leaderboard.rejudging.sets import Selection, make_set
from leaderboard.review.models import Case
from leaderboard.standings.publish import retract as retract_kernel
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch, Candidate, Submission
from runner.wire import Place
from tests.leaderboard.stage import SOURCE, Stage, make_problem

WHO = ("anonymous", "competitor", "mate", "stranger", "viewer", "reviewer", "owner", "administrator")
HOUR = timedelta(hours=1)
DRAWN: dict[str, Any] = {"winners": [], "skipped": [], "pairs": []}

HELD = "heldheld"
REJECTED = "rejectedrejected"
RETRACTED = "retractedretracted"
FROZEN = "frozenfrozen"
SECRET = "secretsecret"
PLANTED = (HELD, REJECTED, RETRACTED, FROZEN, SECRET)


def _epoch(stage: Stage) -> int:
    """Create a timing epoch that waits for a decision, and return its key."""
    for name in ("first", "second"):
        propose_epoch(hardware="H200", name=name, fingerprint={}, now=stage.now)
    return Epoch.objects.get(hardware="H200", name="second").pk


def _batch(submission: Submission) -> Batch:
    """Create a finished batch of a single, judged candidate."""
    told = {"owner": submission.owner, "mode": "ranked", "budget_s": 60.0, "created_at": submission.created_at}
    batch = Batch.objects.create(**told, size=1, settled_at=submission.created_at)
    Candidate.objects.create(batch=batch, submission=submission, number=1, arrival=1)
    return batch


def _match(stage: Stage) -> Match:
    """Open a match of ada's team, with a version of the machine."""
    match = matches.open_match(board=stage.board, opener=stage.ada, model="m", machine="pasted", now=stage.later(1))
    upload = Upload(board="", hardware="", mode="", filename="kernel.py", data=SOURCE)
    exchange = matches.Exchange("Write it.", "Done.")
    matches.send_answer(match=match, upload=upload, operator=stage.ada, exchange=exchange, now=stage.later(1))
    return match


def _class(stage: Stage) -> dict[str, int]:
    """Make the competition a class of ada, who has not begun its assignment; ben is expected."""
    told: dict[str, Any] = {"actor": stage.olga, "now": stage.later(1)}
    course = courses.make_course(competition=stage.board.competition, **told)
    courses.import_roster(course=course, text="ada,Ada\nsomebody@example.org,Some Body", **told)
    seat = courses.join_by_roster(course=course, user=stage.ada, now=stage.now)
    assignment = assignments.add_assignment(
        course=course, title="One", tier=1, boards=[stage.board], due_at=stage.now + 24 * HOUR, **told
    )
    return {"seat": seat.pk, "assignment": assignment.pk, "line": course.roster.get(seat=None).pk}


@dataclass
class Everything:
    people: dict[str, User | None]
    keys: dict[str, Any]  # placeholders of addresses: {held}, {closed}, …


def build(stage: Stage) -> Everything:
    stage.now = timezone.now() - 3 * HOUR
    people = _people(stage)
    _team(stage, people)
    published = stage.submit(stage.ada)
    stage.judge(published)
    held = _sent(stage, HELD, ratio=0.3)
    rejected = _sent(stage, REJECTED, ratio=0.3)
    reject(stage, rejected)
    retracted = _sent(stage, RETRACTED)
    retract(stage, retracted)
    own_held = stage.submit(stage.ada)
    stage.judge(own_held, ratio=0.3)
    secret = _secret(stage)
    frozen = _frozen(stage)
    keys: dict[str, Any] = {
        "slug": "kernels-101",
        "board": stage.board.pk,
        "epoch": _epoch(stage),
        "enrolment": make_code(name="tex", hardware="cpu", actor=None, now=timezone.now())[0].pk,
        "batch": _batch(published).pk,
        "match": _match(stage).pk,
        **_class(stage),
        "own": own_held.pk,
        "published": published.pk,
        "held": held.pk,
        "rejected": rejected.pk,
        "retracted": retracted.pk,
        "secret_held": Case.objects.get(board__competition=secret).result.attempt.submission_id,
        "secret": secret.slug,
        "secret_board": secret.boards.get().pk,
        "frozen": frozen.pk,
        "case": Case.objects.get(result=_result(held)).pk,
        "secret_case": Case.objects.get(board__competition=secret).pk,
        "confirmation": _confirmation(stage, published, retracted),
        **_things(stage, people),
    }
    Runner.objects.update(place=Place("rack").to_json())
    return Everything(people, keys)


def reject(stage: Stage, submission: Submission) -> None:
    pipeline.reject_result(
        result=_result(submission), actor=stage.olga, reason=f"It is {REJECTED}.", now=stage.later(1)
    )


def retract(stage: Stage, submission: Submission) -> None:
    """Retract a submission that had a line."""
    retract_kernel(submission=submission, actor=stage.olga, reason=f"It is {RETRACTED}.", now=stage.later(1))


def _people(stage: Stage) -> dict[str, User | None]:
    roles = {role: User.objects.create_user(f"the-{role}") for role in Role.ROLES}
    for role, user in roles.items():
        Role.objects.create(competition=stage.board.competition, user=user, role=role)
    cast = {"competitor": stage.ada, "mate": stage.ben, "stranger": stage.cleo, "administrator": stage.olga}
    return {"anonymous": None, **cast, **roles}


def _team(stage: Stage, people: dict[str, User | None]) -> None:
    competition = stage.board.competition
    Competition.objects.filter(pk=competition.pk).update(max_team_size=3)
    team = Entrant.objects.create(competition=competition, name="Team Ada", is_team=True, created_at=stage.now)
    for role in (Membership.CAPTAIN, Membership.MEMBER):
        user = stage.ada if role == Membership.CAPTAIN else stage.ben
        Membership.objects.create(entrant=team, competition=competition, user=user, role=role, joined_at=stage.now)


def _sent(stage: Stage, name: str, board: Board | None = None, **told: Any) -> Submission:
    """Judge a submission of a new user; the name is also in the code, and no page may show it."""
    board = board or stage.board
    submission = pipeline.submit(
        Upload(
            board=board.slug,
            hardware=board.hardware,
            mode="ranked",
            filename=f"{name}.py",
            data=f"NAME = {name!r}\n".encode() + SOURCE,
        ),
        owner=User.objects.create_user(name),
        now=stage.later(1),
    )
    stage.judge(submission, **told)
    return submission


def _secret(stage: Stage) -> Competition:
    """Create a closed competition with a problem of its own and a published line."""
    secret = Competition.objects.create(slug=SECRET, name=SECRET, description=SECRET)
    board = _board(secret, SECRET)
    _sent(stage, f"{SECRET}-entrant", board)
    _sent(stage, f"{SECRET}-held", board, ratio=0.3)
    secret.visibility = "closed"
    secret.save()
    publish_announcement(competition=secret, title=SECRET, text=SECRET, actor=stage.olga, now=timezone.now())
    return secret


def _frozen(stage: Stage) -> Submission:
    frozen = Competition.objects.create(slug="winter", name="Winter")
    board = _board(frozen, "winter-softmax")
    _sent(stage, "early", board)
    frozen.freeze_at = stage.later(1)
    frozen.deadline = timezone.now() + HOUR
    frozen.save()
    return _sent(stage, FROZEN, board)


def _board(competition: Competition, slug: str) -> Board:
    specification = make_problem(slug, title=slug, description=slug)
    problem = Problem.objects.create(slug=slug, title=slug)
    version = ProblemVersion.objects.create(
        digest=specification.digest, problem=problem, bundle=specification.to_bundle()
    )
    return Board.objects.create(competition=competition, problem=problem, version=version, slug=slug, hardware="cpu")


def _things(stage: Stage, people: dict[str, User | None]) -> dict[str, Any]:
    """Create a row of each kind that an address names."""
    competition, now = stage.board.competition, stage.now
    test = ask_test(version=stage.board.version, hardware="cpu", actor=stage.olga, now=now)
    upload = SetUpload.objects.create(
        actor=stage.olga, filename="set.zip", digest="x", data=b"x", report={"sets": [], "counts": {}}
    )
    token, _ = issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=now)
    track = Track.objects.create(competition=competition, slug="best", name="Best", kind=Track.OVERALL)
    prize = track.prizes.create(place=1, text="A card")
    (issued,) = issue_codes(competition=competition, count=1, actor=stage.olga, now=now)
    news = publish_announcement(competition=competition, title="It begins", text="", actor=stage.olga, now=now)
    return {
        "code": issued.code.pk,
        "rejudge": _rejudge(stage, competition),
        "news": news.pk,
        "test": test.pk,
        "upload": upload.pk,
        "token": token.pk,
        "track": track.pk,
        "prize": prize.pk,
        **_desk(stage),
        "award": Award.objects.create(track=track, basis="x", content=DRAWN, created_at=now).pk,
        "role": Role.objects.get(user=people["viewer"]).pk,
        "invite": _invite(stage).pk,
    }


def _desk(stage: Stage) -> dict[str, Any]:
    """Act on ben's quota and on a network that nobody has, as the desk does."""
    by: dict[str, Any] = {"actor": stage.olga, "reason": "a test", "now": timezone.now()}
    ban = bans.ban(network="203.0.113.0/24", days=1, **by)
    exception = acts.grant_quota(
        person=stage.ben,
        competition=stage.board.competition,
        board=None,
        mode="ranked",
        capacity=20,
        per_day=20,
        days=1,
        **by,
    )
    rows = {"ban": ban.pk, "exception": exception.pk, "act": Row.objects.get(act="desk_ban").pk}
    return rows | {"ada": stage.ada.pk, "entrant": Entrant.objects.get(name="Team Ada").pk}


def _confirmation(stage: Stage, candidate: Submission, incumbent: Submission) -> int:
    """Create a confirmation that waits for a person, with a runner's report."""
    asked = Confirmation.objects.create(
        board=stage.board,
        candidate=candidate,
        incumbent=incumbent,
        version=stage.board.version,
        hardware=stage.board.hardware,
        cause=RECORD,
        state="done",
        outcome=NOT_SETTLED,
        created_at=stage.now,
        finished_at=stage.now,
    )
    told = {"accepted": False, "held": True, "reason": "x", "sentence": "x"}
    Found.objects.create(confirmation=asked, created_at=stage.now, **told)
    return asked.pk


def _invite(stage: Stage) -> TeamInvite:
    """Invite the stranger into ada's team."""
    team = stage.ada.memberships.get().entrant
    return TeamInvite.objects.create(entrant=team, user=stage.cleo, invited_by=stage.ada, created_at=stage.now)


def _rejudge(stage: Stage, competition: Competition) -> int:
    """Create a set of published results, in the shadow."""
    attempts = list(Attempt.objects.current().filter(submission__board__competition=competition, state="done")[:1])
    selection = Selection(kind="list", ids=tuple(one.submission_id for one in attempts))
    return make_set(
        competition=competition,
        board=None,
        name="Once more",
        why="To see.",
        selection=selection,
        actor=stage.olga,
        now=stage.now,
    ).pk


def _result(submission: Submission) -> Result:
    return Result.objects.get(attempt__submission=submission, attempt__is_current=True)
