"""A curve of fast_p keeps its share until the next win ends, and stays inside its plot."""

from leaderboard.standings.ranking.overall import Solved, Step, standings
from leaderboard.web.boards.curves import BOTTOM, LEFT, MOST_CURVES, RIGHT, TOP, plot, staircase


def test_a_step_goes_across_and_then_down() -> None:
    middle = (LEFT + RIGHT) / 2
    assert staircase([Step(0.0, 1.0), Step(2.0, 0.0)]) == (
        f"M{LEFT:.1f} {TOP:.1f}H{middle:.1f}V{BOTTOM:.1f}H{RIGHT:.1f}"
    )


def test_no_win_is_a_line_at_the_bottom() -> None:
    assert staircase([Step(0.0, 0.0)]) == f"M{LEFT:.1f} {BOTTOM:.1f}H{RIGHT:.1f}"


def test_only_as_many_are_drawn_as_can_be_told_apart() -> None:
    entrants = {f"entrant-{n}": {"a": Solved(0.5 + n / 100, 0.01)} for n in range(MOST_CURVES + 3)}
    drawn = plot(standings(entrants, {"a": 1}))
    assert len(drawn.curves) == MOST_CURVES
    assert drawn.curves[0].said.startswith("entrant-0: 100% correct")
