"""A foreign zip file: plain files below the folder, or one sentence that names the entry."""

import io
import stat
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems.fields import ProblemError
from problems.formats import files
from problems.formats.files import unpack


def packed(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as made:
        warnings.simplefilter("ignore")  # zipfile's own warning about a doubled name
        for name, data in entries:
            made.writestr(name, data)
    return file.getvalue()


def special(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (mode | 0o777) << 16
    return info


def test_files_and_folders_come_out(tmp_path: Path) -> None:
    unpack(packed(("set.yaml", b"name: C"), ("a/", b""), ("a/b/task.yml", b"files: []")), tmp_path)
    assert (tmp_path / "set.yaml").read_bytes() == b"name: C"
    assert (tmp_path / "a" / "b" / "task.yml").read_bytes() == b"files: []"


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "..", ".", "a\\..\\x", "C:\\x", "a\nb", "a:b", "\x7f", "../../" * 9 + "x"]
)
def test_a_name_that_escapes_is_refused_and_nothing_is_outside(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    with pytest.raises(ProblemError, match=r"no path inside the archive|folders; shorten"):
        unpack(packed((name, b"x")), inside)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_a_link_or_device_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ProblemError, match="'link': is a link or a device"):
        unpack(packed((special("link", mode), b"/etc/passwd")), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "says"),
    [(("a", "a"), "'a': cannot be unpacked"), (("a", "a/b"), "'a/b': cannot be unpacked"), (("x" * 299,), "File name")],
)
def test_names_that_clash_or_are_too_long_are_refused(tmp_path: Path, names: tuple[str, ...], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        unpack(packed(*((name, b"x") for name in names)), tmp_path)


def test_a_bomb_is_refused_by_the_bytes_that_come_out(tmp_path: Path) -> None:
    bomb = packed(*((f"f{n}", bytes(9_000_000)) for n in range(6)))
    assert len(bomb) < 100_000
    with pytest.raises(ProblemError, match="unpacks to more than 50000000 bytes"):
        unpack(bomb, tmp_path)


def test_what_an_archive_says_of_its_sizes_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1000)
    data = bytearray(packed(("f", bytes(5000))))
    where = data.rindex((5000).to_bytes(4, "little"))  # in the directory at the archive's end
    data[where : where + 4] = (10).to_bytes(4, "little")
    with pytest.raises(ProblemError):
        unpack(bytes(data), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) <= 1000


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no zip file"),
        (b"PK\x03\x04 not really", "no zip file"),
        (bytes(files.MAX_ZIP_BYTES + 1), "at most 5000000"),
        (packed(*((f"f{n}", b"") for n in range(files.MAX_ENTRIES + 1))), "at most 5000"),
        (packed(("f", b"x" * 99), method=zipfile.ZIP_LZMA), "compressed in a way"),
        (packed(("a/" * 17 + "f", b"")), "16 folders"),
    ],
    ids=["empty", "torn", "large", "many", "lzma", "deep"],
)
def test_an_archive_beyond_the_limits_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        unpack(data, tmp_path)


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    data = bytearray(packed(("f", b"x")))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1  # the flag in the directory
    with pytest.raises(ProblemError, match="encrypted"):
        unpack(bytes(data), tmp_path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_unpacked_or_refused(data: st.DataObject) -> None:
    import tempfile

    whole = bytearray(packed(("set.yaml", b"name: C\n" * 20), ("a/task.yml", b"files: []\n" * 20)))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as place:
        inside = Path(place) / "a" / "inside"
        inside.mkdir(parents=True)
        try:
            unpack(bytes(whole), inside)
        except ProblemError:
            pass
        assert all(path.is_relative_to(inside) for path in Path(place).rglob("*") if path.is_file())
