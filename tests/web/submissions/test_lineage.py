"""A lineage is checked at the door, kept for good, and shown to those who may read the code."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.errors import UserError
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Lineage, Parent, Submission
from leaderboard.submissions.permissions import release_code
from tests.leaderboard.stage import SOURCE

FULL = {
    "idea": "keep each row  in registers",
    "model": "meta/llama-4:70b@q8",
    "prompt_sha256": "ab" * 32,
    "sampling": {"temperature": 0.8, "top_k": 40, "stop": "```", "seeded": True},
    "cost_usd": 0.0125,
    "strategy": "beam",
    "run": "nov-26",
}
NONE = {"parents": [], "idea": "", "model": "", "prompt_sha256": "", "sampling": {}, "cost_usd": None}


def body(stage, lineage: Any, **changes: Any) -> dict[str, Any]:
    stage.sent += 1
    code = SOURCE.decode() + f"KERNEL = {stage.sent}\n"
    return {"board": "softmax", "hardware": "cpu", "mode": "ranked", "code": code, "lineage": lineage} | changes


def post(client, sent: dict[str, Any], where: str = "submissions"):
    return client.post(f"/api/v1/{where}", sent, content_type="application/json")


def errors_of(answer) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    return {one["field"]: one["message"] for one in answer.json()["errors"]}


@pytest.fixture
def published(stage) -> Submission:
    """Ada's entry, whose code is public."""
    stage.now = timezone.now() - timedelta(hours=2)
    submission = stage.submit(stage.ada)
    stage.judge(submission, ratio=0.9)
    release_code(submission=submission, actor=stage.ada, now=stage.now)
    return submission


def test_the_api_takes_and_shows_a_lineage(stage, tool, browser, published) -> None:
    client = tool(stage.ben)
    own = post(client, body(stage, None, mode="test")).json()["id"]
    made = post(client, body(stage, FULL | {"parents": [own, published.pk, own]}))
    assert made.status_code == 201, made.content
    pk = made.json()["id"]
    assert client.get(f"/api/v1/submissions/{pk}").json()["lineage"] == FULL | {"parents": [own, published.pk]}
    assert client.get(f"/api/v1/submissions/{own}").json()["lineage"] is None
    empty = post(client, body(stage, {}, mode="test")).json()["id"]
    assert client.get(f"/api/v1/submissions/{empty}").json()["lineage"] is None, "nothing was named"
    part = post(client, body(stage, {"strategy": "beam"}, mode="test")).json()["id"]
    assert client.get(f"/api/v1/submissions/{part}").json()["lineage"] == NONE | {"strategy": "beam", "run": ""}

    stage.judge(Submission.objects.get(pk=pk), ratio=0.8)
    seen = browser(None).get(f"/api/v1/entries/{pk}").json()
    assert (seen["model"], seen["lineage"]) == (FULL["model"], None), "the code is private"
    release_code(submission=Submission.objects.get(pk=pk), actor=stage.ben, now=stage.now)
    seen = browser(None).get(f"/api/v1/entries/{pk}").json()
    assert seen["lineage"] == FULL | {"parents": [published.pk]}, "a private parent has no number for strangers"


def test_candidates_have_a_lineage_of_their_own(stage, tool, published) -> None:
    lineages = [{"parents": [published.pk], "idea": "first"}, {"idea": "second", "model": "m"}, None]
    candidates = [{"code": SOURCE.decode() + f"N = {place}\n", "lineage": one} for place, one in enumerate(lineages)]
    sent = {"board": "softmax", "hardware": "cpu", "mode": "test", "budget_s": 60, "candidates": candidates}
    made = post(tool(stage.ben), sent, "batches").json()
    first, second, third = (one["submission"] for one in made["candidates"])
    assert Lineage.objects.get(pk=first).idea == "first"
    assert Lineage.objects.get(pk=second).model == "m"
    assert not Lineage.objects.filter(pk=third).exists()
    assert list(Parent.objects.values_list("child", "parent")) == [(first, published.pk)]
    candidates[1]["lineage"] = {"parents": [10**9]}
    assert list(errors_of(post(tool(stage.ben), sent, "batches"))) == ["candidates.1.lineage.parents"]
    assert Submission.objects.filter(owner=stage.ben).count() == 3, "all or none"


def test_private_and_absent_parents_are_refused_alike(stage, tool, published) -> None:
    private = stage.submit(stage.cleo)
    stage.judge(private, ratio=0.85)
    texts = [
        errors_of(post(tool(stage.ben), body(stage, {"parents": [published.pk, pk]})))["lineage.parents"].replace(
            str(pk), "N"
        )
        for pk in (private.pk, 10**9)
    ]
    assert texts[0] == texts[1]
    assert "no code of a submission N that you may read" in texts[0]
    assert post(tool(stage.cleo), body(stage, {"parents": [private.pk]})).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        ({"parents": list(range(1, 10))}, "parents", "8"),
        ({"parents": [0]}, "parents", "1"),
        ({"parents": ["x"]}, "parents", "integer"),
        ({"parents": 3}, "parents", "list"),
        ({"idea": "x" * 501}, "idea", "500"),
        ({"idea": "a\x00b"}, "idea", "ull character"),
        ({"model": "two words"}, "model", "at most 128 letters, digits and . _ : / + @ -"),
        ({"model": "x" * 129}, "model", "at most 128"),
        ({"strategy": "a/b"}, "strategy", "at most 64 letters, digits and . _ : -"),
        ({"run": "-a"}, "run", "the first a letter or digit"),
        ({"prompt_sha256": "AB" * 32}, "prompt_sha256", "SHA-256"),
        ({"sampling": {"a": {}}}, "sampling", "a: expected a number, a boolean, or a text"),
        ({"sampling": {"a": 1e300}}, "sampling", "a: expected a number"),
        ({"sampling": {"a": "x" * 65}}, "sampling", "at most 64 characters"),
        ({"sampling": {"top p": 1}}, "sampling", "'top p' is no name of a setting"),
        ({"sampling": {f"a{number}": 1 for number in range(18)}}, "sampling", "leave 2 of them out"),
        ({"sampling": [1]}, "sampling", "dictionary"),
        ({"cost_usd": -1}, "cost_usd", "0"),
        ({"cost_usd": 2_000_000}, "cost_usd", "1000000"),
        ({"cost_usd": "nan"}, "cost_usd", "A valid number"),
    ],
)
def test_a_wrong_field_of_a_lineage_is_named(stage, tool, wrong, field, text) -> None:
    found = errors_of(post(tool(stage.ben), body(stage, wrong)))
    ((named, message),) = found.items()
    assert named.startswith(f"lineage.{field}"), found
    assert text in message, found
    assert not Submission.objects.exists()


def test_a_repetition_with_the_same_key_gets_the_first_answer(stage, tool) -> None:
    client, sent = tool(stage.ben), body(stage, FULL)

    def again():
        headers = {"Idempotency-Key": "k"}
        return client.post("/api/v1/submissions", sent, content_type="application/json", headers=headers)

    first, second = again(), again()
    assert (first.status_code, first.json()) == (201, second.json())
    sent["lineage"] = FULL | {"idea": "another"}
    assert again().json()["code"] == "key_reused"


def test_a_lineage_is_never_changed_and_a_parent_is_older(stage, published) -> None:
    upload = Upload("softmax", "cpu", "test", "k.py", SOURCE, parents=(published.pk,), lineage={"idea": "x"})
    child = pipeline.submit(upload, owner=stage.ada, now=stage.later(1))
    for act in (
        lambda: Lineage.objects.update(idea="y"),
        lambda: Parent.objects.all().delete(),
        lambda: Parent.objects.create(child=published, parent=child),
        lambda: Parent.objects.create(child=child, parent=published),
        lambda: Lineage.objects.create(submission=published, model="two words"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            act()
    with pytest.raises(UserError, match=r"lineage\.parents"):
        pipeline.submit(Upload(**{**vars(upload), "parents": (10**9,)}), owner=stage.ada, now=stage.later(1))


def test_a_parent_whose_code_is_taken_down_is_no_parent(stage, tool, published) -> None:
    from leaderboard.submissions.models import Takedown

    Takedown.objects.create(submission=published, reason="a secret", created_at=stage.now)
    assert list(errors_of(post(tool(stage.ben), body(stage, {"parents": [published.pk]})))) == ["lineage.parents"]


def sent(stage, number: int, *, owner=None, mode="benchmark", ratio: float | None = None, parents=(), **lineage: Any):
    """Send a kernel, and judge it; a wrong result without a ratio."""
    upload = Upload(
        "softmax", "cpu", mode, "k.py", SOURCE + f"N = {number}\n".encode(), parents=parents, lineage=lineage
    )
    submission = pipeline.submit(upload, owner=owner or stage.ada, now=stage.later(1))
    told = {"ratio": ratio, "score_us": 1000 * ratio} if ratio else {"outcome": "wrong", "reason": "nan"}
    stage.judge(submission, **told)
    return submission


@pytest.fixture
def run(stage) -> list[Submission]:
    """Ada's run: two roots, a failure, and a child of both roots that is the fastest."""
    stage.now = timezone.now() - timedelta(hours=2)
    first = sent(stage, 1, ratio=0.9, run="r", strategy="parallel", model="m1", idea="first")
    second = sent(stage, 2, ratio=0.95, run="r", strategy="beam", model="m2", cost_usd=0.5)
    wrong = sent(stage, 3, parents=(first.pk,), run="r", strategy="beam", model="m1", cost_usd=0.25)
    best = sent(stage, 4, ratio=0.7, parents=(second.pk, first.pk), run="r", strategy="beam", model="m2", idea="<b>")
    return [first, second, wrong, best]


def tree(submission: Submission, viewer, **query: Any):
    from leaderboard.web.submissions.lineage import tree_of

    return tree_of(submission, viewer, timezone.now(), **query)


def test_the_tree_of_a_run_has_the_way_to_its_fastest(stage, run) -> None:
    first, second, wrong, best = (submission.pk for submission in run)
    for submission in run:
        found = tree(submission, stage.ada)
        assert [node.pk for node in found.nodes] == [first, second, wrong, best]
        assert [node.pk for node in found.path] == [first, best], "of two parents, the faster one"
        assert [node.parents for node in found.nodes] == [(), (), (first,), (second, first)]
        assert [dot.css for dot in found.dots] == ["best", "", "failed", "best"]
        assert found.edges.count("M") == 3
        assert found.best_edges.count("M") == 1
    assert [node.pk for node in tree(run[0], stage.ada, model="m1").nodes] == [first, wrong]
    assert tree(run[0], stage.cleo).nodes == []
    assert [node.pk for node in tree(run[0], stage.olga).nodes] == [first, second, wrong, best]


def test_a_submission_without_a_run_has_its_ancestors_and_descendants(stage) -> None:
    stage.now = timezone.now() - timedelta(hours=2)
    root = sent(stage, 1, ratio=0.9)
    child = sent(stage, 2, ratio=0.8, parents=(root.pk,))
    sibling = sent(stage, 3, ratio=0.85, parents=(root.pk,))
    grandchild = sent(stage, 4, ratio=0.75, parents=(child.pk,))
    sent(stage, 5, ratio=0.7)
    assert [node.pk for node in tree(child, stage.ada).nodes] == [root.pk, child.pk, grandchild.pk]
    assert [node.pk for node in tree(sibling, stage.ada).path] == [root.pk, sibling.pk]


def test_strangers_see_published_code_of_a_tree_alone(stage, browser, published) -> None:
    hidden = sent(stage, 1, mode="ranked", ratio=0.85, parents=(published.pk,), idea="a secret", model="m1")
    shown = sent(stage, 2, mode="ranked", ratio=0.8, parents=(hidden.pk, published.pk), idea="in public", model="m2")
    release_code(submission=shown, actor=stage.ada, now=stage.now)
    assert [node.pk for node in tree(shown, stage.cleo).nodes] == [published.pk, shown.pk]
    page = browser(None).get(f"/submissions/{shown.pk}/lineage")
    text = page.content.decode()
    assert page.status_code == 200
    assert "in public" in text
    assert f'href="/entries/{shown.pk}"' in text
    assert "a secret" not in text
    assert f"#{hidden.pk}" not in text
    assert browser(None).get(f"/submissions/{hidden.pk}/lineage").status_code == 404
    assert browser(None).get(f"/submissions/{10**9}/lineage").status_code == 404
    assert "Written by m1." in browser(None).get(f"/entries/{hidden.pk}").content.decode(), "its model is public"
    assert "Idea: in public." in browser(None).get(f"/entries/{shown.pk}").content.decode()


def test_pages_of_a_run_escape_and_filter(stage, browser, run) -> None:
    client, best = browser(stage.ada), run[-1]
    page = client.get(f"/submissions/{best.pk}/lineage").content.decode()
    assert "Run r" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert client.get(f"/submissions/{best.pk}/lineage?model=m2").status_code == 200
    assert client.get(f"/submissions/{best.pk}/lineage?model=m3").status_code == 404
    assert f'href="/submissions/{best.pk}/lineage">Run r</a>' in client.get(f"/submissions/{best.pk}").content.decode()
    runs = client.get("/runs").content.decode()
    assert "The budget that all have spent: 1 candidates." in runs
    for wrong in ("by=money", "board=0", "model=m3"):
        assert client.get(f"/runs?{wrong}").status_code == 404
    assert client.get("/runs?by=seconds&model=m2").status_code == 200
    assert "No run has ended here yet" in browser(stage.cleo).get("/runs").content.decode()


def test_strategies_are_compared_at_equal_budget(stage, run) -> None:
    from leaderboard.web.submissions.lineage import Comparison, Contender, nodes_of

    first, second, wrong, best = nodes_of(run, [])
    for by, budget in (("candidates", 1), ("seconds", 1.0)):
        parallel, beam = Contender("r", "parallel", [first], by), Contender("r", "beam", [second, wrong, best], by)
        found = Comparison([beam, parallel])
        assert found.budget == budget, by
        assert [(one.strategy, node.pk) for one, node in found.rows] == [("parallel", first.pk), ("beam", second.pk)]
        assert (beam.best.pk, beam.passed, beam.cost_usd, parallel.cost_usd) == (best.pk, 2, 0.75, None)
        assert [curve.name for curve in found.plot.curves] == ["parallel, r", "beam, r"]
        assert beam.best_at(2).pk == second.pk, "the failed candidate is spent"
        assert beam.best_at(3).pk == best.pk


def test_the_api_returns_the_tree_to_those_who_may_read_the_code(stage, tool, browser, run) -> None:
    first, second, wrong, best = (one.pk for one in run)
    found = tool(stage.ada).get(f"/api/v1/submissions/{best}/lineage").json()
    assert [node["submission"] for node in found["nodes"]] == [first, second, wrong, best]
    assert sorted(found["nodes"][3]["parents"]) == [first, second]
    assert (found["path"], found["models"]) == ([first, best], ["m1", "m2"])
    one = tool(stage.ada).get(f"/api/v1/submissions/{best}/lineage?model=m2").json()
    assert [node["submission"] for node in one["nodes"]] == [second, best]
    assert tool(stage.ada).get(f"/api/v1/submissions/{best}/lineage?model=m9").status_code == 404
    assert browser(None).get(f"/api/v1/submissions/{best}/lineage").status_code == 404


def test_the_api_compares_runs_at_equal_budget(stage, tool, browser, run) -> None:
    found = tool(stage.ada).get("/api/v1/runs").json()
    assert (found["board"]["board"], found["budget"], found["models"]) == ("softmax", 1, ["m1", "m2"])
    lines = {line["strategy"]: line for line in found["lines"]}
    assert lines["beam"]["at_equal_budget"] == run[1].pk
    assert (lines["beam"]["best"], lines["beam"]["candidates"], lines["beam"]["cost_usd"]) == (run[3].pk, 3, 0.75)
    empty = tool(stage.ben).get("/api/v1/runs").json()
    assert (empty["boards"], empty["board"], empty["lines"]) == ([], None, [])
    assert tool(stage.ada).get("/api/v1/runs?by=luck").json()["errors"][0]["field"] == "by"
    assert tool(stage.ada).get("/api/v1/runs?board=999999").status_code == 404
    assert browser(None).get("/api/v1/runs").status_code == 401
