"""A renamed copy of another entrant's code is held; own or team code, starters and later submissions are no copies."""

import os
import random
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.entrants.enter import enter_alone
from leaderboard.entrants.models import Membership
from leaderboard.judging.models import Result
from leaderboard.review.models import Finding, Fingerprint
from leaderboard.review.rules.fingerprints import SAMPLES, most_similar, source_of, sources_of
from leaderboard.standings.read.status import status_of
from leaderboard.submissions import intake
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from leaderboard.submissions.tokens import code_digest
from tests.leaderboard.review.test_a_copy_is_seen import CUDA, TRITON, renamed
from tests.leaderboard.stage import NOON, Stage, make_board, make_problem

CLOSED = str.maketrans({"[": "[b]", "(": "f(c)", "-": "-d"})
INLINE = f"from torch.utils.cpp_extension import load_inline\nM = load_inline('m', cuda_sources=r'''{CUDA}''')\n"


def send(stage: Stage, owner: User, source: str, board: Board | None = None) -> Submission:
    board = board or stage.board
    return pipeline.submit(
        Upload(board=board.slug, hardware=board.hardware, mode="ranked", filename="kernel.py", data=source.encode()),
        owner=owner,
        now=stage.later(1),
    )


def rules_of(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings.all()]


def test_what_was_found_unlike_is_not_looked_up_again(stage: Stage) -> None:
    sources = ((stage.ada, TRITON), (stage.ben, renamed(TRITON, 1)), (stage.cleo, INLINE))
    first, copy, other = (send(stage, owner, source) for owner, source in sources)
    for submission in (first, copy, other):
        stage.judge(submission)
    with CaptureQueriesContext(connection) as queries:
        found = sources_of([first, copy, other])
    assert sum("FROM unnest" in query["sql"] for query in queries.captured_queries) == 1, "the copy alone"
    assert found[copy.pk] == source_of(copy)
    for submission in (first, other):
        was, again = source_of(submission), found[submission.pk]
        assert again.opaque_chars == was.opaque_chars
        assert (again.likeness and again.likeness.share) == (was.likeness and was.likeness.share)


@pytest.mark.parametrize("source", [TRITON, INLINE], ids=["triton", "cuda"])
def test_anothers_code_with_other_names_is_held(stage: Stage, source: str) -> None:
    first = send(stage, stage.ada, source)
    stage.judge(first)
    result = stage.judge(send(stage, stage.ben, renamed(source, 7)))
    (finding,) = result.findings.all()
    assert finding.rule == "similar_source"
    assert finding.figures["other_submission"] == first.pk
    assert finding.figures["share"] > 0.9
    assert f"submission {first.pk}" in finding.sentence
    assert status_of(result.attempt.submission, now=stage.now).review == "under_review"


def test_who_sent_it_first_counts_and_not_who_was_judged_first(stage: Stage) -> None:
    first, copy = send(stage, stage.ada, TRITON), send(stage, stage.ben, renamed(TRITON, 7))
    other = stage.claim()
    job = stage.claim()
    assert (other.submission_id, job.submission_id) == (str(first.pk), str(copy.pk))
    assert stage.report(job)
    assert stage.report(other)
    assert rules_of(Result.objects.get(attempt__submission=copy)) == ["similar_source"]
    assert rules_of(Result.objects.get(attempt__submission=first)) == []


def test_a_test_run_of_somebody_else_counts_as_sent(stage: Stage) -> None:
    stage.sent += 1
    first = pipeline.submit(
        Upload(board="softmax", hardware="cpu", mode="test", filename="kernel.py", data=TRITON.encode()),
        owner=stage.ada,
        now=stage.later(1),
    )
    stage.judge(first)
    assert rules_of(stage.judge(send(stage, stage.ben, renamed(TRITON, 7)))) == ["similar_source"]


def test_ones_own_code_and_a_team_mates_is_no_copy(stage: Stage) -> None:
    first = send(stage, stage.ada, TRITON)
    stage.judge(first)
    assert rules_of(stage.judge(send(stage, stage.ada, renamed(TRITON, 1)))) == []
    second = send(stage, stage.ben, renamed(TRITON, 7))
    Membership.objects.filter(user=stage.ada).update(left_at=NOON)
    Membership.objects.create(
        entrant=second.entrant, competition=second.entrant.competition, user=stage.ada, role="member", joined_at=NOON
    )
    assert rules_of(stage.judge(second)) == []


def test_the_same_code_for_another_problem_is_no_copy(stage: Stage) -> None:
    stage.judge(send(stage, stage.ada, TRITON))
    other = make_board("layernorm")
    assert rules_of(stage.judge(send(stage, stage.ben, TRITON, other))) == []


def test_what_the_problem_gives_to_everybody_is_no_copy(stage: Stage) -> None:
    problem = make_problem("softmax", templates={"starter.py": TRITON})
    version = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=problem.digest, bundle=problem.to_bundle()
    )
    Board.objects.filter(pk=stage.board.pk).update(version=version)
    stage.judge(send(stage, stage.ada, TRITON))
    assert Fingerprint.objects.get().prints == []
    assert rules_of(stage.judge(send(stage, stage.ben, renamed(TRITON, 7)))) == []


def test_a_public_sample_of_the_library_is_no_copy(stage: Stage) -> None:
    sample = SAMPLES / "kernels101" / "softmax" / "submissions" / "accepted" / "c_polynomial.py"
    source = "\n".join(line for line in sample.read_text().splitlines() if not line.startswith("#!"))
    stage.judge(send(stage, stage.ada, source))
    assert rules_of(stage.judge(send(stage, stage.ben, source))) == []


def test_a_submission_from_before_fingerprints_is_compared_as_well(stage: Stage) -> None:
    stage.judge(send(stage, stage.ada, TRITON))
    second = intake.check(
        Upload(board="softmax", hardware="cpu", mode="ranked", filename="kernel.py", data=renamed(TRITON, 7).encode()),
        owner=stage.ben,
        now=stage.later(1),
    )
    second.owner, second.code_digest = stage.ben, code_digest(second.source)
    second.entrant = enter_alone(user=stage.ben, competition=stage.board.competition, now=stage.now)
    second.save(force_insert=True)
    likeness = source_of(second).likeness
    assert likeness is not None
    assert likeness.share > 0.9


def test_a_copy_in_ten_times_as_much_of_ones_own_is_held(stage: Stage) -> None:
    stage.judge(send(stage, stage.ada, TRITON))
    chance = random.Random(4)
    words = ["a", "b[i]", "7", "f(x, 2)", "-c", "d.e", "[1, 2]", "not g"]
    padding = "\n".join(
        f"p{n} = "
        + " ".join(f"{chance.choice(words)} {chance.choice('+-*/%')}" for _ in range(chance.randrange(3, 9)))
        + " 1"
        for n in range(600)
    )
    own = send(stage, stage.ben, f"{padding}\n{renamed(TRITON, 7)}")
    assert len(own.fingerprint.prints) > 10 * len(Fingerprint.objects.get(submission__owner=stage.ada).prints)
    assert rules_of(stage.judge(own)) == ["similar_source"]


def test_a_file_too_long_to_compare_waits(stage: Stage) -> None:
    chance = random.Random(4)
    lines = (" + ".join(chance.choice("a1[(-") for _ in range(9)).translate(CLOSED) for _ in range(9_000))
    long = "\n".join(f"x = {line}" for line in lines)
    result = stage.judge(send(stage, stage.ben, f"{TRITON}\n{long}\n"))
    assert rules_of(result) == ["opaque_source"]


def test_code_in_a_literal_waits(stage: Stage) -> None:
    blob = "QUJD" * 1000
    result = stage.judge(send(stage, stage.ada, f"import base64\nexec(base64.b64decode('{blob}'))\n"))
    assert rules_of(result) == ["opaque_source"]
    assert Finding.objects.get().figures["value"] == 4000


@pytest.fixture
def crowd(stage: Stage) -> Submission:
    """Create earlier submissions that share a few fingerprints with ben's, and return ben's submission."""
    stage.judge(send(stage, stage.ada, TRITON))
    return send(stage, stage.ben, renamed(TRITON, 7))


def test_it_is_one_query_that_uses_the_index(stage: Stage, crowd: Submission) -> None:
    rows = int(os.environ.get("PHOTOFINISH_FINGERPRINTS", "2000"))
    own = Fingerprint.objects.get(submission=crowd)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE review_fingerprint (LIKE public.review_fingerprint) ON COMMIT DROP")
        cursor.execute("INSERT INTO review_fingerprint TABLE public.review_fingerprint")
        cursor.execute(
            """
            INSERT INTO review_fingerprint (id, submission_id, entrant_id, owner_id, version, prints, opaque_chars)
            SELECT 1000000 + n, -n, %(entrant)s, %(owner)s, 1,
              ARRAY(SELECT (random() * 4e9 - 2e9)::integer FROM generate_series(1, 150 + n %% 2))
              || CASE WHEN n %% 20 = 0 THEN (%(own)s::integer[])[1 + n %% 7:5 + n %% 7] ELSE ARRAY[]::integer[] END, 0
            FROM generate_series(1, %(rows)s) AS n
            """,
            {"entrant": 0, "owner": 0, "own": own.prints, "rows": rows},
        )
        cursor.execute("ALTER TABLE review_fingerprint ADD PRIMARY KEY (id)")
        cursor.execute("SET LOCAL maintenance_work_mem = '256MB'")
        cursor.execute("CREATE INDEX ON review_fingerprint USING gin (prints) WITH (fastupdate = off)")
        cursor.execute("ANALYZE review_fingerprint")
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as asked:
        likeness = most_similar(frozenset(own.prints), crowd)
    print(f"{rows:,} fingerprints asked in {1000 * (time.perf_counter() - began):.1f} ms")
    assert likeness is not None
    assert likeness.share > 0.9
    (query,) = (one["sql"] for one in asked.captured_queries if "prints" in one["sql"])
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + query)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Bitmap Index Scan" in plan, plan
