"""Near duplicates and splits of a data set: found by tokens, bounded, and the same in every export."""

import random
import time

from leaderboard.dataset import likeness
from leaderboard.dataset.likeness import Kept, keys_of, similarity, sketch_of, split_of
from leaderboard.submissions.tokens import read

LINES = [f"    t{place} = data[{place}] * {place}.5 + other.call{place}(data, {place})" for place in range(40)]


def source(lines: list[str]) -> str:
    return "\n".join(["import other", "def custom_kernel(data):", *lines, "    return data", ""])


def sketch(text: str) -> likeness.Sketch:
    return sketch_of(read(text).tokens)


def test_a_changed_literal_is_a_near_duplicate_and_another_kernel_is_not() -> None:
    changed = [*LINES[:20], LINES[20].replace("20.5", "21.5"), *LINES[21:]]
    other = [line.replace("call", "make").replace(" * ", " - ") for line in LINES]
    kept = Kept()
    assert kept.add("a", sketch(source(LINES))) == ""
    assert kept.add("a", sketch(source(LINES))) == "exact"
    assert kept.add("b", sketch(source(changed))) == "near"
    assert kept.add("c", sketch(source(other))) == ""
    assert len(kept) == 2


def test_names_and_comments_leave_no_trace_in_a_sketch() -> None:
    renamed = source(LINES).replace("data", "tensor").replace("import other", "import other  # again")
    assert similarity(sketch(source(LINES)), sketch(renamed)) == 1.0


def test_similarity_is_estimated_from_sketches() -> None:
    chance = random.Random(3)
    hashes = [chance.getrandbits(61) for _ in range(6_000)]
    whole, part = sorted(hashes[:4_000])[: likeness.SKETCH], sorted(hashes[2_000:6_000])[: likeness.SKETCH]
    assert abs(similarity(tuple(whole), tuple(part)) - 1 / 3) < 0.1
    assert similarity((), ()) == 0.0


def test_short_sources_are_compared_exactly() -> None:
    kept = Kept()
    assert [kept.add(digest, ()) for digest in ("a", "b", "a")] == ["", "", "exact"]


def test_many_like_sources_cost_a_bounded_comparison_each(monkeypatch) -> None:
    compared = []
    monkeypatch.setattr(likeness, "similarity", lambda one, other: compared.append(1) or 0.0)
    kept = Kept()
    for place in range(200):
        kept.add(str(place), tuple(range(likeness.SKETCH)))
    assert len(compared) <= 200 * likeness.MOST_COMPARED


def test_a_hostile_source_is_read_in_linear_time() -> None:
    took = []
    for size in (50_000, 400_000):
        began = time.perf_counter()
        sketch("x=1;" * (size // 4))
        took.append(time.perf_counter() - began)
    assert took[1] < 30 * took[0] + 1.0


def test_splits_are_stable_and_have_their_shares() -> None:
    assert (split_of("softmax"), split_of("problem-7"), split_of("problem-14")) == ("train", "validation", "test")
    shares = [split_of(f"problem-{number}") for number in range(5_000)]
    assert 0.76 < shares.count("train") / 5_000 < 0.84
    assert 0.08 < shares.count("test") / 5_000 < 0.12


def test_problems_with_a_common_reference_have_a_common_key() -> None:
    keys = keys_of({"softmax": ["r1", "r2"], "softmax-2": ["r2"], "copy": ["r3"], "again": ["r3"], "none": []})
    assert keys == {"softmax": "softmax", "softmax-2": "softmax", "copy": "again", "again": "again", "none": "none"}
