"""`photofinish enter`: rules are shown and accepted, a code opens a closed competition."""

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")


@pytest.fixture
def cup(site: FakeSite) -> dict[str, object]:
    cup = {
        "slug": "cup",
        "name": "Kernel Cup",
        "phase": "contest",
        "until": "2026-12-01T12:00:00Z",
        "entrants": 3,
        "rules": "Be fair.",
        "rules_digest": "sha256:abc",
        "you": {"entrant": None, "accepted": False},
    }
    site.competitions = [cup]
    return cup


def test_competitions_are_listed(cup: object, photofinish: Photofinish) -> None:
    rows = [row.split("\t") for row in photofinish("competitions").out.splitlines()]
    assert rows == [
        ["competition", "name", "phase", "until", "entrants"],
        ["cup", "Kernel Cup", "contest", "2026-12-01 12:00 UTC", "3"],
    ]


def test_rules_are_not_accepted_by_accident(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup")
    assert ended.code == 2
    assert f"{site.url}/competitions/cup" in ended.err
    assert "--accept-rules" in ended.err
    assert site.sent == []


def test_rules_are_accepted_by_their_digest(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup", "--accept-rules")
    assert (ended.code, ended.out) == (0, "Kernel Cup: you are in it as ada\n")
    assert site.sent == [{"code": "", "rules_digest": "sha256:abc"}]


def test_who_is_in_it_sends_nothing(site: FakeSite, cup: dict[str, object], photofinish: Photofinish) -> None:
    cup["you"] = {"entrant": "ada", "accepted": True}
    assert photofinish("enter", "cup").code == 0
    assert site.sent == []


def test_a_code_goes_first_and_the_rules_are_left(site: FakeSite, cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "cup", "--code", "pfi_1", "--accept-rules")
    assert ended.code == 0
    assert site.sent == [{"code": "pfi_1", "rules_digest": ""}, {"code": "", "rules_digest": "sha256:abc"}]


def test_a_division_is_said_with_its_model(site: FakeSite, cup: dict[str, object], photofinish: Photofinish) -> None:
    said = ("--division", "agent", "--model", "GPT-9")
    sent = {"code": "", "rules_digest": "sha256:abc", "division": "agent", "model_name": "GPT-9"}
    assert photofinish("enter", "cup", "--accept-rules", *said).code == 0
    cup["you"] = {"entrant": "ada", "accepted": True}
    assert photofinish("enter", "cup", *said).code == 0, "the site says whether it can be changed"
    assert site.sent == [sent, sent]


def test_one_competition_is_shown_with_where_one_stands(cup: dict[str, object], photofinish: Photofinish) -> None:
    left = {"board": "softmax", "hardware": "cpu", "left": 3, "capacity": 12, "per_day": 12}
    cup |= {
        "phases": [{"title": "Practice"}, {"title": "Contest", "state": "now", "since": "2026-11-01T00:00:00Z"}],
        "problems": [{"board": "softmax", "title": "Softmax", "hardware": ["cpu", "h200"]}],
        "tracks": [
            {"name": "Best", "won_by": "the board softmax", "prizes": [{"currency": "EUR", "amount": "1000.00"}]},
            {"name": "Honour", "won_by": "the board softmax", "prizes": []},
        ],
        "announcements": [{"title": "It \x1b[31mbegins", "text": "Good luck.", "created_at": "2026-11-01T00:00:00Z"}],
        "max_team_size": 3,
        "you": {
            "entrant": "Fast",
            "division": "human",
            "accepted": False,
            "quota": [
                {**left, "mode": "ranked", "next_at": "2026-11-20T14:00:00Z"},
                {**left, "mode": "test", "next_at": None},
            ],
        },
    }
    shown = photofinish("competitions", "cup").out
    for said in (
        "Kernel Cup: contest, until 2026-12-01 12:00 UTC",
        "3 entrants, teams of up to 3",
        "you are in it as Fast, division human; accept its rules: `photofinish enter cup`",
        "→\tContest\t2026-11-01 00:00 UTC",
        "softmax\tSoftmax\tcpu h200",
        "Best\tthe board softmax\tEUR 1000.00",
        "Honour\tthe board softmax\tthe title",
        "softmax\tcpu\tranked\t3\t12\t12\t2026-11-20 14:00 UTC",
        "2026-11-01 00:00 UTC: It [31mbegins\nGood luck.",
    ):
        assert said in shown
    assert "\ttest\t" not in shown, "nothing of that is spent"


def test_a_competition_of_which_little_is_told_is_shown(cup: dict[str, object], photofinish: Photofinish) -> None:
    for odd in ({}, {"you": None, "phases": "soon", "tracks": [7], "announcements": [{}], "divisions": 3}):
        cup |= odd
        assert photofinish("competitions", "cup").code == 0


def test_what_does_not_exist_is_said(cup: object, photofinish: Photofinish) -> None:
    ended = photofinish("enter", "no-cup")
    assert (ended.code, "you see none called 'no-cup'" in ended.err) == (2, True)


def test_models_are_listed_with_intervals(site: FakeSite, photofinish: Photofinish) -> None:
    half = {"value": 0.5, "low": 0.25, "high": 0.75}
    lines: list[dict[str, object]] = [
        {
            "model": "m",
            "problems": 4,
            "kernels": 3,
            "attempts": 9,
            "pass_at_1": half,
            "eager": [half] * 3,
            "best": [{}],
        },
        {"model": "n", "problems": 4},
    ]
    site.more["/competitions/cup/models"] = lines
    rows = [row.split("\t") for row in photofinish("models", "cup", "--hardware", "cpu").out.splitlines()]
    assert rows[0] == ["model", "solved", "pass@1", "fast_1", "fast_2", "attempts", "kernels"]
    assert rows[1][:2] == ["m", "1 of 4"]
    assert "to" in rows[1][3]
    assert rows[2][1:4] == ["0 of 4", "–", "–"]
