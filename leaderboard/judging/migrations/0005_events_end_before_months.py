"""A constraint on events that spares the next migration the look at every row: they end before the first month.

Migrations 0005 and 0006 belong together: apply both within a month. The constraint goes with 0006.
"""

from django.db import migrations

ADD = """
DO $$ BEGIN
  ALTER TABLE judging_attemptevent DROP CONSTRAINT IF EXISTS events_end_before_months;
  EXECUTE format('ALTER TABLE judging_attemptevent ADD CONSTRAINT events_end_before_months CHECK (created_at < %L) NOT VALID',
                 date_trunc('month', now(), 'UTC') + interval '2 months');
END $$
"""


class Migration(migrations.Migration):
    atomic = False  # each statement is a transaction, so that a lock lasts as long as its statement

    dependencies = [
        ("judging", "0004_report_store"),
    ]

    operations = [
        migrations.RunSQL(ADD),
        migrations.RunSQL("ALTER TABLE judging_attemptevent VALIDATE CONSTRAINT events_end_before_months"),
    ]
