"""An expression that fails for a case is refused when its author imports the problem, not after a test run."""

import pytest

from problems.fields import ProblemError
from problems.formats.gpumode import load_problem

TESTS = "tests: [{size: 0, seed: 3}]\n"
ON_GPU = "gpus: [cpu, H200]\nbenchmarks_on: {H200: [{size: 9, seed: 2}]}\n"


@pytest.mark.parametrize(
    ("extra", "field", "says"),
    [
        (
            "precision: {legal: [fp32], reduction: sise}",
            "precision.reduction",
            "'sise' in the case size=4: sise is no argument of this case; it has seed, size",
        ),
        (
            TESTS + "precision: {legal: [fp32], reduction: size}",
            "precision.reduction",
            "'size' in the case size=0: is 0; it must be at least 1",
        ),
        (
            "speed_of_light: {read_bytes: size / 3}",
            "speed_of_light.read_bytes",
            "'size / 3' in the case size=4: 4 / 3 leaves a remainder; write // or ceildiv(4, 3)",
        ),
        (
            ON_GPU + "speed_of_light: {write_bytes: 8 - size}",
            "speed_of_light.write_bytes",
            "'8 - size' in the case size=9: is -1; it must be at least 0",
        ),
        (
            "speed_of_light: {flops: {fp32: 2 * (size}}",
            "speed_of_light.flops.fp32",
            "'2 * (size': is not arithmetic; write something like 4 * rows * cols",
        ),
    ],
)
def test_the_key_the_case_and_the_way_out_are_named(write_problem, extra: str, field: str, says: str) -> None:
    with pytest.raises(ProblemError) as refused:
        load_problem(write_problem(extra=extra))
    assert (refused.value.field, refused.value.message) == (field, says)


@pytest.mark.parametrize(
    "extra",
    [
        TESTS + "speed_of_light: {read_bytes: size - 4}",  # a public test is not timed
        TESTS.replace("0", "1") + "precision: {legal: [fp32], reduction: size}",
        ON_GPU + "speed_of_light: {read_bytes: 9 - size}",
    ],
)
def test_what_every_case_can_be_worked_out_for_is_read_in(write_problem, extra: str) -> None:
    assert load_problem(write_problem(extra=extra)).warnings == ()
