"""The migrations create exactly the tables that the models describe."""

from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    missing = StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=missing)
    except SystemExit:
        pytest.fail(f'run make manage ARGS="makemigrations APP" to write what is missing:\n{missing.getvalue()}')
