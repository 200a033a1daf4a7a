"""A set from a git address: the sweeper fetches it, its preview is imported, and its versions keep the commit."""

from collections.abc import Iterator

import pytest

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.competitions.importing import FETCHED_BY, ask_fetch, discard_upload, fetch_waiting
from leaderboard.competitions.models import Board, SetUpload
from leaderboard.errors import UserError
from problems.formats import git
from tests.problems.git_server import GitServer
from tests.web.organise.test_set_pages import FILES


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, settings) -> Iterator[GitServer]:
    with GitServer() as found:
        monkeypatch.setattr(git, "CONFIG", (*git.CONFIG, f"http.sslCAInfo={found.certificate}"))
        settings.PROBLEM_GIT_HOSTS = [found.host]
        yield found


def ask(stage, server: GitServer, **changes: str) -> SetUpload:
    wanted = {"address": server.address(), "ref": "", "folder": "problems/"} | changes
    return ask_fetch(actor=stage.olga, now=stage.later(1), **wanted)


def test_a_fetched_set_is_previewed_and_imported_with_its_commit(stage, server) -> None:
    commit = server.commit({f"problems/{name}": text for name, text in FILES.items()})
    upload = ask(stage, server)
    assert upload.is_waiting
    with pytest.raises(UserError, match="not fetched yet"):
        pipeline.import_set(upload=upload, actor=stage.olga, now=stage.later(1))
    assert fetch_waiting(now=stage.later(1))
    assert not fetch_waiting(now=stage.later(1))
    upload.refresh_from_db()
    assert (upload.commit, upload.problem, upload.report["counts"]) == (commit, "", {"created": 1})
    assert not Board.objects.filter(slug="scale").exists()
    assert pipeline.import_set(upload=upload, actor=stage.olga, now=stage.later(1))
    assert Board.objects.get(slug="scale").version.origin == f"{server.address()}@{commit}:problems"
    assert commit in Row.objects.get(act="import_set").reason


def test_a_failed_fetch_keeps_its_reason(stage, server) -> None:
    server.commit({"README": "x"})
    upload = ask(stage, server)
    fetch_waiting(now=stage.later(1))
    upload.refresh_from_db()
    assert (upload.is_waiting, upload.commit) == (False, "")
    assert "there is no folder 'problems'" in upload.problem
    with pytest.raises(UserError, match="there is no folder"):
        pipeline.import_set(upload=upload, actor=stage.olga, now=stage.later(1))


def test_a_host_that_left_the_list_is_not_asked(stage, server, settings) -> None:
    upload = ask(stage, server)
    settings.PROBLEM_GIT_HOSTS = []
    fetch_waiting(now=stage.later(1))
    upload.refresh_from_db()
    assert "the operator of this site allows no host" in upload.problem
    assert server.requests == []


def test_a_fetch_that_died_begins_again(stage, server) -> None:
    server.commit({f"problems/{name}": text for name, text in FILES.items()})
    upload = ask(stage, server)
    SetUpload.objects.update(fetching_since=stage.now)
    assert not fetch_waiting(now=stage.later(1))
    assert fetch_waiting(now=stage.now + FETCHED_BY)
    upload.refresh_from_db()
    assert upload.commit


def test_a_set_that_is_discarded_while_it_is_fetched_stays_away(stage, server, monkeypatch) -> None:
    server.commit({f"problems/{name}": text for name, text in FILES.items()})
    upload, fetch = ask(stage, server), git.fetch

    def discarded_meanwhile(source: git.Source) -> git.Fetched:
        discard_upload(upload=upload, actor=stage.olga, now=stage.later(1))
        return fetch(source)

    monkeypatch.setattr(git, "fetch", discarded_meanwhile)
    assert fetch_waiting(now=stage.later(1))
    assert not SetUpload.objects.exists()
    with pytest.raises(UserError, match="it was discarded"):
        pipeline.import_set(upload=upload, actor=stage.olga, now=stage.later(1))


def test_a_wrong_address_is_refused_before_it_is_kept(stage, server) -> None:
    with pytest.raises(UserError) as refused:
        ask(stage, server, address="https://evil.example/x")
    assert refused.value.field == "address"
    assert not SetUpload.objects.exists()
