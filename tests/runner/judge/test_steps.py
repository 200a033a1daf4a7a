"""An experiment can leave out a step of a call by name; all remaining steps stay."""

import pytest

from runner.judge.data.call import ALL, Steps


def test_all_steps_are_taken_unless_named() -> None:
    assert Steps.without("") == ALL
    assert Steps.without("probe, withhold").left_out == ["probe", "withhold"]


def test_an_unknown_step_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"probing is no step of a call; they are freeze, probe"):
        Steps.without("probing")
