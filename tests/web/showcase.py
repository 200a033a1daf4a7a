"""A site with sample data of every kind that its pages show.

Kernels 101 runs, Hard is over and awarded, Fusion opens in three days, and Model suite is a collection. Reviewers,
organisers and operators have work. Everything is sent, claimed and reported through the code of the site; the times are
made up, and the pages follow from them.
"""

import io
import zipfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from benchmarks.board import make_board
from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import issue_token
from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.models import CompiledTiming
from leaderboard.awards.life import announce_award, approve_award, confirm_award, propose_award
from leaderboard.classes import assignments, grading
from leaderboard.classes import people as courses
from leaderboard.classes.models import Course
from leaderboard.classes.rubrics import default_criteria, save_rubric
from leaderboard.classes.work import start_work
from leaderboard.competitions.access import grant_role, issue_codes, publish_announcement
from leaderboard.competitions.edit import create_track, put_prize
from leaderboard.competitions.importing import take_upload
from leaderboard.competitions.models import Board, Competition, Problem, Role, Track
from leaderboard.confirmations.ask import claim_confirmation
from leaderboard.desk.acts import grant_quota
from leaderboard.discussion.acts import write_post
from leaderboard.entrants import teams
from leaderboard.inbox.collect import collect
from leaderboard.inbox.deliver import off_address
from leaderboard.judging.enrolment import make_code
from leaderboard.judging.fleet import keep_health
from leaderboard.judging.models import Attempt, Result, Runner
from leaderboard.judging.runners import create_runner, greet, note_seen
from leaderboard.matches import acts as matches
from leaderboard.matches import worklog
from leaderboard.operations import bans, incidents
from leaderboard.rejudging.sets import Selection, make_set
from leaderboard.standings.freeze import finalise
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch, Submission
from leaderboard.submissions.workspace import save_draft, save_note
from runner.wire import Health, Place, Report
from tests.golden import store
from tests.leaderboard.records import found
from tests.runner.judge.suspects import case, evidence
from tests.web.accounts.test_second_factors import PASSWORD, with_app

LIBRARY: Final = Path("problems/library")
SOFTMAX: Final = LIBRARY / "kernels101" / "softmax"
BASELINE_US: Final = 2_860.0
CASES: Final = (("rows=1531, cols=2047", 0.97), ("rows=1024, cols=4096", 1 / 0.97))  # and a share of the ratio
CHECKS: Final = tuple(
    {"stage": "check", "name": name, "public": public, "good": True, "reason": "", "message": ""}
    for name, public in (("rows=1, cols=1", True), ("rows=17, cols=1023", True), ("secret 1", False))
)
# Entrants with the kind of their kernel, its time beside the baseline's, and the half-width of that ratio's interval.
SENT: Final = (
    ("dora", "template.py", 1.004, 0.011),
    ("finn", "template_c.py", 1.322, 0.019),
    ("ben", "template_c.py", 0.823, 0.011),
    ("emil", "template.py", 0.962, 0.009),
    ("cleo", "template_c.py", 0.871, 0.012),
    ("grete", "template_cpp.py", 0.914, 0.008),
    ("ben", "template_c.py", 0.816, 0.010),
    ("ada", "template_cpp.py", 0.702, 0.007),
    ("hugo", "template_cpp.py", 0.759, 0.009),
)
LEAP: Final = 0.19
POWER_CAP: Final = 0x4  # in NVML's mask of reasons for a lower clock
VISITOR: Final = "visitor"
COMPETITOR: Final = "competitor"
GUARDED: Final = "competitor with a second factor"
HALFWAY: Final = "competitor who signs in"
WITHOUT_PASSWORD: Final = "competitor without a password"
REVIEWER: Final = "reviewer"
ORGANISER: Final = "organiser"
OPERATOR: Final = "operator"
WHO: Final = {  # the person who looks, and the names of further accounts
    COMPETITOR: "ada",
    GUARDED: "ben",
    HALFWAY: "ben",
    WITHOUT_PASSWORD: "cleo",
    REVIEWER: "rita",
    ORGANISER: "omar",
    OPERATOR: "olga",
}
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Showcase:
    keys: dict[str, Any]  # placeholders of addresses: {team}, {held}, …
    sessions: dict[str, str]  # of WHO

    def cookies(self, who: str, site: str) -> list[dict[str, str]]:
        """The cookies of a viewer; a visitor has none."""
        return [{"name": "sessionid", "value": self.sessions[who], "url": site}] if who in self.sessions else []


def build() -> Showcase:
    now = timezone.now()
    people = {
        name: User.objects.create_user(name) for name in ("dora", "emil", "finn", "grete", "hugo", "ines", "cleo")
    }
    people |= {name: User.objects.create_user(name, password=PASSWORD) for name in ("ada", "ben", "rita", "omar")}
    people["olga"] = User.objects.create_superuser("olga", password=PASSWORD)
    for name, options in {"kernels101": (), "hard": ("--hardware", "cpu"), "fusion": ("--hardware", "cpu")}.items():
        path = str(LIBRARY / f"{name}.yaml")
        call_command("import_problems", path, *options, "--admission", "none", "--publish", verbosity=0)
    Competition.objects.filter(slug="fusion").update(contest_at=now + 3 * DAY, deadline=now + 30 * DAY)
    for name, hardware, machine in (
        ("cpu-1", "cpu", {"cpu": "AMD EPYC 9654", "cores": "8 isolated of 96", "python": "3.12.11"}),
        ("h200-1", "H200", {"gpu": "NVIDIA H200", "driver": "580.95.05", "cuda": "13.0", "power limit": "700 W"}),
    ):
        runner, _ = create_runner(name=name, hardware=hardware, now=now - 30 * DAY)
        place = Place("rack", 0, "0-7", 0) if hardware == "cpu" else Place("rack", 1, "8-15", 0)
        greet(runner=runner, fingerprint=machine, epoch="", place=place, now=now - 30 * DAY)
    keys = _contest(people, now)
    _collection(now - 4 * DAY)
    keys["batch"] = _batch(people["ada"], now - 2 * DAY).pk
    keys |= _matches(people, now - 2 * DAY + HOUR)
    keys |= _class(people, now - 5 * DAY)
    keys |= _running(people, now) | _work_of_organisers(people, now)
    _work_of_operators(people, now)
    sessions = {who: _signed_in(WHO[who]) for who in (COMPETITOR, REVIEWER, ORGANISER, OPERATOR)}
    client = Client()
    with_app(lambda _: client, "ben")
    sessions[GUARDED], sessions[HALFWAY] = str(client.cookies["sessionid"].value), _signed_in("ben")
    client = Client()
    client.force_login(people["cleo"])
    sessions[WITHOUT_PASSWORD] = str(client.cookies["sessionid"].value)
    return Showcase(keys | _links(people["dora"]), sessions)


def judge(
    name: str,
    path: Path,
    ratio: float,
    now: datetime,
    *,
    half_width: float = 0.01,
    board: str = "softmax",
    hardware: str = "cpu",
    model: str = "",
) -> Submission:
    """Send a kernel, claim it and report a pass; confirm it if it takes the first place."""
    chosen = {"board": board, "hardware": hardware, "lineage": {"model": model} if model else {}}
    submission = _send(name, path, f"at {ratio} of the baseline's time", now, **chosen)
    timing = [
        case(candidate=BASELINE_US * 1e3 * ratio * share, baseline=BASELINE_US * 1e3, name=case_name)
        for case_name, share in CASES
    ]
    times = tuple(
        {"stage": "time", "name": case_name, "public": True, "good": True}
        | {"measured_us": BASELINE_US * ratio * share, "baseline_us": BASELINE_US}
        for case_name, share in CASES
    )
    runner = Runner.objects.get(hardware=hardware)
    _report(
        runner,
        now,
        score_us=BASELINE_US * ratio,
        ratio=ratio,
        half_width=half_width,
        telemetry="full",
        cases=CHECKS + times,
        evidence=evidence(
            *timing, clock="wall" if hardware == "cpu" else "event", hardware=hardware, fingerprint=runner.fingerprint
        ),
    )
    _confirm(runner, now + timedelta(seconds=74))
    return submission


def gpu_job() -> dict[str, Any]:
    """Return what a real job on an H200 reported, as if the device had met its power limit in a block."""
    report = store.read("recorded-h200-softmax-triton")["report"]
    report["evidence"]["timing"][0]["quads"][2]["blocks"][1]["heat"]["after"]["mask"] = POWER_CAP
    measured = ("score_us", "ratio", "half_width", "telemetry", "forgeable", "evidence")
    return {name: report[name] for name in measured} | {"cases": tuple(report["cases"])}


def result_of(submission: Submission) -> Result:
    return Result.objects.get(attempt__submission=submission, attempt__is_current=True)


def _send(name: str, path: Path, note: str, now: datetime, **chosen: Any) -> Submission:
    code = f"{path.read_text()}\n# Sent by {name} to make a picture, {note}.\n"
    upload = {"board": "softmax", "hardware": "cpu", "mode": "ranked", "filename": "kernel.py"} | chosen
    owner = User.objects.get(username=name)
    return pipeline.submit(Upload(**upload, data=code.encode()), owner=owner, now=now)


def _report(runner: Runner, now: datetime, **told: Any) -> None:
    """Claim the next work of this runner, and report on it a minute later."""
    runner.refresh_from_db()
    job = pipeline.claim_work(runner=runner, now=now + timedelta(seconds=4))
    assert job is not None, "there was nothing to claim"
    report = Report(attempt_id=job.attempt_id, token=job.token, **{"outcome": "passed"} | told)
    assert pipeline.take_report(runner=runner, report=report, now=now + timedelta(seconds=70))


def _confirm(runner: Runner, now: datetime) -> bool:
    """Confirm a new first place with the gain of the two results. Return False if no confirmation waits.

    The claim waits for no calm: verdicts that were made before may be later than `now`.
    """
    with transaction.atomic():
        job = claim_confirmation(runner=runner, now=now)
    if job is None:
        return False
    assert job.incumbent is not None
    taken, held = (
        Result.objects.get(attempt__submission=submission, attempt__is_current=True).ratio or 1.0
        for submission in (job.submission_id, job.incumbent.submission_id)
    )
    gain = 1 - taken / held
    gains = [round(gain + step / 1_000, 4) for step in (0, 1, -1, 2, -2)]
    told = {
        "sentence": f"A record: {100 * gain:.2f} % faster in the median of 5 runs.",
        "gains": gains,
        "median_gain": gains[0],
        "least_gain": min(gains),
    }
    report = found(job, told=told, ratio=taken)
    return pipeline.take_report(runner=runner, report=report, now=now + timedelta(minutes=5))


def _contest(people: dict[str, User], now: datetime) -> dict[str, Any]:
    """Hard: a contest of two weeks with a team, awards and a discussion."""
    began, ended, olga = now - 20 * DAY, now - 6 * DAY, people["olga"]
    Competition.objects.filter(slug="hard").update(contest_at=began, deadline=ended, max_team_size=3)
    hard = Competition.objects.get(slug="hard")
    team = teams.create_team(user=people["ada"], competition=hard, name="Warp Drive", now=began)
    invite = teams.invite(entrant=team, username="ben", actor=people["ada"], now=began)
    teams.accept_invite(invite_id=invite.pk, user=people["ben"], now=began + HOUR)
    teams.say_affiliation(entrant=team, actor=people["ada"], affiliation="Institute of Parallel Things", now=began)
    lines: dict[str, Submission] = {}
    for board, sent in {
        "topk": (
            ("emil", "slow/sort_all.py", 0.96),
            ("dora", "accepted/torch_candidates.py", 0.83),
            ("cleo", "accepted/torch_keys.py", 0.74),
            ("ada", "accepted/cpp_inline.py", 0.63),
        ),
        "qr": (
            ("cleo", "accepted/torch_out.py", 0.97),
            ("ada", "accepted/torch_reflectors.py", 0.88),
            ("dora", "accepted/cpp_inline.py", 0.79),
        ),
    }.items():
        for number, (name, file, ratio) in enumerate(sent, 1):
            path = LIBRARY / "hard" / board / "submissions" / file
            lines[f"{name} {board}"] = judge(name, path, ratio, began + number * 3 * DAY, board=board)
    decided, cpu = now - 4 * DAY, Runner.objects.get(hardware="cpu")
    tracks = {
        "Best top-k": (Track.BOARD, {"slug": "topk", "hardware": "cpu"}),
        "Best of all boards": (Track.OVERALL, {}),
    }
    for name, (kind, params) in tracks.items():
        track = create_track(competition=hard, actor=olga, settings=_track(name, kind, params), now=decided)
        for place, amount in enumerate((1_000, 500), 1):
            money = {"amount": Decimal(amount), "currency": "EUR", "sponsor": "Acme Chips", "text": ""}
            put_prize(track=track, actor=olga, place=place, **money, now=decided)
        award = propose_award(track=track, actor=olga, now=decided)
        if kind == Track.BOARD:
            while confirm_award(award=award, actor=olga, now=decided):
                assert _confirm(cpu, decided), "no runner confirms what the award waits for"
            approve_award(award=award, actor=olga, reason="Read the code of both.", now=decided)
            announce_award(award=award, actor=olga, now=decided)
    finalise(competition=hard, actor=olga, reason="The review is over.", now=now - 3 * DAY)
    topk = Board.objects.get(slug="topk", hardware="cpu")
    for name, kind, text in (
        (
            "ada",
            "write_up",
            "One pass over each row keeps the k largest in registers.\n\nThe sort of the last k took 4 %.",
        ),
        ("cleo", "comment", "Did you try to filter by the k-th value of a sample first?"),
        ("ada", "comment", "Yes: it wins for k below 16, and loses 3 % above."),
    ):
        write_post(board=topk, author=people[name], kind=kind, text=text, now=now - 2 * DAY)
    return {
        "team": team.name,
        "leader": lines["ada topk"].pk,
        "second": lines["cleo topk"].pk,
    }


def _search(now: datetime) -> Submission:
    """A run of ada's program: two strategies in mode benchmark. Return its fastest submission."""
    made, cpu = list[Submission](), Runner.objects.get(hardware="cpu")
    for number, (parents, strategy, idea, ratio) in enumerate(
        (
            ((), "parallel", "one pass, with the maximum from a sample", None),
            ((), "parallel", "keep each row in registers", 1.12),
            ((), "beam", "split long rows over two cores", 0.97),
            ((1,), "beam", "prefetch the next row while the exponentials run", 0.88),
            ((3,), "beam", "a polynomial of degree 5 in place of exp", None),
            ((2, 3), "beam", "join both: two cores, and a prefetched row", 0.79),
        )
    ):
        at, model = now + number * MINUTE, ("qwen3-coder", "meta/llama-4:70b")[number % 2]
        told = {"idea": idea, "model": model, "strategy": strategy, "run": "nov-26", "cost_usd": 0.004 * (number + 1)}
        chosen = {"mode": "benchmark", "parents": tuple(made[place].pk for place in parents), "lineage": told}
        made.append(_send("ada", SOFTMAX / "template_c.py", f"idea {number}", at, **chosen))
        if ratio is None:
            _report(cpu, at, outcome="wrong", reason="mismatch", message="rows=1, cols=1: 3 elements differ.")
        else:
            _report(cpu, at, score_us=BASELINE_US * ratio, ratio=ratio, half_width=0.01, telemetry="full", cases=CHECKS)
    return made[-1]


def _track(name: str, kind: str, params: dict[str, Any]) -> dict[str, Any]:
    divisions = ["human", "agent", "mixed"]
    texts = {"description": "", "eligibility": "", "tie_rule": Track.EARLIER, "position": 0}
    return {"name": name, "kind": kind, "params": params, "divisions": divisions, **texts}


def _running(people: dict[str, User], now: datetime) -> dict[str, Any]:
    """Kernels 101: entries, held and rejected results, a question to ada, and verdicts of each kind."""
    Competition.objects.filter(slug="kernels-101").update(deadline=now + 21 * DAY, max_team_size=3)
    running = Competition.objects.get(slug="kernels-101")
    for name, role in (("rita", Role.REVIEWER), ("omar", Role.OWNER)):
        grant_role(competition=running, actor=people["olga"], username=name, role=role, now=now - 5 * DAY)
    first = judge("ada", SOFTMAX / "submissions/accepted/torch_copy.py", 1.21, now - 60 * HOUR)
    sent = [
        judge(name, SOFTMAX / file, ratio, now - timedelta(hours=5 * hours), half_width=half_width)
        for hours, (name, file, ratio, half_width) in zip(range(len(SENT), 0, -1), SENT, strict=True)
    ]
    collect(now=now - 4 * HOUR)
    searched = _search(now - 4 * HOUR)
    held = judge("ines", SOFTMAX / "template_c.py", LEAP, now - 3 * HOUR)
    own, kernels = sent[-2], LIBRARY / "kernels101"
    for number, (name, board, file, ratio, hardware) in enumerate(
        (
            ("ben", "vectoradd", "torch_temporary.py", 0.99, "cpu"),
            ("ada", "vectoradd", "torch_out.py", 0.91, "cpu"),
            ("cleo", "vectoradd", "cpp_inline.py", 0.84, "cpu"),
            ("grete", "layernorm", "torch_parts.py", 0.93, "H200"),
            ("ada", "layernorm", "cpp_inline.py", 0.85, "H200"),
            ("ben", "matmul", "torch_panels.py", 0.97, "cpu"),
        )
    ):
        path = kernels / board / "submissions" / "accepted" / file
        at = now - 2.5 * HOUR + number * 15 * MINUTE  # no two records of a board within ten minutes
        judge(name, path, ratio, at, board=board, hardware=hardware)
    rejected = judge(
        "hugo", kernels / "vectoradd/submissions/accepted/c_streaming.py", LEAP, now - 2 * HOUR, board="vectoradd"
    )
    reason = "It keeps the result of the first call and returns it again."
    pipeline.reject_result(result=result_of(rejected), actor=people["rita"], reason=reason, now=now - HOUR)
    asked = judge("ada", kernels / "matmul/submissions/accepted/cpp_tiles.py", LEAP, now - 2 * HOUR, board="matmul")
    question = "Which part of the product is computed before the timed call?"
    pipeline.ask_owner(result=result_of(asked), actor=people["rita"], question=question, now=now - HOUR)
    collect(now=now - HOUR)
    cpu, gpu = (Runner.objects.get(hardware=hardware) for hardware in ("cpu", "H200"))
    on_gpu = {}
    for name, at in (("ada", now - 100 * MINUTE), ("hugo", now - 85 * MINUTE)):
        on_gpu[name] = _send(name, SOFTMAX / "template_triton.py", "for the H200", at, hardware="H200")
        _report(gpu, at, **gpu_job())
    seen: dict[str, Any] = {"actor": people["rita"], "reason": "Its second case is slower than the first."}
    pipeline.hold_result(result=result_of(on_gpu["hugo"]), now=now - HOUR, **seen)
    wrong = CHECKS[1] | {"good": False, "reason": "mismatch", "message": "expected 0.0312, got nan at [3, 1022]"}
    verdicts: dict[str, dict[str, Any]] = {
        "tested": {"cases": CHECKS},
        "wrong": {"outcome": "wrong", "reason": "nan", "cases": (CHECKS[0], wrong)}
        | {"message": "Case “rows=17, cols=1023”: expected 0.0312, got nan at [3, 1022]."},
        "broken": {"outcome": "build_error", "reason": "syntax", "message": "line 12: '(' was never closed"}
        | {"logs": {"stdout": "", "stderr": 'File "submission.py", line 12\n    out = torch.empty(\nSyntaxError'}},
    }
    keys = {}
    for number, (key, told) in enumerate(verdicts.items()):
        at = now - timedelta(minutes=50 - 10 * number)
        keys[key] = _send("ada", SOFTMAX / "template.py", f"to be {key}", at, mode="test").pk
        _report(cpu, at, **told)
    save_note(user=people["ada"], submission=own, text="Two rows per thread; four spill.", now=now)
    source = (kernels / "layernorm/template.py").read_text()
    save_draft(user=people["ada"], slug="layernorm", source=source, filename="", hardware="cpu", mode="test", now=now)
    EmailAddress.objects.create(user=people["ada"], email="ada@example.org", primary=True, verified=True)
    issue_token(owner=people["ada"], name="laptop", scopes=("read", "submit"), now=now - 5 * DAY)
    team = teams.create_team(user=people["dora"], competition=running, name="Night Shift", now=now - DAY)
    teams.invite(entrant=team, username="ada", actor=people["dora"], now=now - DAY)
    texts = {"title": "Two more weeks", "text": "Boards stay open until the deadline. H200 has a second host now."}
    publish_announcement(competition=running, actor=people["olga"], **texts, now=now - HOUR)
    collect(now=now)
    return keys | {
        "own": own.pk,
        "searched": searched.pk,
        "first": first.pk,
        "asked": asked.pk,
        "case": result_of(held).case.pk,
        "gpu": on_gpu["ada"].pk,
        "gpu_case": result_of(on_gpu["hugo"]).case.pk,
        "person": people["ada"].pk,
    }


def _collection(now: datetime) -> None:
    suite = Competition.objects.create(slug="model-suite", name="Model suite", scoring="fast_p")
    titles = {"Matrix product": 1, "Row maximum": 1, "Convolution and ReLU": 2, "Attention block": 3}
    for number, (title, level) in enumerate(titles.items()):
        slug = title.lower().replace(" ", "-")
        make_board(suite, slug, interface="model", entry="Model", level=level)
        Problem.objects.filter(slug=slug).update(title=title)
        sent = (("ben", "torch_out.py", 0.9), ("cleo", "torch_blocks.py", 0.8), ("ada", "cpp_inline.py", 0.6))
        for turn, (name, file, ratio) in enumerate(sent[number % 2 :]):
            at = now + (number * 60 + turn * 15) * MINUTE
            model = {"ben": "open/kernel-writer-9b", "cleo": "example/code-large:70b"}.get(name, "")
            judge(name, SOFTMAX / "submissions" / "accepted" / file, ratio, at, board=slug, model=model)


def _matches(people: dict[str, User], now: datetime) -> dict[str, Any]:
    """Two matches of ada: a public one that is the match of the week, and a new one without a prediction."""
    ada, board = people["ada"], Board.objects.get(slug="softmax", hardware="cpu")
    models = ("example/code-large:70b", f"open/{'kernelwriter' * 10}")  # the second is as long as may be
    shown, new = (
        matches.open_match(board=board, opener=ada, model=model, machine="pasted", now=now) for model in models
    )
    why = "Each row is read and written once, 8 bytes a number, so bandwidth bounds it. Eager reads it three times."
    matches.predict(match=shown, author=ada, bound="memory", speedup=2.5, why=why, now=now)
    told = [
        ("template.py", 1.31, {}),
        ("template_c.py", None, {"reason": "One pass that keeps the maximum beside the sum.", "expected": 1.6}),
        ("template_c.py", 0.72, {"reason": "The sum overflowed; it is scaled with the maximum.", "expected": 1.6}),
        ("template_cpp.py", 0.47, {"reason": "Two rows at a time hide the latency of exp.", "expected": 1.9}),
    ]
    for number, (file, ratio, words) in enumerate(told):
        at = now + number * HOUR
        sent = _source(SOFTMAX / file, f"match version {number}")
        matches.send_version(match=shown, upload=sent, author=ada, now=at, **words)  # type: ignore[arg-type]
        _end(ratio, at)
    prompt = f"Write a faster kernel for this reference.\n\n{(SOFTMAX / 'template.py').read_text()}"
    for number, ratio in enumerate((None, 0.81, 0.52)):
        at = now + (number * 10 + 5) * MINUTE + 4 * HOUR
        sent = _source(SOFTMAX / "template_cpp.py", f"answer {number}")
        answer = matches.Exchange(prompt, f"Here it is:\n```python\n{sent.data.decode()}```\n", number + 1)
        matches.send_answer(match=shown, upload=sent, operator=ada, exchange=answer, now=at)
        _end(ratio, at)
    texts = {
        "plan": "Bandwidth bounds it: $8rc$ bytes for $r$ rows of $c$ numbers.\n\n1. One pass\n2. Vectors",
        "head_to_head": "The model **reads each row twice**. Mine keeps it:\n\n```c\nfloat m = row[0];\n```\n",
    }
    for section, text in texts.items():
        worklog.save_section(match=shown, section=section, text=text, revision=0, author=ada, now=now + DAY)
    worklog.hand_in(match=shown, author=ada, now=now + DAY)
    for publish in (matches.publish, matches.publish_texts):
        publish(match=shown, actor=ada, now=now + DAY)
    note = "The person needed four versions, the model three answers."
    matches.choose(match=shown, actor=people["olga"], note=note, now=now + DAY)
    figures = {"score_us": BASELINE_US * 0.74, "ratio": 0.74, "half_width": 0.011, "outcome": "passed", "state": "done"}
    at = {"created_at": now, "finished_at": now + HOUR}
    CompiledTiming.objects.create(version=board.version, hardware="cpu", epoch="", **figures, **at)
    return {"match": shown.pk, "new_match": new.pk}


def _class(people: dict[str, User], now: datetime) -> dict[str, Any]:
    """A class of omar with five students: ada is ahead, ben is stuck, cleo has begun, grete has not joined."""
    olga, omar = people["olga"], people["omar"]
    boards = list(Board.objects.filter(slug__in=("softmax", "layernorm"), hardware="cpu"))
    course = courses.make_class(slug="hands-on", name="Hands-on kernels", boards=boards, actor=olga, now=now)
    grant_role(competition=course.competition, actor=olga, username="omar", role=Role.OWNER, now=now)
    rows = ("ada,Ada Byron,Monday", "ben,Ben Okri,Monday", "cleo,Cleo Haas,Friday", "dora,Dora Maar,Friday")
    courses.import_roster(course=course, text="\n".join((*rows, "grete@example.org,Grete H.")), actor=omar, now=now)
    seats = {
        name: courses.join_by_roster(course=course, user=people[name], now=now)
        for name in ("ada", "ben", "cleo", "dora")
    }
    board, other = course.competition.boards.order_by("-slug")
    told: dict[str, Any] = {"course": course, "actor": omar, "now": now}
    first, second = (
        assignments.add_assignment(title=title, tier=tier, boards=[board, other], due_at=now + days * DAY, **told)
        for title, tier, days in (("One operator", 1, 7), ("Fusion", 2, 21))
    )
    until, reason = now + 9 * DAY, "Ill from Monday to Wednesday."
    extension = assignments.extend(
        assignment=first, seat=seats["cleo"], until=until, reason=reason, actor=omar, now=now
    )
    for name, ratios in (("ada", (1.2, 0.6)), ("ben", (None, None, None)), ("cleo", ())):
        work = start_work(
            assignment=first, board=board, user=people[name], model="open/kernel-writer-9b", machine="pasted", now=now
        )
        why = "Each row is read and written once, so bandwidth bounds it."
        matches.predict(match=work.match, author=people[name], bound="memory", speedup=2.0, why=why, now=now)
        for number, ratio in enumerate(ratios):
            at = now + DAY + number * HOUR
            words: dict[str, Any] = {"reason": "Wider loads.", "expected": 1.8} if number else {}
            sent = _source(SOFTMAX / "template_c.py", f"version {number} of {name} in class")
            matches.send_version(match=work.match, upload=sent, author=people[name], now=at, **words)
            _end(ratio, at)
    planted = _send("omar", SOFTMAX / "template.py", "wrong on purpose", now + DAY, board=board.slug, mode="test")
    _end(None, now + DAY)
    assignments.plant(course=course, submission=planted, must_fail=True, actor=omar, now=now + DAY)
    keys = {"assignment": second.pk, "extended": first.pk, "extension": extension.pk, "seat": seats["ben"].pk}
    return keys | _grades(people, course, board)


def _grades(people: dict[str, User], course: Course, board: Board) -> dict[str, Any]:
    """Two graded assignments of ada in omar's class: released with an appeal, and to moderate."""
    ada, omar, olga = people["ada"], people["omar"], people["olga"]
    now = timezone.now() - 5 * DAY
    told: dict[str, Any] = {"course": course, "boards": [board], "actor": omar, "due_at": now + DAY, "now": now}
    rubric = save_rubric(course=course, name="Ours", criteria=default_criteria(), actor=omar, now=now)
    found = {}
    for title in ("Warm-up", "Second look"):
        assignment = assignments.add_assignment(title=title, tier=1, graders_each=2, moderate_from=10, **told)
        work = start_work(assignment=assignment, board=board, user=ada, model="open/w", machine="pasted", now=now)
        why = "Each row is read and written once, so bandwidth bounds it."
        matches.predict(match=work.match, author=ada, bound="memory", speedup=2.0, why=why, now=now)
        sent = _source(SOFTMAX / "template_c.py", title)
        version = matches.send_version(match=work.match, upload=sent, author=ada, now=now + HOUR)
        _end(0.6, now + HOUR)
        text = f"Each row stays in registers.\n\nThe kernel is 2.1× as fast (#{version.submission_id})."
        worklog.save_section(match=work.match, section="hand", text=text, revision=0, author=ada, now=now + HOUR)
        worklog.hand_in(match=work.match, author=ada, now=now + HOUR)
        later: dict[str, Any] = {"work": work, "now": now + 2 * DAY}
        grading.begin(assignment=assignment, actor=omar, now=now + 2 * DAY)
        for grader, level in ((omar, 3), (olga, 1)):
            scores = {one["key"]: level for one in default_criteria()}
            grading.score(scores=scores, text="Clear, with a wrong figure.", is_final=True, actor=grader, **later)
        text = "The report says 1.67×. Where does this figure come from?"
        grading.remark(section="hand", line=3, number="2.1×", text=text, actor=omar, **later)
        found[title] = work
    released, waiting = found.values()
    scores = {one["key"]: 2 for one in default_criteria()}
    grading.moderate(work=released, scores=scores, text="Between both.", actor=omar, now=now + 2 * DAY)
    grading.release(assignment=released.assignment, actor=omar, now=now + 3 * DAY)
    text = "The second run of this version reached 2.1×; my worklog should have named it."
    grading.appeal(work=released, text=text, actor=ada, now=now + 4 * DAY)
    return {"released_work": released.pk, "graded_work": waiting.pk, "rubric": rubric.pk}


def _source(path: Path, note: str) -> Upload:
    code = f"{path.read_text()}\n# Sent by ada to make a picture, {note}.\n"
    return Upload(board="", hardware="", mode="", filename="kernel.py", data=code.encode())


def _end(ratio: float | None, now: datetime) -> None:
    """Report a pass with this ratio, or a wrong answer, on the next work of the processor."""
    runner = Runner.objects.get(hardware="cpu")
    if ratio is None:
        wrong = {"stage": "check", "name": "rows=1, cols=1", "public": True, "good": False, "reason": "mismatch"}
        told = {"outcome": "wrong", "reason": "mismatch", "message": "rows=1, cols=1: 3 elements differ."}
        _report(runner, now, **told, cases=({**wrong, "message": ""},))
        return
    times = tuple(
        {"stage": "time", "name": name, "public": True, "good": True, "half_width": 0.012}
        | {"measured_us": BASELINE_US * ratio * share, "baseline_us": BASELINE_US, "ratio": ratio * share}
        for name, share in CASES
    )
    timing = [
        case(candidate=BASELINE_US * 1e3 * ratio * share, baseline=BASELINE_US * 1e3, name=name)
        for name, share in CASES
    ]
    figures = {"score_us": BASELINE_US * ratio, "ratio": ratio, "half_width": 0.009, "telemetry": "full"}
    told = evidence(*timing, clock="wall", hardware="cpu", fingerprint=runner.fingerprint)
    _report(runner, now, **figures, cases=CHECKS + times, evidence=told)


def _batch(owner: User, now: datetime) -> Batch:
    """A program's candidates for softmax: most fail early, and later candidates get further."""
    code = (SOFTMAX / "template.py").read_text()
    lineage = {"model": "open/kernel-writer-9b", "strategy": "beam", "run": "softmax-1", "cost_usd": 0.04}
    uploads = [
        Upload(
            board="softmax",
            hardware="cpu",
            mode="benchmark",
            filename=f"k{number:02}.py",
            data=f"{code}# Candidate {number}.\n".encode(),
            lineage=lineage,
        )
        for number in range(24)
    ]
    batch = pipeline.submit_batch(uploads, mode="benchmark", budget_s=1_800, owner=owner, now=now)
    wrong = {"stage": "check", "name": "secret 1", "public": False, "good": False, "reason": "mismatch", "message": ""}
    ends: tuple[dict[str, Any], ...] = (
        {"outcome": "build_error", "reason": "syntax", "message": "k00.py, line 3: invalid syntax"},
        {"outcome": "build_error", "reason": "import", "message": "No module named 'kernel'"},
        {"outcome": "wrong", "reason": "mismatch", "message": "3 elements differ.", "cases": (wrong,)},
        {"outcome": "runtime_error", "reason": "raised", "message": "IndexError"},
    )
    runner = Runner.objects.get(hardware="cpu")
    for number in range(24):
        ratio = 1.2 - 0.025 * number + 0.15 * (number % 5)
        timed = {"score_us": BASELINE_US * ratio, "ratio": ratio, "half_width": 0.01, "telemetry": "full"}
        fails = (number % 7 < 4 and number < 20) or number < 4
        told = ends[number % 4] if fails else timed | {"cases": CHECKS, "evidence": {}}
        _report(runner, now + number * 2 * MINUTE, **told)
    return batch


def _work_of_organisers(people: dict[str, User], now: datetime) -> dict[str, Any]:
    """Admission tests, a prize, codes, an upload, a re-judging and a record that waits for a person."""
    running, olga, cpu = Competition.objects.get(slug="kernels-101"), people["olga"], Runner.objects.get(hardware="cpu")
    board = Board.objects.get(slug="softmax", hardware="cpu")
    keys: dict[str, Any] = {"board": board.pk}
    for slug, good in (("prefixsum", False), ("softmax", True)):
        version = Board.objects.get(slug=slug, hardware="cpu").version
        keys["test"] = ask_test(version=version, hardware="cpu", actor=olga, now=now - 30 * MINUTE).pk
        lines = [
            {"name": f"admission/{name}", "expected": expected, "got": got, "good": good or name != "constant"}
            | {"explained": "" if good or name != "constant" else "A problem that accepts this is refused."}
            for name, expected, got in (
                ("reference", "passed", "passed 9 cases"),
                ("zeros", "wrong", "wrong in 9 of 9 cases"),
                ("constant", "wrong", "wrong in 9 of 9 cases" if good else "passed 9 cases"),
            )
        ]
        admission = {"passed": good, "marks": [], "cases": 9, "margin": 12.5, "lines": lines}
        outcome = "passed" if good else "wrong"
        _report(cpu, now - 29 * MINUTE, outcome=outcome, admission=admission)
    judged = Attempt.objects.current().filter(submission__board=board, result__outcome="passed")
    settings = {"name": "Judge of November", "why": "Its clock has a finer resolution.", "actor": olga, "now": now}
    selection = Selection(kind="list", ids=tuple(judged.values_list("submission", flat=True)[:4]))
    keys["rejudge"] = make_set(competition=running, board=None, selection=selection, **settings).pk
    track = create_track(
        competition=running, actor=olga, settings=_track("Fastest softmax", Track.OVERALL, {}), now=now
    )
    put_prize(track=track, actor=olga, place=1, amount=None, currency="", sponsor="", text="A card", now=now)
    issue_codes(competition=running, count=3, note="Course on parallel programming", actor=olga, now=now)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (LIBRARY / "fusion.yaml", *(LIBRARY / "fusion").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(LIBRARY))
    keys["upload"] = take_upload(actor=olga, filename="fusion.zip", data=archive.getvalue(), now=now).pk
    keys["track"] = track.pk
    keys["waiting"] = _send("ada", SOFTMAX / "template.py", "to wait", now).pk
    return keys


def _work_of_operators(people: dict[str, User], now: datetime) -> None:
    why: dict[str, Any] = {"actor": people["olga"], "now": now}
    bans.ban(network="203.0.113.0/24", days=7, reason="It tried passwords for an hour.", **why)
    running = Competition.objects.get(slug="kernels-101")
    more = {"mode": "ranked", "capacity": 20, "per_day": 20, "days": 3, "reason": "A runner lost their attempts."}
    grant_quota(person=people["ada"], competition=running, board=None, **more, **why)
    make_code(name="h200-2", hardware="H200", **why)
    for runner in Runner.objects.all():
        note_seen(runner, address="10.0.0.7", now=now)
        keep_health(runner=runner, health=Health(412_000_000_000, 960_000_000_000, 41.5), now=now)
    texts = {"title": "H200 boards wait", "text": "The host restarts after an update of its driver."}
    incident = incidents.open_incident(**texts, actor=people["olga"], now=now - 3 * DAY)
    ending = {"text": "The host judges again.", "actor": people["olga"], "now": now - 3 * DAY + HOUR}
    incidents.add_note(incident=incident, ends=True, **ending)


def _links(dora: User) -> dict[str, Any]:
    """Placeholders of the addresses in mails to dora."""
    address = EmailAddress.objects.create(user=dora, email="dora@example.org", primary=True, verified=False)
    return {
        "confirm": EmailConfirmationHMAC(address).key,
        "uid": user_pk_to_url_str(dora),
        "reset": default_token_generator.make_token(dora),
        "off": off_address(dora.pk, "verdict").rpartition("/")[2],
    }


def _signed_in(name: str) -> str:
    """The session of a person who signed in by password, as far as it goes without a second factor."""
    client = Client()
    client.post("/sign-in", {"username": name, "password": PASSWORD})
    return str(client.cookies["sessionid"].value)
