"""A site publishes a data set a day; everybody downloads the newest with its digests."""

import hashlib
import json
from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from leaderboard.operations.models import Notice
from leaderboard.web.dataset import releases
from tests.web.dataset.test_export_dataset import raced, send

__all__ = ["raced"]


@pytest.fixture
def published(raced, tmp_path, settings):
    """Return the stage with a kernel, and a folder for data sets."""
    settings.DATASET_FOLDER = str(tmp_path / "sets")
    send(raced, raced.ada, "tanh", ratio=0.5)
    return raced


def read(client, address: str) -> bytes:
    async def joined(pieces) -> bytes:
        return b"".join([piece async for piece in pieces])

    return async_to_sync(joined)(client.get(address).streaming_content)


def names(settings) -> list[str]:
    return sorted(path.name for path in Path(settings.DATASET_FOLDER).iterdir() if not path.name.startswith("."))


def test_publish_due_makes_one_release_a_day_and_keeps_the_last(published, settings) -> None:
    settings.DATASETS_KEPT = 2
    now = timezone.now()
    days = [now + timedelta(days=day) for day in range(3)]
    assert [releases.publish_due(now=day) for day in (days[0], days[0], *days[1:])] == [
        f"{days[0]:%Y-%m-%d}",
        "",
        *(f"{day:%Y-%m-%d}" for day in days[1:]),
    ]
    assert names(settings) == [f"{day:%Y-%m-%d}" for day in days[1:]]
    found = releases.newest()
    assert (found.name, found.rows["kernels"]["train"]) == (f"{days[2]:%Y-%m-%d}", 1)


def test_publish_due_does_nothing_without_a_folder(raced, settings) -> None:
    settings.DATASET_FOLDER = ""
    assert releases.publish_due(now=timezone.now()) == ""
    assert releases.newest() is None


def test_publish_due_leaves_the_work_to_the_sweeper_with_the_lock(published, settings) -> None:
    top = Path(settings.DATASET_FOLDER)
    top.mkdir()
    with releases._locked(top) as is_ours:
        assert is_ours
        assert releases.publish_due(now=timezone.now()) == ""
    assert releases.publish_due(now=timezone.now())


def test_a_release_that_was_cut_off_is_never_seen_and_made_anew(published, settings, monkeypatch) -> None:
    def cut_off(folder: Path, *, now: object) -> None:
        (folder / "README.md").write_text("cut off")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(releases, "write", cut_off)
        with pytest.raises(KeyboardInterrupt):
            releases.publish_due(now=timezone.now())
    assert releases.newest() is None
    name = releases.publish_due(now=timezone.now())
    assert names(settings) == [name]
    assert "cut off" not in releases.newest().card


def test_operators_learn_of_a_folder_that_cannot_be_written(published, settings, tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    settings.DATASET_FOLDER = str(tmp_path / "file" / "sets")
    assert releases.publish_due(now=timezone.now()) == ""
    assert "cannot be written" in Notice.objects.get().text


def test_everybody_downloads_the_newest_with_digests(published, client) -> None:
    assert client.get("/api/v1/datasets").status_code == 404
    name = releases.publish_due(now=timezone.now())
    found = client.get("/api/v1/datasets").json()
    assert (found["name"], found["rows"]["kernels"]) == (name, {"train": 1, "validation": 0, "test": 0})
    assert {file["path"] for file in found["files"]} == {
        "README.md",
        "kernels/train.parquet",
        "jsonl/kernels/train.jsonl",
    }
    for file in found["files"]:
        address = f"/api/v1/datasets/{name}/{file['path']}"
        answer = client.get(address)
        content = read(client, address)
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (file["sha256"], file["bytes"])
        assert answer["ETag"] == f'"{file["sha256"]}"'
        assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    [line] = read(client, f"/api/v1/datasets/{name}/jsonl/kernels/train.jsonl").splitlines()
    assert json.loads(line)["author"] == "ada"


@pytest.mark.parametrize("path", ["{name}/manifest.json", "{name}/../x", "2020-01-01/README.md", "{name}/kernels"])
def test_no_other_file_is_served(published, client, path) -> None:
    name = releases.publish_due(now=timezone.now())
    assert client.get(f"/api/v1/datasets/{path.format(name=name)}").status_code == 404


def test_the_page_shows_the_newest_data_set(published, client) -> None:
    assert "No data set yet" in client.get("/datasets").content.decode()
    name = releases.publish_due(now=timezone.now())
    page = client.get("/datasets").content.decode()
    assert f'href="/api/v1/datasets/{name}/kernels/train.parquet"' in page
    assert "A judge outside the sandbox checked" in page
    assert "size_categories" not in page, "the head of the card is for the hub"
    assert '<a href="/datasets">Data sets</a>' in page
