import django.db.models.deletion
from django.db import migrations, models

NOTE = """
CREATE FUNCTION photofinish_forget_changes(boards bigint[]) RETURNS void LANGUAGE sql AS $$
  WITH kept AS MATERIALIZED (
    SELECT board, (SELECT id FROM standings_change WHERE board_id = board ORDER BY id DESC OFFSET 1000 LIMIT 1) AS oldest
      FROM unnest(boards) AS board
  )
  DELETE FROM standings_change AS old USING kept WHERE old.board_id = kept.board AND old.id < kept.oldest;
$$;

CREATE OR REPLACE FUNCTION photofinish_renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid() FROM (SELECT DISTINCT board_id FROM touched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  INSERT INTO standings_change (board_id, submission_id, token)
  SELECT board_id, submission_id, token FROM touched JOIN standings_revision USING (board_id);
  PERFORM photofinish_forget_changes(ARRAY(SELECT DISTINCT board_id FROM touched));
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION photofinish_renew_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid()
    FROM (SELECT board_id FROM touched UNION SELECT board_id FROM untouched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  INSERT INTO standings_change (board_id, submission_id, token)
  SELECT board_id, submission_id, token
    FROM (SELECT board_id, submission_id FROM touched UNION SELECT board_id, submission_id FROM untouched) AS lines
    JOIN standings_revision USING (board_id);
  PERFORM photofinish_forget_changes(
    ARRAY(SELECT board_id FROM touched UNION SELECT board_id FROM untouched));
  RETURN NULL;
END $$;
"""
NO_MORE = """
CREATE OR REPLACE FUNCTION photofinish_renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid() FROM (SELECT DISTINCT board_id FROM touched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION photofinish_renew_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid()
    FROM (SELECT board_id FROM touched UNION SELECT board_id FROM untouched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  RETURN NULL;
END $$;

DROP FUNCTION photofinish_forget_changes(bigint[]);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_contests"),
        ("standings", "0009_entry_light"),
        ("submissions", "0001_tables"),
    ]
    operations = [
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "board",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="competitions.board",
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="submissions.submission",
                    ),
                ),
                ("token", models.UUIDField()),
            ],
            options={"indexes": [models.Index(fields=["board", "id"], name="change_by_board")]},
        ),
        migrations.RunSQL(NOTE, NO_MORE),
    ]
