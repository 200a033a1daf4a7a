"""Under slow pages or many requests, health, home, sign-in and the runners' API go on answering."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from types import SimpleNamespace

import httpx
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.http import HttpResponse

from tests.web.live_site import live_site

AT_ONCE = 10
WAITED_S = 9.0  # generous, for a busy machine; without places the pool refused after 10 s
PASSWORD = "hurdle-Rail-99"


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    stage.ada.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt")  # the live site's hasher, not the tests'
    stage.ada.save()
    return stage


@pytest.fixture
def slow_site(transactional_db: None, monkeypatch) -> Callable[[str], Iterator[str]]:
    @contextmanager
    def running(how: str) -> Iterator[str]:
        monkeypatch.setenv("PHOTOFINISH_TEST_SLOW", how)
        with live_site("tests.web.slow_site:application") as site:
            yield site.address

    return running


def cookies_of(user) -> dict[str, str]:
    from django.test import Client

    client = Client()
    client.force_login(user)
    return {"sessionid": client.cookies["sessionid"].value}


@contextmanager
def crowd(url: str, cookies: dict[str, str], count: int = AT_ONCE) -> Iterator[list[int]]:
    """Request a page `count` times concurrently, and yield the growing list of received statuses."""
    statuses: list[int] = []

    def ask() -> None:
        with contextlib.suppress(httpx.HTTPError), httpx.Client(trust_env=False, cookies=cookies) as client:
            statuses.append(client.get(url, timeout=60).status_code)

    for _ in range(count):
        threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.5)
    yield statuses


def timed(ask: Callable[[], httpx.Response]) -> tuple[int, float]:
    began = time.monotonic()
    status = ask().status_code
    return status, time.monotonic() - began


def sign_in(client: httpx.Client, site: str) -> httpx.Response:
    client.get(f"{site}/sign-in")
    sent = {"username": "ada", "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    return client.post(f"{site}/sign-in", data=sent, headers={"Referer": f"{site}/sign-in"})


@pytest.mark.parametrize("how", ["waits", "computes"])
def test_slow_pages_leave_places_for_health_home_sign_in_api_and_runners(stage, slow_site, how) -> None:
    from leaderboard.judging.runners import create_runner

    submission = stage.submit()
    _, text = create_runner(name="door", hardware="cpu", now=stage.now)
    with slow_site(how) as site, crowd(f"{site}/submissions/{submission.pk}", cookies_of(stage.ada)) as slow:
        with httpx.Client(timeout=20, trust_env=False) as client:
            client.get(f"{site}/boards")  # the first page of a process loads templates
            found = {
                "/healthz": timed(lambda: client.get(f"{site}/healthz")),
                "/": timed(lambda: client.get(f"{site}/")),
                "/readyz": timed(lambda: client.get(f"{site}/readyz")),
                "/api/v1/boards": timed(lambda: client.get(f"{site}/api/v1/boards")),
                "sign-in": timed(lambda: sign_in(client, site)),
                "claim": timed(
                    lambda: client.post(
                        f"{site}/api/runner/v1/claim",
                        json={"hardware": "cpu"},
                        headers={"Authorization": f"Bearer {text}"},
                    )
                ),
            }
        assert 200 not in slow, "the slow pages were running all the while"
    assert {name: status for name, (status, _) in found.items()} == {
        name: 302 if name == "sign-in" else 200 for name in found
    }
    assert max(seconds for _, seconds in found.values()) < WAITED_S, found


def test_places_are_shared_by_address_and_refused_when_nobody_leaves(monkeypatch) -> None:
    from leaderboard.web import places

    async def play() -> None:
        monkeypatch.setattr(places, "WAIT_S", 0.05)
        room = places.Places(3, for_one=2)
        await room.enter("a")
        await room.enter("a")
        with pytest.raises(places.Busy):
            await room.enter("a")
        await room.enter("b")
        with pytest.raises(places.Busy):
            await room.enter("c")
        room.leave("a")
        await room.enter("c")
        for address in ("a", "b", "c"):
            room.leave(address)
        await room.enter("a")
        await room.enter("a")
        await room.enter("b")

    asyncio.run(play())


def test_places_never_outnumber_the_connections_of_the_pool() -> None:
    from leaderboard.web import places

    assert all(sum(places.counts_for(pool).values()) <= pool for pool in range(len(places.SHARES), 201))


@pytest.mark.parametrize("path", ["/boards/a/submit", "/boards/a/draft", "/boards/a/cpu/picture.png"])
def test_slow_addresses_below_boards_take_no_place_of_the_front(path: str) -> None:
    from leaderboard.web import places

    assert places.class_of(path) == places.PAGES
    assert places.class_of(path.rpartition("/")[0]) == places.FRONT


def test_entrance_keeps_the_place_of_a_client_that_went_away(stage, monkeypatch) -> None:
    """The thread of a closed connection keeps running and occupies its place.

    Otherwise, a client that hangs up at once could occupy unlimited threads.
    """
    from django.http import HttpRequest, HttpResponse

    from leaderboard.web import places

    async def play() -> None:
        monkeypatch.setattr(places, "WAIT_S", 0.05)
        entrance, over = places.Entrance(), asyncio.Event()
        request = HttpRequest()
        request.path, request.META = "/submissions/1", {"REMOTE_ADDR": "192.0.2.1"}

        async def slow(_: HttpRequest) -> HttpResponse:
            await over.wait()
            return HttpResponse("done")

        gone = [asyncio.ensure_future(entrance.answer(request, slow)) for _ in range(2)]
        await asyncio.sleep(0.01)
        for task in gone:
            task.cancel()
        refused = await entrance.answer(request, slow)
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        assert b"The site is busy" in refused.content
        over.set()
        await asyncio.sleep(0.1)
        assert (await entrance.answer(request, slow)).content == b"done"

    asyncio.run(play())


@pytest.mark.parametrize("size", [16_000, 1_000_000])
def test_hostile_submission_page_leaves_health_and_home_quick(stage, size: int) -> None:
    """The test measures only the latency of other requests, not the highlighting itself."""
    from leaderboard.submissions.models import Submission

    submission = stage.submit()
    source = "\n " * (size // 2 - 10) + "\nx = 1\n"
    Submission.objects.bulk_create(
        [
            Submission(
                owner=stage.ada,
                entrant=submission.entrant,
                board=stage.board,
                mode="test",
                filename="kernel.py",
                source=source,
                source_digest="sha256:" + "0" * 64,
                size_bytes=len(source),
                created_at=stage.now,
            )
        ]
    )
    hostile = Submission.objects.get(size_bytes=len(source))
    from leaderboard.judging.attempts import enqueue

    enqueue(submission=hostile, now=stage.now)
    with live_site() as site:
        page, cookies = f"{site.address}/submissions/{hostile.pk}", cookies_of(stage.ada)
        with httpx.Client(timeout=20, trust_env=False) as client:
            client.get(f"{site.address}/")  # the first page of a process loads templates
        with crowd(page, cookies) as _, httpx.Client(timeout=20, trust_env=False) as client:
            asked = [timed(lambda: client.get(f"{site.address}/healthz")) for _ in range(20)]
            home = [timed(lambda: client.get(f"{site.address}/")) for _ in range(20)]
    assert {status for status, _ in asked + home} == {200}
    assert median(seconds for _, seconds in asked) < 0.5
    assert median(seconds for _, seconds in home) < 1.5, "below 0.5 on a machine that does nothing else"


def test_healthz_answers_without_a_database(db, monkeypatch) -> None:
    with live_site() as site:
        assert httpx.get(f"{site.address}/healthz", trust_env=False).json() == {"ok": True}


def test_readyz_names_what_is_missing(db, browser) -> None:
    """The test rolls back, because no flush restores rows of `django_migrations` for the tests after it."""
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="web").delete()
    answer = browser(None).get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, "migrations are missing; run `migrate`")


def use_up(limit, key: str, but: int = 0) -> None:
    from leaderboard.web import limits

    for _ in range(limit.most - but):
        assert limits.floods.take((limit, key)) is None


@pytest.fixture
def _one_window(monkeypatch) -> None:
    from leaderboard.web import limits

    monkeypatch.setattr(limits, "time", SimpleNamespace(time=lambda: 1_000_000.0))


@pytest.mark.usefixtures("_one_window")
def test_page_limits_go_by_account_and_by_address(stage, browser) -> None:
    from leaderboard.web import limits

    use_up(limits.PAGE_USER, str(stage.ada.pk), but=1)
    ada = browser(stage.ada)
    assert ada.get("/account").status_code == 200
    answer: HttpResponse = ada.get("/account")
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
    assert b"Too many requests" in answer.content
    assert browser(stage.cleo).get("/account").status_code == 200, "another account at the same address goes on"
    use_up(limits.PAGE_IP, "192.0.2.1")
    assert browser(None).get("/", REMOTE_ADDR="192.0.2.1").status_code == 429
    assert browser(None).get("/", REMOTE_ADDR="192.0.2.2").status_code == 200


@pytest.mark.usefixtures("_one_window")
def test_page_limits_are_smaller_for_acts(stage, browser) -> None:
    from leaderboard.web import limits

    use_up(limits.POST_USER, str(stage.ada.pk), but=1)
    ada = browser(stage.ada)
    assert ada.post("/boards/softmax/submit", {}).status_code != 429
    assert ada.post("/boards/softmax/submit", {}).status_code == 429
    assert ada.get("/boards/softmax/submit").status_code == 200
