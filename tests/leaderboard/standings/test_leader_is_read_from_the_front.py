"""A board's leader is read from its front: the same leader as in the full ranking, at the cost of the front alone."""

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.claim import ROWS_READ
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import rank
from leaderboard.standings.read import records
from leaderboard.standings.read.records import contest_leader, incumbent_ratio, incumbent_ratios
from leaderboard.standings.read.table import run_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage, current

MOST = 15
RUNS = st.lists(
    st.tuples(
        st.integers(0, 4),  # entrant
        st.integers(0, 2),  # kernel
        st.sampled_from([0.5, 0.501, 0.503, 0.51, 0.53, 0.6, 0.8]),
        st.sampled_from([None, 0.0, 0.01, 0.05]),
        st.sampled_from([0.0, 0.02, 0.2]),
    ),
    min_size=1,
    max_size=MOST,
)

LINES = """
INSERT INTO submissions_submission
       (owner_id, entrant_id, board_id, mode, filename, source, source_digest, code_digest, size_bytes, licence,
        created_at)
SELECT owner_id, entrant_id, board_id, mode, filename, source, source_digest,
       'tokens1:' || encode(sha256(n::text::bytea), 'hex'), size_bytes, licence,
       created_at
  FROM submissions_submission, generate_series(1, %(lines)s) AS n WHERE id = %(first)s;

INSERT INTO judging_attempt
       (submission_id, owner_id, is_ranked, sent_at, number, is_current, is_shadow, cause, losses, hardware,
       version_id, state,
        outcome, reason, token, created_at, claimed_at, finished_at)
SELECT submission.id, submission.owner_id, true, submission.created_at, 1, true, false, 'first', 0, board.hardware,
       board.version_id, 'done',
       'passed', '', 1, now(), now(), now()
  FROM submissions_submission AS submission JOIN competitions_board AS board ON board.id = submission.board_id
 WHERE submission.id > %(first)s;

INSERT INTO entrants_entrant
       (competition_id, name, looks, is_team, pseudonym, division, model_name, affiliation, declared, created_at)
SELECT %(competition)s, 'racer' || n, ARRAY['racer' || n], false, '', 'human', '', '', '[]', now()
  FROM generate_series(1, %(entrants)s) AS n;

INSERT INTO standings_entry
       (board_id, owner_id, entrant_id, submission_id, attempt_id, score_us, ratio, half_width, epoch, code_digest,
        forgeable, telemetry, submitted_at, published_at)
SELECT submission.board_id, submission.owner_id, (SELECT max(id) FROM entrants_entrant) - attempt.id %% %(entrants)s,
       submission.id, attempt.id, 1000, 0.5 + (attempt.id * 7919) %% 100000 / 100000.0, 0.01, '',
       submission.code_digest, 0, 'full', submission.created_at, now()
  FROM judging_attempt AS attempt JOIN submissions_submission AS submission ON submission.id = attempt.submission_id
 WHERE submission.id > %(first)s
"""


def fill(stage: Stage, lines: int) -> Submission:
    """Write `lines` lines to the board, and return a submission without a line."""
    first = stage.submit()
    figures = {
        "lines": lines,
        "entrants": lines // 3,
        "first": first.pk,
        "competition": stage.board.competition_id,
    }
    with connection.cursor() as cursor:
        for statement in LINES.split(";\n\n"):
            cursor.execute(statement, figures)
        cursor.execute("ANALYZE standings_entry")
    return first


def rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(ROWS_READ)
        return int(cursor.fetchone()[0])


def test_contest_leader_and_incumbent_ratio_read_few_of_many_lines(stage: Stage) -> None:
    submission = fill(stage, 3_000)
    before = rows_read()
    assert contest_leader(submission, "") is not None
    assert incumbent_ratio(epoch="", without=submission) is not None
    assert rows_read() - before < 1_000


@pytest.fixture
def lines(stage: Stage) -> list[Entry]:
    fill(stage, MOST)
    return list(Entry.objects.select_related("submission").order_by("pk"))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    runs=RUNS,
    pairs=st.lists(st.tuples(st.integers(0, MOST - 1), st.integers(0, MOST - 1)), max_size=2),
    at_first=st.integers(1, 4),
)
def test_leading_places_are_those_of_the_whole_ranking(
    lines: list[Entry],
    runs: list[tuple[int, int, float, float | None, float]],
    pairs: list[tuple[int, int]],
    at_first: int,
) -> None:
    entrants = sorted(Entry.objects.order_by().values_list("entrant", flat=True).distinct())  # `lines` keep changes
    level = [(lines[a].submission_id, lines[b].submission_id) for a, b in pairs if a != b]
    with transaction.atomic(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(records, "AT_FIRST", at_first)
        for line, (entrant, kernel, ratio, half_width, forgeable) in zip(lines, runs, strict=False):
            line.entrant_id, line.code_digest = entrants[entrant], f"kernel{kernel}"
            line.ratio, line.half_width, line.forgeable = ratio, half_width, forgeable
        Entry.objects.bulk_update(lines, ["entrant", "code_digest", "ratio", "half_width", "forgeable"])
        left = Entry.objects.filter(pk__in=[line.pk for line in lines[: len(runs)]])
        whole = rank(map(run_of, left), level=level)
        assert records.leading_places(left, level) == [place for place in whole if place.rank == 1]
        first = lines[0].submission
        known = incumbent_ratios(board=first.board_id, epoch="", group="", submissions=[first.pk])[first.pk]
        assert incumbent_ratio(epoch="", without=first) == known
        transaction.set_rollback(True)


def test_leading_places_of_an_empty_board_are_none(stage: Stage) -> None:
    assert current(stage.submit()).is_current
    assert records.leading_places(Entry.objects.all(), ()) == []
