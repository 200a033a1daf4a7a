"""Make golden files: `python -m tests.golden.make` writes the answers of stored reports, `--reports` simulates reports.

`--add NAME FILE` stores a recorded report. Without `--renew`, a file with different content is not overwritten.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import django

from tests.golden import store
from tests.tools.test_run import SETTINGS_FOR_MYPY


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.make", description=__doc__)
    parser.add_argument("names", nargs="*", help="goldens to make; all of them where none is named")
    parser.add_argument("--reports", action="store_true", help="simulate the reports as well")
    parser.add_argument("--add", nargs=2, metavar=("NAME", "FILE"), help="store a recorded report")
    parser.add_argument("--renew", action="store_true", help="overwrite what is stored and differs")
    given = parser.parse_args(arguments)
    from tests.golden import answers  # with Django's settings

    new: dict[Path, bytes] = {}
    if given.add:
        name, file = given.add
        recorded = json.loads(Path(file).read_text("utf-8"))
        new[store.report_path(name)] = store.packed({"report": recorded, "boards": [{}], "page": True})
        given.names = [name]
    if given.reports:
        from tests.golden import build

        for name, golden in build.all_of_them():
            if not given.names or name in given.names:
                new[store.report_path(name)] = store.packed(golden)
    refused = write(new, renew=given.renew)
    found = {}
    for name in given.names or store.names():
        found[store.answer_path(name)] = store.text_of(answers.answer(store.read(name))).encode()
    refused += write(found, renew=given.renew)
    for path in refused:
        print(f"{path.relative_to(store.HERE)} exists and would change; --renew overwrites it", file=sys.stderr)
    return 1 if refused else 0


def write(files: dict[Path, bytes], *, renew: bool) -> list[Path]:
    """Write the files. Without `renew`, leave files that exist and would change, and return their paths."""
    refused = []
    for path, content in files.items():
        path.parent.mkdir(exist_ok=True)
        if path.exists() and path.read_bytes() != content and not renew:
            refused.append(path)
        else:
            path.write_bytes(content)
    return refused


if __name__ == "__main__":
    os.environ.update(SETTINGS_FOR_MYPY, DJANGO_SETTINGS_MODULE="leaderboard.settings")  # answers need no database
    django.setup()
    sys.exit(main())
