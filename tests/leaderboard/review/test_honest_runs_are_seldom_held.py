"""At most 1 % of honest runs are held: real runs of the library's samples, and simulated runs."""

from tests.leaderboard.honest_runs import shares


def test_at_most_one_honest_run_in_a_hundred_is_held() -> None:
    passed, held = shares(200)
    print(f"{passed} honest runs, held by rule: {dict(held) or 'none'}")
    assert passed >= 190
    assert held["any"] <= passed / 100, held
