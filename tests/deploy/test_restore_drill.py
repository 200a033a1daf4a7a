"""A nightly backup comes back on an empty server: encrypted, whole, migrated, with its reports and the same board."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path

import psycopg
import pyrage
import pytest
from django.db import connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deploy import backup, sealing
from deploy.backup import Place
from deploy.console import SetupError
from deploy.embedded import Postgres
from leaderboard.judging import archive, content_store
from leaderboard.judging.models import ResultArchived
from tests.leaderboard.stage import Stage, make_stage

PAGE = """
from django.test import Client
answers = [Client().get(address) for address in ("/boards/softmax/cpu", "/api/v1/boards/softmax/cpu/entries")]
for answer in answers:
    print(answer.status_code, answer.content.decode())
"""
REPORTS = """
from leaderboard.judging import archive
from leaderboard.judging.models import Result
for result in Result.objects.order_by("pk"):
    report, problem = archive.look(result)
    print(result.pk, result.archived.digest, problem, sorted(report["logs"].items()))
"""


@pytest.fixture
def site(transactional_db: None, tmp_path: Path, settings: object, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A site with real content in the test's database and a store of its own, as `deploy.backup` finds it."""
    (tmp_path / "reports").mkdir()
    (tmp_path / "backups").mkdir()
    settings.REPORT_STORE = f"file://{tmp_path}/reports"  # type: ignore[attr-defined]
    stage = make_stage()
    fill(stage)
    url = make_conninfo(os.environ["DATABASE_URL"], dbname=str(connection.settings_dict["NAME"]))
    site_role = str(conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])["user"])
    key = pyrage.x25519.Identity.generate()
    (tmp_path / "key.txt").write_text(f"# created: today\n# public key: {key.to_public()}\n{key}\n")
    environment = {
        **os.environ,
        "REPORT_STORE": f"file://{tmp_path}/reports",
        "BACKUP_FOLDER": str(tmp_path / "backups"),
        "BACKUP_RECIPIENT": str(key.to_public()),
    }
    place = Place(url, site_role, environment)
    monkeypatch.setattr(backup, "_place", lambda: place)
    return place


def fill(stage: Stage) -> None:
    for number, owner in enumerate((stage.ada, stage.ben, stage.cleo)):
        ratio = 0.9 - number / 20
        stage.judge(stage.submit(owner), ratio=ratio, score_us=1000 * ratio, logs={"stdout": f"run {number}"})
    stage.judge(stage.submit(mode="test"), logs={"stdout": "a test"})


@pytest.fixture
def empty_server() -> Iterator[Postgres]:
    state = Path(tempfile.mkdtemp(prefix="pf-drill-"))
    state.chmod(0o711)  # the server has a user of its own when we are root
    server = Postgres(state, durable=False)
    yield server
    server.stop()
    shutil.rmtree(state)


def elsewhere(site: Place, server: Postgres, tmp_path: Path) -> Place:
    """The same site on an empty server with an empty store, with the private key at hand."""
    (tmp_path / "new-reports").mkdir()
    environment = site.environment | {
        "REPORT_STORE": f"file://{tmp_path}/new-reports",
        "BACKUP_IDENTITY": str(tmp_path / "key.txt"),
    }
    return Place(server.url, site.site_role, environment)


@contextmanager
def timed(act: str) -> Iterator[None]:
    """Print how long an act of the drill took, for docs/reliability.md (`pytest -s`)."""
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:5.1f} s  {act}")


def backups(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "backups").glob("photofinish-*.zip.age"))


def shown(place: Place, program: str) -> str:
    return place.manage(place.url, "shell", "--no-imports", "-c", program)


def test_a_nightly_backup_comes_back_on_an_empty_server(
    site: Place, empty_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.manage(site.url, "note_backup")  # the row is there before the backup counts its table
    with timed("nightly-backup"):
        backup.nightly()
    (file,) = backups(tmp_path)
    other = elsewhere(site, empty_server, tmp_path)
    monkeypatch.setattr(backup, "_place", lambda: other)
    with timed("try-restore"), redirect_stdout(io.StringIO()) as seen:
        backup.try_restore(file)
    assert "4 are whole" in seen.getvalue()
    assert list((tmp_path / "new-reports").iterdir()) == []
    with timed("restore on an empty server"):
        backup.restore(file)

    other.manage(other.url, "migrate", "--check")
    with psycopg.connect(site.url) as before, psycopg.connect(other.url) as after:
        found, expected = backup._manifest(after)["rows"], backup._manifest(before)["rows"]
    assert found == expected
    assert found["judging_result"] == found["judging_resultarchived"] == 4
    assert shown(other, REPORTS) == shown(site, REPORTS)
    assert "('stdout', 'run 2')" in shown(other, REPORTS)
    board = shown(other, PAGE)
    assert board == shown(site, PAGE)
    assert board.count("200 ") == 2
    assert "cleo" in board
    print(f"{len(found)} tables, {sum(found.values())} rows, 4 reports, the board's page and its API: the same on both")


def test_a_backup_shows_nothing_without_the_private_key(site: Place, tmp_path: Path) -> None:
    backup.nightly()
    (file,) = backups(tmp_path)
    sealed = [file, *(tmp_path / "backups").rglob("*.json.gz.age")]
    assert len(sealed) == 1 + 4
    assert {path.read_bytes()[:21] for path in sealed} == {b"age-encryption.org/v1"}
    assert {path.stat().st_mode & 0o077 for path in sealed} == {0}
    for identity, reason in (("", "set BACKUP_IDENTITY"), (str(tmp_path / "other.txt"), "not for this private key")):
        (tmp_path / "other.txt").write_text(f"{pyrage.x25519.Identity.generate()}\n")
        stranger = replace(site, environment=site.environment | {"BACKUP_IDENTITY": identity})
        with pytest.raises(SetupError, match=reason):
            backup.load(stranger, file)


def test_a_restore_that_is_killed_leaves_nothing_decrypted_beside_its_backup(site: Place, tmp_path: Path) -> None:
    """A decrypted dump without a name goes with its process, and no copy job finds it meanwhile."""
    backup.nightly()
    (file,) = backups(tmp_path)
    before = set((tmp_path / "backups").rglob("*"))
    environment = site.environment | {"BACKUP_IDENTITY": str(tmp_path / "key.txt")}
    with backup.opened(file, environment) as archive:
        assert archive.namelist() == [backup.DUMP, backup.MANIFEST]
        assert set((tmp_path / "backups").rglob("*")) == before


def nightly_later() -> None:
    """Back up in another second than before: it is part of the name."""
    time.sleep(1 - time.time() % 1)
    backup.nightly()


def test_a_second_backup_copies_only_new_reports_and_keeps_those_of_kept_backups(
    site: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup.nightly()
    assert "4 new of 4" in capsys.readouterr().out
    first = ResultArchived.objects.order_by("pk")[0]
    content_store.delete(first.digest)  # expired
    copy = tmp_path / "backups" / "reports" / f"{content_store.name_of(first.digest)}.age"
    archive.keep({"one": "more"})
    nightly_later()
    assert "1 new of 4" in capsys.readouterr().out
    assert copy.exists()
    old = copy.stat().st_mtime - 31 * sealing.DAY_S
    for path in (copy, backups(tmp_path)[0]):
        os.utime(path, (old, old))
    kept = backups(tmp_path)[1:]
    nightly_later()
    assert not copy.exists()
    assert [path for path in kept if path not in backups(tmp_path)] == []
    assert len(backups(tmp_path)) == len(kept) + 1


def test_an_empty_store_never_empties_its_backup(site: Place, tmp_path: Path) -> None:
    copies = tmp_path / "backups" / "reports" / "ab"
    copies.mkdir(parents=True)
    for number in range(120):
        (copies / f"{number:064x}.json.gz.age").touch()
        os.utime(copies / f"{number:064x}.json.gz.age", (1, 1))
    store = tmp_path / "reports"
    store.rename(tmp_path / "away")
    store.mkdir()
    with pytest.raises(SetupError, match=r"has 0 of 4 reports: no copy was deleted; is the store whole"):
        backup.nightly()
    assert len(list(copies.iterdir())) >= 120
    store.rmdir()
    (tmp_path / "away").rename(store)
    backup.nightly()
    assert len(list(copies.iterdir())) < 120, "the store is whole: these reports have expired"


def test_a_damaged_copy_is_named_and_not_restored(site: Place, tmp_path: Path) -> None:
    backup.nightly()
    copies = sorted((tmp_path / "backups" / "reports").rglob("*.age"))
    sealed = bytearray(copies[0].read_bytes())
    sealed[-1] ^= 1
    copies[0].write_bytes(sealed)
    recipient = sealing.recipient_of(site.environment["BACKUP_RECIPIENT"])
    copies[1].write_bytes(pyrage.encrypt(b"forged", [recipient]))
    packed = bytearray(gzip.compress(b"a report whose copy in the store was damaged"))
    packed[12] ^= 0xFF
    copies[2].write_bytes(pyrage.encrypt(bytes(packed), [recipient]))
    (tmp_path / "fresh").mkdir()
    identity = sealing.identity_of(str(tmp_path / "key.txt"))
    places = tmp_path / "backups" / "reports", tmp_path / "fresh"
    for is_drill in (True, False):
        found = sealing.restore_reports(*places, identity, is_drill=is_drill)
        assert found == (1, [copy.name for copy in copies[:3]])
        assert len(list(places[1].rglob("*.json.gz"))) == (0 if is_drill else 1)
    drilled = replace(site, environment={**site.environment, "BACKUP_IDENTITY": str(tmp_path / "key.txt")})
    (file,) = backups(tmp_path)
    with pytest.raises(SetupError, match="3 copies of reports are damaged"):
        backup._restore_reports(drilled, file, is_drill=True)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("BACKUP_RECIPIENT", "", "BACKUP_RECIPIENT='' is no public key of age"),
        ("BACKUP_RECIPIENT", "ssh-rsa x", "age-keygen"),
        ("BACKUP_FOLDER", "backups", "BACKUP_FOLDER='backups' is no folder"),
        ("BACKUP_DAYS", "soon", "BACKUP_DAYS='soon' is not a number of days"),
        ("REPORT_STORE", "file:///nowhere", "REPORT_STORE: /nowhere is not there"),
    ],
)
def test_a_setting_of_the_backup_that_does_not_fit_is_named(
    site: Place, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    wrong = replace(site, environment=site.environment | {name: value})
    monkeypatch.setattr(backup, "_place", lambda: wrong)
    with pytest.raises(SetupError, match=says):
        backup.nightly()


def test_production_takes_the_place_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWNER_URL", "postgresql://photofinish_owner:x@database/photofinish")
    monkeypatch.setenv("DATABASE_URL", "postgresql://photofinish:x@database/photofinish")
    place = backup._place()
    assert (place.name, place.site_role) == ("photofinish", "photofinish")
    monkeypatch.delenv("DATABASE_URL")
    done = subprocess.run(
        [sys.executable, "-m", "deploy.backup", "nightly-backup"],
        env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr[:35]) == (1, "error: DATABASE_URL is needed beside O"[:35])
