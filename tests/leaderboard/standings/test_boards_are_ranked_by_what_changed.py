"""An incremental read after a change ranks only the affected lines, with the same result as a full ranking."""

from concurrent.futures import ThreadPoolExecutor
from random import Random
from uuid import uuid4

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.competitions.calendar import Window
from leaderboard.competitions.models import Board
from leaderboard.judging.lease import clock
from leaderboard.standings.models import Change, Entry
from leaderboard.standings.publish import withdraw
from leaderboard.standings.ranking.ranking import Field, Run, rank
from leaderboard.standings.read import table
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.table import LONG_AGO, Tables, read
from leaderboard.web.service import _read_tables
from tests.leaderboard.stage import Stage, make_board
from tests.leaderboard.standings.test_ties_are_anchored_by_the_leader import runs

ALWAYS = Window(None, None)
pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=2)
known = runs.map(lambda run: run._replace(submission_id=run.submission_id % 12 + 1))
steps = st.lists(st.tuples(st.lists(known, max_size=3), st.lists(st.integers(1, 12), max_size=3), pairs), max_size=8)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(known, unique_by=lambda run: run.submission_id), steps)
def test_after_every_change_it_is_what_the_ranking_says(
    begin: list[Run], changes: list[tuple[list[Run], list[int], list[tuple[int, int]]]]
) -> None:
    field, lines = Field(begin), {run.submission_id: run for run in begin}
    assert field.places() == rank(begin)
    for came, gone, level in changes:
        before, of_before = field, rank(lines.values())
        field = field.copy()
        for run in came:
            field.put(run)
            lines[run.submission_id] = run
        for submission in gone:
            field.drop(submission)
            lines.pop(submission, None)
        assert field.places(level) == rank(lines.values(), level)
        assert before.copy().places() == of_before, "a copy changes nothing of what it was made from"
        assert (len(field), 1 in field) == (len(lines), 1 in lines)


def anew(board: int, window: Window = ALWAYS) -> Tables:
    """Read the board as a newly started process does."""
    kept = table._ranked, table._runs
    table._ranked, table._runs = table._Shelf(table.KEPT_PLACES), table._Shelf(table.KEPT_RUNS)
    try:
        return read({(board, ""): window})[board, ""]
    finally:
        table._ranked, table._runs = kept


def caught_up(board: int, window: Window = ALWAYS) -> bool:
    """Check that a read is correct, and return whether it avoided reading the whole board."""
    with CaptureQueriesContext(connection) as queries:
        seen = read({(board, ""): window})[board, ""]
    assert seen == anew(board, window)
    return not any('FROM "standings_entry"' in query["sql"] for query in queries.captured_queries)


def test_what_was_published_moved_and_withdrawn_is_read_alone(stage: Stage) -> None:
    board = stage.board.pk
    sent = [stage.submit(owner) for owner in (stage.ada, stage.ben, stage.cleo)]
    for submission, ratio in zip(sent, (0.9, 0.8, 0.7), strict=True):
        stage.judge(submission, ratio=ratio)
    until = Window(None, sent[2].created_at)
    assert not caught_up(board), "nothing was known"
    assert not caught_up(board, until)
    stage.judge(stage.submit(stage.ada), ratio=0.6)
    assert caught_up(board)
    assert caught_up(board, until), "what lies outside of the window changes nothing"
    assert [len(table.places) for table in read({(board, ""): until})[board, ""].values()] == [2]
    Entry.objects.filter(submission=sent[1]).update(epoch="another")
    assert caught_up(board)
    assert set(read({(board, ""): ALWAYS})[board, ""]) == {"", "another"}
    withdraw(submission=sent[1])
    assert caught_up(board)
    assert set(read({(board, ""): ALWAYS})[board, ""]) == {""}
    Entry.objects.all().delete()
    assert caught_up(board)
    assert read({(board, ""): ALWAYS})[board, ""] == {}


def test_without_its_runs_in_memory_an_unchanged_board_is_not_read(stage: Stage) -> None:
    first, second = stage.board, make_board("other")
    for board in (first, second):
        stage.judge(stage.submit(board=board), ratio=0.9)
        read({(board.pk, ""): ALWAYS})
    table._runs.clear()
    assert caught_up(first.pk), "its table is known"
    stage.judge(stage.submit(stage.ben, board=second), ratio=0.8)
    assert caught_up(first.pk), "a line of another board is no change"
    assert not caught_up(second.pk), "its runs are gone"
    assert caught_up(second.pk)


def test_of_many_boards_the_least_seen_leave_memory() -> None:
    shelf = table._Shelf[table._Runs](3)
    state = table.State(uuid4(), None)
    two = table._Runs(
        table._Ranked(state, (), {}), {"": Field(Run(1.0, None, None, LONG_AGO, pk, pk, "") for pk in (1, 2))}
    )
    for board in (1, 2):
        shelf.put((board, ""), ALWAYS, two)
    assert (shelf.get((1, ""), ALWAYS), shelf.get((2, ""), ALWAYS)) == (None, two)
    shelf.put((2, ""), ALWAYS, two)
    assert shelf.get((2, ""), ALWAYS) is two, "the same board counts once"


def test_all_is_read_where_not_every_change_is_known(stage: Stage) -> None:
    board = stage.board.pk
    stage.judge(stage.submit(), ratio=0.9)
    read({(board, ""): ALWAYS})
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    Change.objects.order_by("pk").first().delete()  # type: ignore[union-attr]
    assert not caught_up(board)
    assert caught_up(board)
    with transaction.atomic():
        Entry.objects.update(ratio=0.5)
        assert caught_up(board)
        transaction.set_rollback(True)
    assert not caught_up(board), "what was taken back never was"


def test_of_many_changes_the_last_are_kept(stage: Stage) -> None:
    stage.judge(stage.submit(), ratio=0.9)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO standings_change (board_id, submission_id, token) SELECT board_id, submission_id, token"
            " FROM standings_change, generate_series(1, 1500)"
        )
    Entry.objects.update(ratio=0.8)
    assert Change.objects.count() == 1001


def test_whoever_writes_beside_a_look_nothing_is_missed(live_stage: Stage) -> None:
    stage = live_stage
    board = stage.board.pk
    for owner in (stage.ada, stage.ben, stage.cleo) * 2:
        stage.judge(stage.submit(owner), ratio=0.9)
    entries = list(Entry.objects.values_list("pk", flat=True))

    def write(seed: int) -> None:
        chance, own = Random(seed), entries[seed::2]  # the writer of a line holds its entrant's lock
        try:
            for _ in range(20):
                with transaction.atomic():
                    for pk in chance.sample(own, 2):
                        Entry.objects.filter(pk=pk).update(ratio=chance.uniform(0.1, 0.9))
                    transaction.set_rollback(chance.random() < 0.3)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, seed) for seed in (0, 1)]
        while not all(writer.done() for writer in writers):
            read({(board, ""): ALWAYS})
    for writer in writers:
        writer.result()
    assert read({(board, ""): ALWAYS})[board, ""] == anew(board)


def test_a_web_process_reads_every_board_before_it_serves(live_stage: Stage) -> None:
    for board in (live_stage.board, make_board("other")):
        live_stage.judge(live_stage.submit(board=board), ratio=0.9)
    table.forget()
    _read_tables()
    with CaptureQueriesContext(connection) as queries:
        seen = looks(Board.objects.select_related("competition"), now=clock())
    assert [len(look.current.places) for look in seen.values()] == [1, 1]
    assert not any('FROM "standings_entry"' in query["sql"] for query in queries.captured_queries)
