"""The ratchet of `make check`: figures of the code base may only improve."""

from tests.tools import ratchet

MODULE = '''"""What a module says to whoever reads it."""


def _helper():
    """Return one."""
    return 1  # nobody cares


def used():

    return _helper()
'''


def test_code_lines_have_no_blank_lines_comments_or_docstrings() -> None:
    assert ratchet.code_lines(MODULE) == 4


def test_private_functions_called_once_are_counted() -> None:
    assert ratchet.called_once(MODULE) == (1, 2)
    assert ratchet.called_once(MODULE + "\n\nprint(_helper())\n") == (0, 2)


def test_prose_counts_indefinite_words_of_docstrings_and_comments() -> None:
    figures = ratchet.plainness({"a/b/c.py": MODULE, "a/b/d.md": "word " * 190})
    assert figures == {"a/b: indefinite words per 100": 1.98, "a/b: tell or say per 1,000": 4.95}


def test_ratchet_names_a_figure_above_its_limit_and_a_new_folder_above_the_goal() -> None:
    figures = {"code lines": 10, "new: indefinite words per 100": 2.5, "old: indefinite words per 100": 2.5}
    limits = {"code lines": 9, "old: indefinite words per 100": 3.0}
    assert list(ratchet.exceeded(figures, limits)) == [
        "code lines: 10, at most 9 (tests/tools/ratchet.json)",
        "new: indefinite words per 100: 2.5, at most 2 (tests/tools/ratchet.json)",
    ]
