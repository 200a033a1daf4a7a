"""Team names: invisible characters are refused, and lookalike names count as the same name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.entrants.names import MAX_NAME_CHARS, clean_name, clean_text, look
from leaderboard.errors import UserError


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fast Kernels", "fast kernels"),
        ("Fast Kernels", "ＦＡＳＴ\N{NO-BREAK SPACE}Kernels"),
        ("ada", "аdа"),
        ("HELLO", "ΗΕLLΟ"),
        ("Team Al", "Team AI"),
        ("cleo", "c1e0"),
        ("strasse", "straße"),
        ("ﬁnish", "finish"),
        ("ada", "ada."),
        ("ada", "a_d-a"),
        ("Team — A", "team a"),
    ],
)
def test_lookalikes_are_one_name(one: str, other: str) -> None:
    assert look(one) == look(other)


def test_other_names_are_others() -> None:
    assert len({look(name) for name in ("ada", "ade", "ada b", "ädä", "база", "δelta")}) == 6


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "---",
        "a" * (MAX_NAME_CHARS + 1),
        "a\N{RIGHT-TO-LEFT OVERRIDE}b",
        "a\N{ZERO WIDTH SPACE}b",
        "a\N{HANGUL FILLER}b",
        "a\x00b",
        "a\ud800",
        "z\u0301\u0302\u0303\u0304algo",
    ],
)
def test_a_name_that_nobody_can_read_is_refused(name: str) -> None:
    with pytest.raises(UserError) as caught:
        clean_name("name", name)
    assert caught.value.field == "name"


@given(st.text(max_size=80))
@settings(max_examples=50)
def test_a_kept_name_is_one_line_and_stays_as_it_is(text: str) -> None:
    try:
        name = clean_name("name", text)
    except UserError:
        return
    assert clean_name("name", name) == name
    assert look(name) == look(text)
    assert "\n" not in name
    assert name == name.strip()


def test_an_affiliation_may_be_empty() -> None:
    assert clean_text("affiliation", " ", most=10) == ""
