"""/api/v1 answers as its schema says: schemathesis calls every operation of a live site, as each kind of caller.

API_EXAMPLES=100 makes a longer run, with the edges of every field, and `-s` shows its figures.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.live_site import live_site
from tests.web.matrix_stage import build

EXAMPLES = os.environ.get("API_EXAMPLES", "1")
PHASES = "coverage,fuzzing" if "API_EXAMPLES" in os.environ else "fuzzing"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
CALLERS = ("anonymous", "competitor", "owner", "administrator")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if "API_EXAMPLES" in os.environ else 240)]


@pytest.mark.parametrize("caller", CALLERS)
def test_api_keeps_its_schema(transactional_db, stage, monkeypatch, tmp_path, caller) -> None:
    from django.utils import timezone

    from leaderboard.accounts.models import SCOPES
    from leaderboard.accounts.tokens import issue_token

    made = build(stage)
    keys = made.keys
    names = {
        "submissions": [keys[name] for name in ("own", "published", "held", "rejected", "retracted", "frozen")],
        "batches": [keys["batch"]],
        "matches": [keys["match"]],
        "classes": [keys["slug"]],
        "entries": [keys["published"], keys["frozen"]],
        "review": [keys["case"], keys["secret_case"]],
        "admission": [keys["test"]],
        "invites": [keys["invite"]],
        "organise": [keys["slug"]],
        "rejudge": [keys["rejudge"]],
        "sets": [keys["upload"]],
        "enrolments": [keys["enrolment"]],
        "desk": [keys[name] for name in ("ada", "entrant", "exception", "own", "ban", "act")],
        "track": ["best"],
        "runner": ["rex"],
        "name": ["entrants", "code", "standings", "softmax"],
        "competitions": [keys["slug"], "winter", keys["secret"]],
        "boards": ["softmax", "winter-softmax", keys["secret"]],
        "board": ["softmax", "winter-softmax"],
        "competition": [keys["slug"]],
        "hardware": ["cpu"],
        "mode": ["test", "ranked"],
        "submission": [keys["published"], keys["held"]],
        "invite": [keys["invite"]],
        "username": ["ada", "ben", "cleo"],
        "declared": [["best"]],
        "seen": [None],
        "ids": [[keys["own"], keys["published"]], [keys["held"], keys["rejected"]]],
    }
    monkeypatch.setenv("PHOTOFINISH_TEST_NAMES", json.dumps(names))
    monkeypatch.setenv("SCHEMATHESIS_HOOKS", "tests.web.api.known_names")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("SUBMISSIONS_PER_HOUR", "100000")
    monkeypatch.setenv("UNFINISHED_AT_ONCE", "10000")
    with live_site("tests.web.api.unlimited_site:application") as site:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{site.address}/api/schema"]
        command += ["--phases", PHASES, "--max-examples", EXAMPLES, "--seed", "23", "--checks", ",".join(CHECKS)]
        command += ["--exclude-path", "/api/v1/admin/stop"]  # all later calls would answer 503
        user = made.people[caller]
        if user is not None:
            _, token = issue_token(owner=user, name="schemathesis", scopes=SCOPES, now=timezone.now())
            command += ["--header", f"Authorization: Bearer {token}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
