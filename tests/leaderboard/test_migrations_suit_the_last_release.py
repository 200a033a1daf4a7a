"""New migrations run beside the code of the last release: no old query fails, and no table is locked for long.

squawk judges the SQL of each migration after released_migrations.txt. A migration names what it accepts, with the
reason, in a class attribute: `accepted = {"require-concurrent-index-creation": "a table of some hundred rows"}`.
CONTRIBUTING.md describes the safe ways.
"""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, NotInTransactionMixin
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader

RELEASED = Path(__file__).with_name("released_migrations.txt")
SQUAWK = Path(sys.executable).with_name("squawk")
TASTE = (  # rules about style, and about timeouts, which the environment sets
    "ban-char-field,prefer-bigint-over-int,prefer-bigint-over-smallint,prefer-identity,"
    "prefer-robust-stmts,prefer-text-field,prefer-timestamptz,require-lock-timeout,require-statement-timeout"
)
NO_SQL = "THIS OPERATION CANNOT BE WRITTEN AS SQL"
PYTHON = "python-on-data"  # our own rule: how long RunPython holds its locks is for a person to judge
WAY_OUT = "CONTRIBUTING.md, “Write a migration”, has the way in two releases"


def released() -> dict[str, str]:
    lines = (line for line in RELEASED.read_text().splitlines() if not line.startswith("#"))
    return dict(line.split() for line in lines)


def problems(sql: str) -> dict[str, str]:
    """Return what could hurt the previous version in this migration: rule → sentence."""
    done = subprocess.run(
        [str(SQUAWK), "--reporter", "json", "--exclude", TASTE], input=sql, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    found = {row["rule_name"]: f"line {row['line']}: {row['message']}" for row in json.loads(done.stdout)}
    if NO_SQL in sql:
        found[PYTHON] = "Python changes data; rows that it locks wait for the end of the migration"
    return found


@pytest.mark.django_db
def test_new_migrations_suit_the_last_release(monkeypatch: pytest.MonkeyPatch) -> None:
    # `sqlmigrate` runs no operation, so the test's own transaction does no harm.
    monkeypatch.setattr(NotInTransactionMixin, "_ensure_not_in_transaction", lambda *_: None)
    loader, since, faults = MigrationLoader(connection, replace_migrations=False), released(), []
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        if not migration.__module__.startswith("leaderboard.") or name <= since.get(app, ""):
            continue
        sql = StringIO()
        call_command("sqlmigrate", app, name, stdout=sql)
        found, accepted = problems(sql.getvalue()), getattr(migration, "accepted", {})
        faults += [f"{app} {name}: {rule}, {why}" for rule, why in found.items() if rule not in accepted]
        faults += [f"{app} {name}: accepts {rule}, which does not occur" for rule in accepted if rule not in found]
        faults += [f"{app} {name}: accepts {rule} without a reason" for rule, why in accepted.items() if not why]
    assert not faults, "\n".join([*faults, WAY_OUT])


def test_released_migrations_exist() -> None:
    disk = MigrationLoader(None).disk_migrations
    assert [pair for pair in released().items() if pair not in disk] == []


ADD_TEXT = models.CharField(max_length=9, default="")
UNSAFE = {
    "ban-drop-default": migrations.AddField("submission", "extra", ADD_TEXT),
    "ban-drop-column": migrations.RemoveField("submission", "filename"),
    "renaming-column": migrations.RenameField("submission", "filename", "name"),
    "renaming-table": migrations.RenameModel("Submission", "Sent"),
    "ban-drop-table": migrations.DeleteModel("QuotaLine"),
    "changing-column-type": migrations.AlterField("submission", "filename", models.IntegerField()),
    "require-concurrent-index-creation": migrations.AddIndex(
        "submission", models.Index(fields=["filename"], name="by_name")
    ),
    "constraint-missing-not-valid": migrations.AddConstraint(
        "submission", models.CheckConstraint(condition=~models.Q(filename=""), name="named")
    ),
    "disallowed-unique-constraint": migrations.AddConstraint(
        "submission", models.UniqueConstraint(fields=["filename"], name="one_name")
    ),
    "adding-foreign-key-constraint": migrations.AddField(
        "submission", "older", models.ForeignKey("submissions.Submission", models.PROTECT, null=True)
    ),
    PYTHON: migrations.RunPython(migrations.RunPython.noop),
}
SAFE = [
    migrations.AddField("submission", "extra", models.CharField(max_length=9, default="", db_default="")),
    migrations.AddField("submission", "extra", models.CharField(max_length=9, null=True)),
    AddIndexConcurrently("submission", models.Index(fields=["filename"], name="by_name")),
    migrations.CreateModel(
        "Note",
        [
            ("id", models.BigAutoField(primary_key=True)),
            ("text", models.TextField()),
            ("of", models.ForeignKey("submissions.Submission", models.PROTECT)),
        ],
        options={"indexes": [models.Index(fields=["text"], name="by_text")]},
    ),
]


def sql_of(operation: migrations.operations.base.Operation) -> str:
    """Return the SQL of a migration of `submissions` with this operation alone."""
    before = MigrationLoader(connection).project_state()
    after = before.clone()
    operation.state_forwards("submissions", after)
    atomic = not isinstance(operation, NotInTransactionMixin)
    with connection.schema_editor(collect_sql=True, atomic=atomic) as editor:
        if operation.reduces_to_sql:
            operation.database_forwards("submissions", editor, before, after)
        else:
            editor.collected_sql.append(f"-- {NO_SQL}")
    statements = "\n".join(editor.collected_sql)
    return f"BEGIN;\n{statements}\nCOMMIT;" if atomic else statements


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rule", UNSAFE)
def test_an_operation_that_would_hurt_the_last_release_is_found(rule: str) -> None:
    assert rule in problems(sql_of(UNSAFE[rule]))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("operation", SAFE, ids=lambda operation: type(operation).__name__)
def test_an_operation_that_suits_the_last_release_passes(operation) -> None:
    assert problems(sql_of(operation)) == {}
