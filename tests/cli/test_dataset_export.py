"""`photofinish dataset export` downloads the newest data set, and keeps no file with a wrong digest."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

FILES = {"README.md": b"---\nlicense: [mit]\n---\n", "kernels/train.parquet": b"PAR1" * 3_000_000}


@pytest.fixture
def offered(site: FakeSite, signed_in: None) -> FakeSite:
    """Return a site with a data set."""
    files = [{"path": path, "bytes": len(data), "sha256": sha256(data).hexdigest()} for path, data in FILES.items()]
    rows = {"kernels": {"train": 1}}
    made = {"name": "2026-11-26", "made_at": "2026-11-26T00:00:05Z", "rows": rows, "files": files, "bytes": 1}
    site.more["/datasets"] = made | {"left_out": {}, "card": ""}
    site.more |= {f"/datasets/2026-11-26/{path}": data for path, data in FILES.items()}
    return site


def written(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_dataset_export_writes_every_file(offered: FakeSite, photofinish: Photofinish, tmp_path: Path) -> None:
    ended = photofinish("dataset", "export", str(tmp_path / "data"))
    assert ended.code == 0
    assert written(tmp_path / "data") == FILES
    assert "Data set of 2026-11-26" in ended.err
    told = json.loads(photofinish("dataset", "export", str(tmp_path / "data"), "--json").out)
    assert told["rows"] == {"kernels": {"train": 1}}


def test_dataset_export_goes_on_after_an_interruption(
    offered: FakeSite, photofinish: Photofinish, tmp_path: Path
) -> None:
    data = offered.more.pop("/datasets/2026-11-26/kernels/train.parquet")
    ended = photofinish("dataset", "export", str(tmp_path / "data"))
    assert (ended.code, "newer data set" in ended.err) == (2, True)
    offered.more |= {"/datasets/2026-11-26/kernels/train.parquet": data}
    del offered.more["/datasets/2026-11-26/README.md"]  # it is not asked for again
    assert photofinish("dataset", "export", str(tmp_path / "data")).code == 0
    assert written(tmp_path / "data") == FILES


def test_dataset_export_refuses_a_wrong_digest(offered: FakeSite, photofinish: Photofinish, tmp_path: Path) -> None:
    offered.more["/datasets/2026-11-26/README.md"] = b"other"
    ended = photofinish("dataset", "export", str(tmp_path / "data"))
    assert (ended.code, "README.md: its SHA-256" in ended.err) == (3, True)
    assert written(tmp_path / "data") == {}


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a//b", ".hidden", "a/../b", "a" * 200])
def test_dataset_export_writes_no_path_outside_its_folder(
    offered: FakeSite, photofinish: Photofinish, tmp_path: Path, path: str
) -> None:
    offered.more["/datasets"]["files"][1]["path"] = path  # type: ignore[index]
    ended = photofinish("dataset", "export", str(tmp_path / "data"))
    assert (ended.code, "odd name" in ended.err) == (3, True)
    assert not (tmp_path / "data").exists()


def test_dataset_export_refuses_a_folder_with_other_files(
    offered: FakeSite, photofinish: Photofinish, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("mine")
    ended = photofinish("dataset", "export", str(tmp_path))
    assert (ended.code, "name a new folder" in ended.err) == (2, True)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_dataset_export_explains_a_site_without_data_sets(
    signed_in: None, photofinish: Photofinish, tmp_path: Path
) -> None:
    ended = photofinish("dataset", "export", str(tmp_path / "data"))
    assert "publishes no data set" in ended.err
    assert ended.code != 0
