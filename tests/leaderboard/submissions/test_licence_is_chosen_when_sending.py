"""A submission's licence: the sender's choice, then the file's, then the competition's, from a short list."""

import pytest

from leaderboard import pipeline
from leaderboard.competitions.checks import ALL_RIGHTS_RESERVED, LICENCES, licence_in_words
from leaderboard.competitions.edit import edit_competition
from leaderboard.errors import UserError
from leaderboard.submissions.intake import Upload
from tests.leaderboard.stage import SOURCE, Stage


def send(stage: Stage, licence: str = "", top: str = "") -> str:
    return pipeline.submit(
        Upload(
            board="softmax",
            hardware="cpu",
            mode="test",
            filename="kernel.py",
            data=top.encode() + SOURCE,
            licence=licence,
        ),
        owner=stage.ada,
        now=stage.later(1),
    ).licence


@pytest.mark.parametrize(
    ("given", "top", "kept"),
    [
        ("", "", "MIT"),
        ("", "#!PHOTOFINISH licence CC0-1.0\n", "CC0-1.0"),
        ("", "#!popcorn license apache-2.0\n", "Apache-2.0"),
        ("GPL-3.0-or-later", "#!PHOTOFINISH licence CC0-1.0\n", "GPL-3.0-or-later"),
        (ALL_RIGHTS_RESERVED, "", ALL_RIGHTS_RESERVED),
    ],
)
def test_who_says_it(stage: Stage, given: str, top: str, kept: str) -> None:
    assert send(stage, given, top) == kept


def test_a_competition_has_its_own_usual_one(stage: Stage) -> None:
    edit_competition(
        competition=stage.board.competition,
        actor=stage.olga,
        settings={"default_licence": "Apache-2.0"},
        now=stage.now,
    )
    assert send(stage) == "Apache-2.0"


@pytest.mark.parametrize(("given", "top"), [("WTFPL", ""), ("", "#!PHOTOFINISH licence WTFPL\n"), ("x" * 5000, "")])
def test_what_is_not_on_the_list_is_refused_with_the_list(stage: Stage, given: str, top: str) -> None:
    with pytest.raises(UserError, match="BSD-3-Clause") as refused:
        send(stage, given, top)
    assert refused.value.field == ("licence" if given else "code")
    assert len(refused.value.message) < 300


def test_each_has_words_and_so_has_none() -> None:
    assert all(licence_in_words(licence) for licence in LICENCES)
    assert "all rights reserved" in licence_in_words("")
