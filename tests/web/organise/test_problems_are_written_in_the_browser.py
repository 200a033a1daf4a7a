"""The page on which a problem is written: its example, a check without effect, saving, and the differences."""

from __future__ import annotations

from html import unescape

from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.web.organise import authoring_pages
from problems.directives import read_directives


def form(draft, **changes: object) -> dict[str, object]:
    rows = {name: [getattr(one, name) for one in draft.files] for name in ("kind", "name", "text")}
    fields = ("title", "description", "settings", "submission_name")
    return {name: getattr(draft, name) for name in fields} | rows | changes


def owner(stage):
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.OWNER)
    return stage.cleo


def test_the_example_can_be_checked_and_created(stage, browser) -> None:
    client, address = browser(owner(stage)), "/organise/kernels-101/problems"
    page = client.get(address)
    assert page.status_code == 200
    assert "def ref_kernel" in page.content.decode()
    sent = form(authoring_pages.example(), slug="my-silu", title="My SiLU")
    checked = client.post(address, sent | {"act": "check"})
    assert "Checked: it can be saved" in checked.content.decode()
    assert not Board.objects.filter(slug="my-silu").exists()
    assert client.post(address, sent | {"act": "save"}).status_code == 302
    assert Board.objects.get(slug="my-silu").title == "My SiLU"
    assert "My SiLU" in client.get("/organise/kernels-101/boards").content.decode()
    starters = Board.objects.get(slug="my-silu").version.part("templates")
    assert read_directives(starters["Python"]).board == "my-silu", "the starter may be sent as it is"


def test_a_new_version_shows_its_differences(stage, browser) -> None:
    client, address = browser(owner(stage)), "/organise/kernels-101/problems"
    client.post(address, form(authoring_pages.example(), slug="my-silu", title="My SiLU", act="save"))
    address += "/my-silu"
    before = unescape(client.get(address).content.decode())
    assert "SiLU activation" in before
    sent = form(authoring_pages.example(), title="My SiLU", description="Another text.", act="check")
    page = client.post(address, sent).content.decode()
    assert '<span class="ins">+Another text.</span>' in page
    assert client.post(address, sent | {"act": "save"}).status_code == 302
    assert Board.objects.get(slug="my-silu").version.part("description") == "Another text."


def test_a_faulty_draft_keeps_what_was_typed_and_names_the_fault(stage, browser) -> None:
    client = browser(owner(stage))
    sent = form(authoring_pages.example(), slug="my-silu", title="", settings="gpus: [<cpu>", act="save")
    answer = client.post("/organise/kernels-101/problems", sent)
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "gpus: [&lt;cpu&gt;" in text
    sent |= {"title": "x"}
    answer = client.post("/organise/kernels-101/problems", sent)
    assert answer.status_code == 400
    assert "YAML" in answer.content.decode()


def test_a_problem_of_other_competitions_is_not_shown(stage, browser) -> None:
    other = Competition.objects.create(slug="other", name="Other")
    board = stage.board
    Board.objects.create(competition=other, problem=board.problem, version=board.version, slug="soft-2", hardware="cpu")
    Role.objects.create(competition=other, user=stage.ben, role=Role.OWNER)
    answer = browser(stage.ben).get("/organise/other/problems/soft-2")
    assert answer.status_code == 403
    assert "def ref_kernel" not in answer.content.decode()
    assert "or an administrator, may change it" in answer.content.decode()


def test_an_unused_problem_is_deleted_on_its_page(stage, browser) -> None:
    client, address = browser(owner(stage)), "/organise/kernels-101/problems/softmax/delete"
    assert f'href="{address}"' in client.get("/organise/kernels-101/problems/softmax").content.decode()
    assert client.post(address, {"slug": "no", "reason": "x"}).status_code == 400
    stage.submit(stage.ada, mode="test")
    page = client.get(address).content.decode()
    assert "1 submission was sent to its boards and is kept" in page
    assert 'name="slug"' not in page
    assert client.post(address, {"slug": "softmax", "reason": "x"}).status_code == 400
    assert Board.objects.filter(slug="softmax").exists()
    client.post("/organise/kernels-101/problems", form(authoring_pages.example(), slug="trial", title="T", act="save"))
    answer = client.post("/organise/kernels-101/problems/trial/delete", {"slug": "trial", "reason": "a trial"})
    assert (answer.status_code, answer["Location"]) == (302, "/organise/kernels-101/boards")
    assert not Board.objects.filter(slug="trial").exists()
