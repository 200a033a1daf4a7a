"""A page of own submissions costs the same however many a person has sent."""

import pytest
from django.db import connection

from benchmarks.claim import fill_history
from leaderboard.accounts.models import User
from leaderboard.web.paging import page_of
from leaderboard.web.submissions import view

ROWS = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables WHERE relname = %s"

pytestmark = pytest.mark.django_db


def rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(ROWS, ["submissions_submission"])
        return int(cursor.fetchone()[0])


def test_page_of_own_submissions_reads_its_own_rows_alone() -> None:
    fill_history(20_000, 50, every_s=60)  # 500 of each person, the newest 100 with one time
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")  # the question is whether the index suffices
    person = User.objects.get(username="racer1")
    before = rows_read()
    page = page_of(view.sent_by(person), order=view.NEWEST_FIRST, name="submissions", cursor="", size=50)
    assert len(page.rows) == 50
    assert {row.owner_id for row in page.rows} == {person.pk}
    assert rows_read() - before < 200


def test_page_of_own_submissions_has_those_of_linked_logins() -> None:
    fill_history(20, 2, every_s=60)
    first, second = User.objects.filter(username__startswith="racer").order_by("pk")
    User.objects.filter(pk=second.pk).update(linked_to=first)
    assert {row.owner_id for row in view.sent_by(first)} == {first.pk, second.pk}
