"""Names of erased accounts are reserved, so that no other account has the name that an erasure needs."""

import pytest

from leaderboard.entrants.names import is_reserved


@pytest.mark.parametrize("name", ["deleted-12", "deleted-12-2", "Deleted 7", "deleted-10o1", "deIeted-5", "deleted"])
def test_names_of_erased_people_are_reserved(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["deleted scenes", "undeleted-3", "ada-12"])
def test_names_like_them_are_free(name: str) -> None:
    assert not is_reserved(name)
