"""The stage as a fixture.

Django's models are imported inside functions, because pytest reads this file before Django is set up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.leaderboard.stage import Stage


@pytest.fixture(autouse=True)
def _quiet_queues() -> None:
    """Empty the queues, to isolate each test's doorbell messages."""
    from leaderboard import broker

    broker.get_broker().flush(broker.gpu_queue("cpu"))
    broker.get_broker().flush(broker.SITE_QUEUE)


@pytest.fixture
def stage(db: None) -> Stage:
    """Return a stage inside a transaction that is rolled back; on-commit hooks do not run."""
    from tests.leaderboard.stage import make_stage

    return make_stage()


@pytest.fixture
def live_stage(transactional_db: None) -> Stage:
    """Return a stage with real commits, for doorbells and threads."""
    from tests.leaderboard.stage import make_stage

    return make_stage()
