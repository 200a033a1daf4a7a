"""The stage as a fixture. Django's models are imported inside: this file is read before Django is set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.leaderboard.stage import Stage


@pytest.fixture(autouse=True)
def _quiet_queues() -> None:
    """Each test hears its own doorbells only."""
    from leaderboard import broker

    broker.get_broker().flush(broker.gpu_queue("cpu"))
    broker.get_broker().flush(broker.SITE_QUEUE)


@pytest.fixture
def stage(db: None) -> Stage:
    """Inside one transaction that is rolled back: what is done on commit does not happen."""
    from tests.leaderboard.stage import make_stage

    return make_stage()


@pytest.fixture
def live_stage(transactional_db: None) -> Stage:
    """With real commits: for doorbells and threads."""
    from tests.leaderboard.stage import make_stage

    return make_stage()
