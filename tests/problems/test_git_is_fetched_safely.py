"""A folder of a git repository becomes a zip file; no host, link, size or wait beyond the limits is accepted."""

import io
import zipfile
from collections.abc import Iterator

import pytest

from problems.fields import ProblemError
from problems.formats import git
from problems.formats.git import Source, check_source, fetch
from tests.problems.git_server import GitServer, run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    with GitServer() as found:
        monkeypatch.setattr(git, "CONFIG", (*git.CONFIG, f"http.sslCAInfo={found.certificate}"))
        yield found


def files_of(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def test_a_folder_comes_as_it_was_committed(server: GitServer) -> None:
    first = server.commit(
        {"a/set.yaml": "name: A\n", "a/deep/x.py": "1\r\n", "README": "no", ".gitattributes": "* -text"}
    )
    found = fetch(Source(server.address(), folder="a"))
    assert found.commit == first
    assert files_of(found.data) == {"set.yaml": "name: A\n", "deep/x.py": "1\r\n"}
    assert fetch(Source(server.address(), folder="a")).data == found.data
    assert set(files_of(fetch(Source(server.address())).data)) == {
        "a/set.yaml",
        "a/deep/x.py",
        "README",
        ".gitattributes",
    }


def test_a_branch_a_tag_and_a_commit_can_be_named(server: GitServer) -> None:
    first = server.commit({"set.yaml": "1"})
    run(server.folder / "sets", "tag", "v1")
    second = server.commit({"set.yaml": "2"})
    run(server.folder / "sets", "branch", "next/two")
    third = server.commit({"set.yaml": "3"})
    for ref, commit in (("", third), ("main", third), ("v1", first), ("next/two", second), (second, second)):
        assert fetch(Source(server.address(), ref)).commit == commit


def test_no_filter_attribute_or_hook_touches_a_file(server: GitServer) -> None:
    server.commit(
        {".gitattributes": "*.py filter=evil export-ignore\n*.md export-subst", "a.py": "1", "b.md": "$Format:%H$"}
    )
    assert files_of(fetch(Source(server.address())).data)["a.py"] == "1"
    assert files_of(fetch(Source(server.address())).data)["b.md"] == "$Format:%H$"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"link": None}, "symbolic link"),
        ({"big.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"}, "Git LFS"),
        ({f"{number}": "" for number in range(5_001)}, "more than 5,000 files"),
        ({f"{number}.bin": bytes(900_000) for number in range(56)}, "50,000,000 bytes"),
    ],
)
def test_unfit_files_refuse_the_folder(server: GitServer, files: dict[str, str | bytes | None], message: str) -> None:
    server.commit({"set.yaml": "x"} | files)
    with pytest.raises(ProblemError, match=message):
        fetch(Source(server.address()))


def test_a_submodule_is_refused(server: GitServer) -> None:
    commit = server.commit({"set.yaml": "x"})
    run(server.folder / "sets", "update-index", "--add", "--cacheinfo", f"160000,{commit},other")
    run(server.folder / "sets", "commit", "--quiet", "--message=x")
    with pytest.raises(ProblemError, match="submodule"):
        fetch(Source(server.address()))


def test_a_large_repository_is_cut_off(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_LAUNCH", git._LAUNCH.replace(str(git.MOST_PACK_BYTES), "200000"))
    server.commit({"set.yaml": "x", "noise.bin": random_bytes(1_000_000)})
    with pytest.raises(ProblemError, match="the repository has more than"):
        fetch(Source(server.address()))


def random_bytes(count: int) -> bytes:
    import random

    return random.Random(1).randbytes(count)


def test_a_tree_that_unfolds_is_cut_off(server: GitServer) -> None:
    server.commit({"x": "lol"})
    work = server.folder / "sets"
    tree = run(work, "rev-parse", "HEAD^{tree}")
    for _ in range(8):  # ten million files in ten objects
        lines = "".join(f"040000 tree {tree}\tfolder{number}\n" for number in range(10))
        tree = run(work, "mktree", sent=lines)
    commit = run(work, "commit-tree", tree, "-m", "bomb")
    run(work, "update-ref", "refs/heads/bomb", commit)
    with pytest.raises(ProblemError, match=r"too many files|more than|took longer"):
        fetch(Source(server.address(), "bomb"))


@pytest.mark.parametrize(
    ("path", "ref", "folder", "message"),
    [
        ("moved", "", "", "redirects"),
        ("private", "", "", "asks for a password"),
        ("nothing", "", "", "git could not read it|no such repository"),
        ("sets", "nothing", "", "no such branch"),
        ("sets", "0" * 40, "", "no such commit|could not read"),
        ("sets", "", "nothing", "there is no folder 'nothing'"),
    ],
)
def test_a_failed_fetch_says_why(server: GitServer, path: str, ref: str, folder: str, message: str) -> None:
    server.commit({"set.yaml": "x"})
    with pytest.raises(ProblemError, match=message):
        fetch(Source(server.address(path), ref, folder))
    assert not [asked for asked in server.requests if path == "moved" and asked.startswith("/sets")]


def test_a_server_that_hangs_is_cut_off(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MOST_S", 1.0)
    with pytest.raises(ProblemError, match="took longer than 1 s"):
        fetch(Source(server.address("slow")))


def test_another_certificate_is_refused() -> None:
    with GitServer() as server:
        server.commit({"set.yaml": "x"})
        with pytest.raises(ProblemError, match="certificate"):
            fetch(Source(server.address()))


ALLOWED = ("github.com", "git.example.org:8443/team")


@pytest.mark.parametrize(
    "address", ["https://github.com/a/b", "https://github.com/a/b.git/", "https://git.example.org:8443/team/x"]
)
def test_an_allowed_address_is_accepted(address: str) -> None:
    check_source(Source(address, "feature/x-1.0", "problems/Spring 2026"), ALLOWED)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://github.com/a/b",
        "ssh://github.com/a/b",
        "git@github.com:a/b",
        "file:///etc",
        "https://github.com.evil.org/a/b",
        "https://evilgithub.com/a/b",
        "https://github.com@evil.org/a",
        "https://me:secret@github.com/a/b",  # pragma: allowlist secret
        "https://github.com/../x",
        "https://github.com/a/./b",
        "https://github.com/a?x=https://evil.org",
        "https://github.com:444/a",
        "https://git.example.org:8443/teams/x",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c id",
        "https://github.com/" + "a" * 300,
    ],
)
def test_an_address_beyond_the_list_is_refused(address: str) -> None:
    with pytest.raises(ProblemError) as refused:
        check_source(Source(address), ALLOWED)
    assert refused.value.field == "address"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ref", "--upload-pack=id"),
        ("ref", "a..b"),
        ("ref", "a b"),
        ("ref", "x" * 201),
        ("folder", "../x"),
        ("folder", "/etc"),
        ("folder", "a//b"),
        ("folder", "a:b"),
        ("folder", "x" * 301),
    ],
)
def test_a_wrong_ref_or_folder_is_refused(field: str, value: str) -> None:
    with pytest.raises(ProblemError) as refused:
        check_source(Source("https://github.com/a/b", **{field: value}), ALLOWED)
    assert refused.value.field == field
