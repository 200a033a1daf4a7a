"""A batch's kernel that its sender had judged before gets the stored verdict, at no cost."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, ProblemVersion
from leaderboard.errors import RateLimited
from leaderboard.judging import archive, batches, queue
from leaderboard.judging.models import AttemptEvent, Epoch, Result, ResultArchived
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch, Candidate, QuotaLine, Takedown
from leaderboard.submissions.tokens import verbatim_digest
from leaderboard.web.submissions.feedback import feedback_on
from tests.leaderboard.stage import Stage, current, make_board, make_problem, make_runner

KERNEL = "def custom_kernel(data):\n    # first try\n    return (data,)\n"
COMMENTED = "# second try\n\ndef custom_kernel( data ):\n  return (data,)  # done\n"


def send(
    stage: Stage, *codes: str, owner: User | None = None, mode: str = "test", fresh: bool = False, **changes: Any
) -> Batch:
    told: dict[str, Any] = {"board": "softmax", "hardware": "cpu", "filename": "kernel.py", "mode": mode}
    uploads = [Upload(data=code.encode(), **told | changes) for code in codes]
    now = stage.later(1)
    return pipeline.submit_batch(uploads, mode=mode, budget_s=100, owner=owner or stage.ada, fresh=fresh, now=now)


def judged(stage: Stage, code: str = KERNEL, **told: Any) -> Candidate:
    candidate = send(stage, code).candidates.get()
    stage.report(stage.claim(), **told)
    return candidate


def states(batch: Batch) -> list[tuple[str, str, int | None]]:
    found = [(current(one.submission), one) for one in batch.candidates.order_by("number")]
    return [(attempt.state, attempt.outcome, one.same_as_id) for attempt, one in found]


QUEUED = ("queued", "", None)


@pytest.mark.parametrize("outcome", ["passed", "wrong"])
def test_a_kernel_judged_before_is_answered_at_once_and_costs_nothing(stage: Stage, outcome: str) -> None:
    told = {"outcome": outcome, "message": "case 2 differs", "flags": ("bimodal",)}
    first = judged(stage, **told, cases=({"name": "cols=4", "good": False, "public": True},))
    spent = QuotaLine.objects.count()
    batch = send(stage, COMMENTED, KERNEL.replace("data", "rows"))
    assert states(batch) == [("done", outcome, first.submission_id), QUEUED], "another name may be another behaviour"
    assert QuotaLine.objects.count() == spent + 1, "of the candidate that waits"
    again = batch.candidates.get(number=1)
    attempt = current(again.submission)
    assert (attempt.runner, attempt.claimed_at, attempt.finished_at) == (None, None, stage.now)
    assert batches.spent_s([batch.pk], stage.now)[batch.pk] == 0
    assert (again.arrival, batch.settled_at) == (1, None)
    old, new = (feedback_on([one.submission], stage.ada)[0].model_dump() for one in (first, again))
    for shown in (old, new):
        shown.pop("about")
    assert old == new
    assert new["message"] == "case 2 differs"
    assert Result.objects.get(attempt=attempt).flags == ["bimodal"]
    (event,) = AttemptEvent.objects.filter(attempt=attempt)
    assert (event.state, event.data["outcome"]) == ("done", outcome)


def test_a_batch_of_repeats_alone_is_settled_when_it_is_sent(stage: Stage) -> None:
    Competition.objects.update(quotas={"test": {"capacity": 1, "per_day": 1}})
    first = judged(stage)
    batch = send(stage, KERNEL, COMMENTED)
    assert batch.settled_at == stage.now, "without a quota or a runner"
    assert states(batch) == [("done", "passed", first.submission_id)] * 2, "the judged one, not its repeat"
    assert states(send(stage, KERNEL)) == [("done", "passed", first.submission_id)]
    with pytest.raises(RateLimited):
        send(stage, KERNEL, KERNEL + "x = 1\n")
    with pytest.raises(RateLimited):
        send(stage, KERNEL, fresh=True)
    assert Batch.objects.count() == 3


def test_a_single_submission_in_mode_test_answers_a_candidate(stage: Stage) -> None:
    told: dict[str, Any] = {"board": "softmax", "hardware": "cpu", "filename": "kernel.py", "data": KERNEL.encode()}
    sent = pipeline.submit(Upload(mode="test", **told), owner=stage.ada, now=stage.later(1))
    stage.judge(sent)
    assert states(send(stage, KERNEL)) == [("done", "passed", sent.pk)]
    again = pipeline.submit(Upload(mode="test", **told), owner=stage.ada, now=stage.later(1))
    assert current(again).state == "queued", "sent by hand, it is judged"


@pytest.mark.parametrize("outcome", ["timeout", "runtime_error", "out_of_memory", "policy", "build_error"])
def test_other_outcomes_are_judged_anew(stage: Stage, outcome: str) -> None:
    judged(stage, outcome=outcome)
    assert states(send(stage, KERNEL)) == [QUEUED]


def test_fresh_judgements_and_timed_modes_are_judged_anew(stage: Stage) -> None:
    judged(stage)
    assert states(send(stage, KERNEL, fresh=True)) == [QUEUED]
    assert states(send(stage, KERNEL, mode="benchmark")) == [QUEUED]


def test_the_newest_judgement_answers(stage: Stage) -> None:
    judged(stage)
    fresh = send(stage, KERNEL, fresh=True).candidates.get()
    stage.report(stage.claim(), outcome="wrong")
    assert states(send(stage, KERNEL)) == [("done", "wrong", fresh.submission_id)]


def test_equal_candidates_of_a_batch_are_judged_once(stage: Stage) -> None:
    batch = send(stage, KERNEL, KERNEL.replace("data", "rows"), COMMENTED)
    before = QuotaLine.objects.filter(act="given_back").count()
    job = stage.claim()
    assert job.submission_id == str(batch.candidates.get(number=1).submission_id)
    stage.report(job, outcome="wrong", message="case 2 differs")
    first = batch.candidates.get(number=1)
    assert states(batch) == [("done", "wrong", None), QUEUED, ("done", "wrong", first.submission_id)]
    arrived = batch.candidates.exclude(arrival=None).order_by("arrival")
    assert list(arrived.values_list("number", flat=True)) == [1, 3]
    assert QuotaLine.objects.filter(act="given_back").count() == before + 1, "of the candidate that was not judged"
    feedback = feedback_on([batch.candidates.get(number=3).submission], stage.ada)[0]
    assert feedback.message == "case 2 differs"
    stage.report(stage.claim())
    batch.refresh_from_db()
    assert batch.settled_at is not None


def test_equal_candidates_are_all_judged_where_the_batch_asks_for_it(stage: Stage) -> None:
    batch = send(stage, KERNEL, COMMENTED, fresh=True)
    stage.report(stage.claim())
    assert states(batch) == [("done", "passed", None), QUEUED]


def test_equal_candidate_that_a_runner_holds_is_judged(stage: Stage) -> None:
    other = make_runner("other")
    batch = send(stage, KERNEL, COMMENTED, KERNEL)
    job = stage.claim()
    held = stage.claim(other)
    stage.report(job)
    first = batch.candidates.get(number=1).submission_id
    assert states(batch) == [("done", "passed", None), ("claimed", "", None), ("done", "passed", first)]
    stage.report(held)


def test_equal_candidate_is_answered_although_the_budget_is_spent(stage: Stage) -> None:
    batch = send(stage, KERNEL, COMMENTED, KERNEL + "x = 1\n")
    job = stage.claim()
    stage.later(200)
    stage.report(job)
    first = batch.candidates.get(number=1).submission_id
    assert states(batch) == [("done", "passed", None), ("done", "passed", first), ("cancelled", "", None)]


def test_another_version_or_hardware_is_judged_anew(stage: Stage) -> None:
    judged(stage)
    make_board(hardware="h100")
    assert states(send(stage, KERNEL, hardware="h100")) == [QUEUED]
    changed = make_problem(description="Softmax of each column.")
    stage.board.version = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=changed.digest, bundle=changed.to_bundle()
    )
    stage.board.save()
    assert states(send(stage, KERNEL)) == [QUEUED]


def test_another_epoch_is_judged_anew(stage: Stage) -> None:
    first = judged(stage, epoch="driver-1")
    assert Epoch.objects.get().state == Epoch.CURRENT
    assert states(send(stage, KERNEL)) == [("done", "passed", first.submission_id)]
    judged(stage, KERNEL + "x = 1\n", epoch="driver-2")
    assert states(send(stage, KERNEL + "x = 1\n")) == [QUEUED], "that epoch is not current yet"
    stage.choose("driver-2")
    assert states(send(stage, KERNEL)) == [QUEUED]


def test_a_contest_with_an_end_judges_anew(stage: Stage) -> None:
    judged(stage)
    deadline = stage.now + timedelta(hours=1)
    Competition.objects.update(deadline=deadline)
    assert states(send(stage, KERNEL)) == [QUEUED]
    stage.later(7200)
    Competition.objects.update(final_at=stage.now)
    assert states(send(stage, KERNEL))[0][:2] == ("done", "passed"), "open again after the contest"


def test_another_persons_kernel_answers_nothing_and_is_not_named(stage: Stage) -> None:
    judged(stage)
    assert states(send(stage, KERNEL, owner=stage.cleo)) == [QUEUED]


def test_a_kernel_whose_code_was_taken_down_answers_nothing(stage: Stage) -> None:
    first = judged(stage)
    Takedown.objects.create(submission=first.submission, reason="licence", created_at=stage.now)
    assert states(send(stage, KERNEL)) == [QUEUED]


def test_repeats_share_a_report_in_the_store_until_it_expires(stage: Stage, settings: Settings, tmp_path: Any) -> None:
    settings.REPORT_STORE = f"file://{tmp_path}"
    first = judged(stage, message="well done")
    again = send(stage, KERNEL).candidates.get()
    rows = ResultArchived.objects.all()
    assert len({row.digest for row in rows}) == 1
    assert len(rows) == 2
    ResultArchived.objects.filter(of__attempt__submission=first.submission).update(created_at=stage.later(-86_400 * 99))
    stage.later(86_400 * 99)
    assert archive.expire(now=stage.now) == 1
    assert archive.look(Result.objects.get(attempt__submission=again.submission)).report["message"] == "well done"
    assert states(send(stage, KERNEL)) == [QUEUED]


def test_repeats_leave_no_trace_in_expected_durations(stage: Stage) -> None:
    judged(stage)
    before = queue._durations("cpu")
    send(stage, *[KERNEL] * 200)
    assert queue._durations("cpu") == before


@pytest.mark.parametrize(
    ("source", "is_same"),
    [
        (COMMENTED, True),
        (KERNEL.replace("(data,)", "(data)"), False),
        (KERNEL.replace("custom_kernel", "my_kernel"), False),
        (KERNEL.replace("    # first try", '    "first try"'), False),
    ],
)
def test_comments_and_blanks_alone_leave_no_trace_in_a_verbatim_digest(source: str, is_same: bool) -> None:
    assert (verbatim_digest(source) == verbatim_digest(KERNEL)) is is_same


def test_blanks_count_where_a_source_is_not_python() -> None:
    source = "#define ONE 1\n__global__ void kernel(float *out) { *out = ONE; }\n"
    assert verbatim_digest(source) != verbatim_digest(source.replace("1\n", "1 "))
    assert verbatim_digest(source) == verbatim_digest(source)
