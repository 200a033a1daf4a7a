"""Boards, submissions and verdicts in the field names of the `popcorn` client. Only translates; decides no rule.

The client knows times in seconds, the mode `leaderboard` for our `ranked`, and a leaderboard for all boards of a slug.
"""

import base64
import io
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.judging import live
from leaderboard.judging.models import UNFINISHED, Attempt
from leaderboard.review.standing import REJECTED, UNDER_REVIEW
from leaderboard.web.boards.cards import Card
from leaderboard.web.boards.standing import BoardRow
from leaderboard.web.submissions.view import Opened, Shown
from leaderboard.wording.figures import duration_us, speedup
from leaderboard.wording.outcomes import UNRANKED
from runner.evidence.profiled import FORGEABLE

MODES: Final = {  # the client's name → ours
    "test": "test",
    "benchmark": "benchmark",
    "leaderboard": "ranked",
    "profile": "profile",
}
ITS_MODES: Final = {ours: name for name, ours in MODES.items()}
FAILED: Final = "failed"  # status of a job on which the client ends with an error, even if `done` is true
TIMED_OUT: Final = "timed_out"
SUCCEEDED: Final = "succeeded"
NAME: Final = "Photofinish"  # of the runners, beside the length of their queue
TASK: Final = ("lang", "ranking_by", "tests", "benchmarks")
TIMEOUTS: Final = ("test", "benchmark", "ranked")
OUTPUT_CHARS: Final = 4_000  # of stderr and stdout, from the end
DESCRIPTION_LINES: Final = 6  # the client's chooser stays empty if a board takes more lines than the terminal has


def leaderboards(cards: Iterable[Card]) -> list[dict[str, Any]]:
    """Return the leaderboards, without secret seeds and files: the site shows a problem's public files on its page."""
    found = list(cards)
    keys = ("pk", "problem_id", *(f"bundle__{name}" for name in ("description", "ranks", *TASK)))
    times = (f"bundle__{name}_timeout_s" for name in TIMEOUTS)
    versions = ProblemVersion.objects.filter(pk__in=[card.version.pk for card in found])
    bundles = {row["pk"]: row for row in versions.order_by().values(*keys, *times)}
    return [_leaderboard(card, bundles[card.version.pk]) for card in found]


def _leaderboard(card: Card, bundle: dict[str, Any]) -> dict[str, Any]:
    task = {name: bundle[f"bundle__{name}"] for name in TASK}
    return {
        "id": bundle["problem_id"],
        "name": card.slug,
        "description": _beginning(bundle["bundle__description"]) or card.title,
        "deadline": card.deadline.isoformat() if card.deadline else None,
        "gpu_types": card.hardware,
        "visibility": card.competition.visibility,
        "creator_id": None,
        "forum_id": None,
        "task": task
        | {f"{name}_timeout": bundle[f"bundle__{name}_timeout_s"] for name in TIMEOUTS}
        | {"multi_gpu": (bundle["bundle__ranks"] or 1) > 1},
    }


def _beginning(description: str) -> str:
    lines = [line for line in description.splitlines() if line.strip()]
    return "\n".join(lines[:DESCRIPTION_LINES] + ["…"] * (len(lines) > DESCRIPTION_LINES))


def queue(hardware: str, now: datetime) -> dict[str, Any]:
    (found,) = live.queues([hardware], competition_id=0, now=now)
    return {
        "runner": NAME,
        "gpu": hardware,
        "queued_jobs": found.queued,
        "running_jobs": found.running,
        "available_runners": found.runners,
        "status": "ready" if found.runners else "no machine",
        "error": None,
    }


def ranking_line(row: BoardRow, board: Board, filenames: Mapping[int, str]) -> dict[str, Any]:
    """Return a line of a ranking. An entrant has no id for the public, so `user_id` is the shown name as well.

    `filenames`: of the submissions whose code the caller may read. Others get the name that the problem gives to files.
    """
    ranked = row.ranked
    return {
        "submission_id": ranked.entry.submission_id,
        "rank": ranked.rank,
        "submission_name": filenames.get(ranked.entry.submission_id)
        or board.version.part("submission_name", "submission.py"),
        "submission_time": ranked.entry.submitted_at.isoformat(),
        "submission_score": seconds(ranked.score_us),
        "leaderboard_name": board.slug,
        "user_id": ranked.entry.entrant.shown_name,
        "user_name": ranked.entry.entrant.shown_name,
        "gpu_type": board.hardware,
    }


def summary(item: Shown) -> dict[str, Any]:
    return {
        "id": item.id,
        "leaderboard_name": item.board,
        "file_name": item.filename,
        "submission_time": item.created_at.isoformat(),
        "done": item.is_finished,
        "runs": [{"gpu_type": item.hardware, "score": seconds(item.score_us)}] if is_good(item) else [],
    }


def details(item: Opened, now: datetime) -> dict[str, Any]:
    status, error = job(item)
    return {
        "id": item.id,
        "leaderboard_id": item.submission.board.problem_id,
        "leaderboard_name": item.board,
        "file_name": item.filename,
        "user_id": str(item.submission.owner_id),
        "submission_time": item.created_at.isoformat(),
        "done": item.is_finished,
        "code": item.code or "",
        "runs": runs(item) if item.is_finished else [],
        "job": {"status": status, "error": error, "last_heartbeat": None},
        "runner_queue": None if item.is_finished else queue(item.hardware, now),
    }


def runs(item: Opened) -> list[dict[str, Any]]:
    """Return the runs of a finished submission. The site has a single run, which also checks the secret cases.

    The client takes a submission for ranked only if a secret run of the mode `leaderboard` passed as well. It gets that
    second line, without a score, for a result that may rank.
    """
    attempt = Attempt.objects.current().only("claimed_at", "finished_at").get(submission=item.id)
    run = {
        "mode": ITS_MODES[item.mode],
        "secret": False,
        "runner": item.hardware,
        "score": seconds(item.score_us),
        "passed": is_good(item),
        "start_time": attempt.claimed_at.isoformat() if attempt.claimed_at else None,
        "end_time": attempt.finished_at.isoformat() if attempt.finished_at else None,
        "result": None if item.mode == "ranked" else result(item),
        "diagnostics": None if is_good(item) else {name: _output(item, name) for name in ("stdout", "stderr")},
    }
    if item.mode != "ranked" or not is_good(item) or item.unranked or item.withdrawn:
        return [run]
    return [run, run | {"secret": True, "score": None}]


def _output(item: Opened, name: str) -> str:
    """Return the end of an output. The judge cuts it off before the secret cases."""
    return str(item.logs.get(name, ""))[-OUTPUT_CHARS:]


def is_good(item: Shown) -> bool:
    return item.passed and item.review != REJECTED


def job(item: Shown) -> tuple[str, str | None]:
    """Return status and error. The client ends with the error on FAILED and TIMED_OUT, and goes on with any other.

    The error of a pass says why it does not rank, or not yet. The client shows it in its summary.
    """
    if item.status in UNFINISHED:
        return item.status, None
    if is_good(item):
        return SUCCEEDED, report(item) if item.standing_said else None
    return TIMED_OUT if item.outcome == "timeout" else FAILED, report(item)


def report(item: Shown) -> str:
    """Return the verdict of a finished submission in words, with the address of its page."""
    assert item.verdict is not None
    words = [item.verdict.title + ".", item.message]
    if item.review == REJECTED:
        words = ["Rejected in review; the reason is on its page."]
    elif item.review == UNDER_REVIEW:
        words.append("A person looks at this result before it ranks.")
    elif item.withdrawn:
        words.append("Its kernel is withdrawn from the board.")
    words.append(UNRANKED.get(item.unranked or "", ""))
    if item.score_us:
        words.append(f"{speedup(item.ratio)} the speed of the baseline, {duration_us(item.score_us)}.")
    if not item.passed:
        words.append(item.verdict.advice)
    return " ".join(word for word in (*words, f"{settings.SITE_URL}{item.url}") if word)


def result(item: Shown) -> dict[str, Any]:
    """Return the public cases as the client's evaluator prints them. Times are in nanoseconds."""
    found: dict[str, Any] = {"check": "pass" if is_good(item) else "fail"}
    public = [case for case in item.cases if case.get("public", True)]
    for kind, stage in (("test", "check"), ("benchmark", "time")):
        cases = [case for case in public if case.get("stage") == stage]
        if cases:
            found[f"{kind}-count"] = len(cases)
        for place, case in enumerate(cases):
            name = f"{kind}.{place}"
            found[f"{name}.spec"] = case.get("name", "")
            found[f"{name}.status"] = "pass" if case.get("good", True) else "fail"
            if case.get("message"):
                found[f"{name}.error"] = case["message"]
            if case.get("measured_us"):
                found[f"{name}.mean"] = 1000 * case["measured_us"]
    return found


def full_result(item: Opened) -> dict[str, Any]:
    """Return the data of the stream's last event: `result` for a pass, else `error`, which ends the client with 1."""
    if not is_good(item):
        stderr = _output(item, "stderr")
        return {"status": "error", "detail": report(item), **({"raw_error": stderr} if stderr else {})}
    run = runs(item)[0]
    ran = {
        "success": True,
        "passed": True,
        "command": "",
        "stdout": item.logs.get("stdout", ""),
        "stderr": item.logs.get("stderr", ""),
        "exit_code": 0,
        "duration": None,
        "result": result(item),
    }
    told = {"start": run["start_time"], "end": run["end_time"], "compilation": None, "run": ran, "profile": None}
    name = run["mode"]
    if item.profile:
        name, told["profile"] = "profile.0", {"profiler": "Photofinish", "trace": _zipped(item), "download_url": ""}
        text = base64.b64encode(_profile_text(item).encode()).decode()
        ran["result"] = {"benchmark-count": 1, "benchmark.0.spec": item.profile.case, "benchmark.0.report": text}
    one = {"success": True, "error": "", "system": {"gpu": item.hardware}, "runs": {name: told}}
    return {"status": "success", "results": [one], "reports": [report(item)]}


def _profile_text(item: Opened) -> str:
    figures = [
        f"{one.name}: {'unknown' if one.percent is None else f'{one.percent:.0f} %'}" for one in item.profile.figures
    ]
    rows = [f"{row.us:12.1f} us {row.share:6.1%}  {row.name}" for row in item.profile.rows]
    return "\n".join([item.profile.sentence, *figures, *item.profile.notes, "", *rows, "", FORGEABLE])


def _zipped(item: Opened) -> str:
    """Return the files of a profile as a zip archive in base64."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in item.files:
            packed.writestr(file["name"], item.file(file["name"]) or b"")
    return base64.b64encode(archive.getvalue()).decode()


def seconds(score_us: float | None) -> float | None:
    return None if score_us is None else score_us / 1e6
