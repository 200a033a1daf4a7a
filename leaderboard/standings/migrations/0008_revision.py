import uuid

import django.db.models.deletion
from django.db import migrations, models

RENEW = """
CREATE FUNCTION photofinish_renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid() FROM (SELECT DISTINCT board_id FROM touched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  RETURN NULL;
END $$;

CREATE FUNCTION photofinish_renew_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid()
    FROM (SELECT board_id FROM touched UNION SELECT board_id FROM untouched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  RETURN NULL;
END $$;

CREATE TRIGGER renew_on_insert AFTER INSERT ON standings_entry REFERENCING NEW TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revision();
CREATE TRIGGER renew_on_delete AFTER DELETE ON standings_entry REFERENCING OLD TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revision();
CREATE TRIGGER renew_on_update AFTER UPDATE ON standings_entry REFERENCING OLD TABLE AS untouched NEW TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revisions();

INSERT INTO standings_revision (board_id, token) SELECT DISTINCT board_id, gen_random_uuid() FROM standings_entry;
"""
NO_MORE = """
DROP TRIGGER renew_on_insert ON standings_entry;
DROP TRIGGER renew_on_delete ON standings_entry;
DROP TRIGGER renew_on_update ON standings_entry;
DROP FUNCTION photofinish_renew_revision();
DROP FUNCTION photofinish_renew_revisions();
"""


class Migration(migrations.Migration):
    dependencies = [("competitions", "0005_contests"), ("standings", "0007_retraction")]
    operations = [
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "board",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="competitions.board",
                    ),
                ),
                ("token", models.UUIDField(default=uuid.uuid4)),
            ],
        ),
        migrations.RunSQL(RENEW, NO_MORE),
    ]
