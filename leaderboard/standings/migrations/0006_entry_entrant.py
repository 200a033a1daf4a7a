from typing import Any

import django.db.models.deletion
from django.db import migrations, models

NAME_OLD_LINES = """
UPDATE standings_entry AS entry SET entrant_id = submission.entrant_id
  FROM submissions_submission AS submission WHERE submission.id = entry.submission_id;
SET CONSTRAINTS ALL IMMEDIATE;
"""


def entrant(*, null: bool) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(
        null=null, on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="entrants.entrant"
    )


class Migration(migrations.Migration):
    dependencies = [("standings", "0005_entry_trust"), ("submissions", "0006_entrant_is_known")]
    operations = [
        migrations.AddField(model_name="entry", name="entrant", field=entrant(null=True)),
        migrations.RunSQL(NAME_OLD_LINES, migrations.RunSQL.noop),
        migrations.AlterField(model_name="entry", name="entrant", field=entrant(null=False)),
    ]
