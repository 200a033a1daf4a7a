"""An owner of the stage's competition and the administrator, with tokens of organisers."""

from __future__ import annotations

import pytest


@pytest.fixture
def owner(stage, tool):
    """Return ben's client, who is an owner of the competition."""
    from leaderboard.competitions.models import Role

    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    return tool(stage.ben, "review")


@pytest.fixture
def olga(stage, tool):
    """Return the administrator's client."""
    return tool(stage.olga, "review")
