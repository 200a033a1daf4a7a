from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def say_it(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A code that named no board opened all of its competition; from now on it says so."""
    apps.get_model("competitions", "InviteCode").objects.filter(boards=None).update(opens_all=True)


class Migration(migrations.Migration):
    dependencies = [("competitions", "0006_edited_here")]

    operations = [
        migrations.AddField(model_name="invitecode", name="opens_all", field=models.BooleanField(default=False)),
        migrations.RunPython(say_it, migrations.RunPython.noop),
    ]
