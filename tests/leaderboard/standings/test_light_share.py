"""The share of the speed of light is read from reports of any shape."""

import pytest

from leaderboard.standings.publish import light_share


@pytest.mark.parametrize("name", [[], {}, None, 3])
def test_a_name_that_is_no_text_has_no_share(name: object) -> None:
    limits = {"cases": [{"case": name, "hard": {"ns": 500.0}}]}
    timed = [{"stage": "time", "name": "n=8", "measured_us": 1.0}]
    assert light_share({"cases": timed, "evidence": {"limits": limits}}) is None
    assert light_share({"cases": [{**timed[0], "name": name}], "evidence": {}}) is None


def test_the_share_is_bound_over_time() -> None:
    limits = {"cases": [{"case": "n=8", "hard": {"ns": 500.0}}]}
    timed = [{"stage": "time", "name": "n=8", "measured_us": 1.0}]
    assert light_share({"cases": timed, "evidence": {"limits": limits}}) == pytest.approx(0.5)
