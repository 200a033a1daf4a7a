"""A proposed timing epoch waits on /organise and /runners, in words; administrators decide, owners move a pin."""

from leaderboard.competitions.models import Role
from leaderboard.judging.live import EPOCH_WHY, hosts
from leaderboard.judging.models import Epoch, EpochPin
from leaderboard.judging.runners import greet
from leaderboard.web.organise.state_pages import differences, title_of
from tests.leaderboard.stage import make_runner
from tests.web.test_pages_are_strict import check

OLD = {"gpu": "NVIDIA H200", "driver": "535.1", "torch": "2.11.0", "power_limit_w": 700, "kernel": "6.1"}
NEW = OLD | {"driver": "550.2", "torch": "2.12.0", "kernel": "6.9"}


def two_epochs(stage) -> None:
    for name, epoch, fingerprint in (("rex", "driver-535", OLD), ("tex", "driver-550", NEW)):
        runner = stage.rex if name == "rex" else make_runner(name)
        greet(runner=runner, fingerprint=fingerprint, epoch=epoch, now=stage.now)


def text_of(client, address: str) -> str:
    page = client.get(address)
    check(page)
    return page.content.decode()


def test_title_and_differences_of_epochs_are_words() -> None:
    assert title_of(NEW) == "NVIDIA H200, driver 550.2, torch 2.12.0, power limit 700 W"
    assert differences(OLD, NEW) == ["driver 535.1 → 550.2", "torch 2.11.0 → 2.12.0"]
    assert differences({}, {"cpus": 4}) == ["unknown → 4 cores"]
    assert title_of({"cpu": "a fine one", "cpus": 2}) == "a fine one, 2 cores"
    assert title_of({"gpu": "x" * 500}) == "x" * 80


def test_proposed_epoch_waits_on_organise_and_runners_with_its_differences(stage, browser) -> None:
    two_epochs(stage)
    for address in ("/organise", "/runners"):
        text = text_of(browser(stage.olga), address)
        for part in ("1 timing epoch waits for a decision", "driver 535.1 → 550.2", "Make current", "Dismiss", "(tex)"):
            assert part in text, (address, part)
    assert "waits for a decision</span>" in text
    assert "Gets tests, and timed work of contests" in text


def test_submission_that_no_runner_of_its_epoch_can_take_says_why_it_waits(stage, browser) -> None:
    two_epochs(stage)
    timed, test = stage.submit(), stage.submit(mode="test")
    told = "No runner measures in the timing epoch"
    pages = [text_of(browser(stage.ada), f"/submissions/{one.pk}") for one in (timed, test)]
    assert [told in page for page in pages] == [False, False]
    greet(runner=stage.rex, fingerprint=NEW, epoch="driver-550", now=stage.now)
    pages = [text_of(browser(stage.ada), f"/submissions/{one.pk}") for one in (timed, test)]
    assert [told in page for page in pages] == [True, False]


def test_an_organiser_of_the_hardware_reads_the_decision_and_may_not_take_it(stage, browser) -> None:
    two_epochs(stage)
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    text = text_of(browser(stage.ben), "/organise")
    assert "An administrator of the site has to decide" in text
    assert "Make current" not in text
    epoch = Epoch.objects.get(name="driver-550")
    assert browser(stage.ben).post(f"/epochs/{epoch.pk}/choose", {"reason": "mine"}).status_code == 404
    assert browser(None).post(f"/epochs/{epoch.pk}/choose", {"reason": "mine"}).status_code == 302
    assert Epoch.objects.get(name="driver-550").state == "proposed"


def test_administrator_makes_an_epoch_current_or_dismisses_it_with_a_reason(stage, browser) -> None:
    two_epochs(stage)
    client, epoch = browser(stage.olga), Epoch.objects.get(name="driver-550")
    assert b"say why" in client.post(f"/epochs/{epoch.pk}/choose", {"reason": ""}, follow=True).content
    assert client.post(f"/epochs/{epoch.pk}/elect", {"reason": "x"}).status_code == 404
    client.post(f"/epochs/{epoch.pk}/dismiss", {"reason": "a wrong driver", "from": "runners"})
    assert Epoch.objects.get(name="driver-550").state == "dismissed"
    client.post(f"/epochs/{epoch.pk}/choose", {"reason": "the right one"})
    assert [one.state for one in Epoch.objects.order_by("name")] == ["retired", "current"]
    assert "wait" not in text_of(client, "/organise").split("For all competitions")[0].split("<h2")[-1]


def test_owner_moves_the_pin_of_a_contest_on_its_state_page(stage, browser) -> None:
    two_epochs(stage)
    base = f"/organise/{stage.board.competition.slug}"
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.VIEWER)
    text = text_of(browser(stage.ben), f"{base}/state")
    assert "follows the current epoch" in text
    assert [host.why for host in hosts(["cpu"], now=stage.now)] == ["", EPOCH_WHY["proposed"]]
    assert "Move the contest to another epoch" in text
    sent = {"hardware": "cpu", "epoch": "driver-550", "reason": "the old host burned"}
    assert browser(stage.cleo).post(f"{base}/epochs", sent).status_code == 403
    assert browser(stage.ada).post(f"{base}/epochs", sent).status_code == 404
    browser(stage.ben).post(f"{base}/epochs", sent)
    assert EpochPin.objects.get().epoch == "driver-550"
    assert b"no such epoch" in browser(stage.ben).post(f"{base}/epochs", sent | {"epoch": "x"}, follow=True).content
