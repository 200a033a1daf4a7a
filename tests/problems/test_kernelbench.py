"""KernelBench files become problems by parsing alone; no code of them runs, and an unsuitable file gets a reason."""

import re
import time
from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats import inspect, kernelbench
from problems.spec import MODEL, Precision, Problem

PLAIN = '''
import torch
import torch.nn as nn

raise SystemExit("this file must be read, not run")

class Model(nn.Module):
    """Scales and adds."""

    def __init__(self, width, rate=0.0):
        super(Model, self).__init__()
        self.linear = nn.Linear(width, 4)
        self.drop = nn.Dropout(rate)

    def forward(self, x):
        return self.drop(self.linear(x)) * 2

width = 16
rate = 0.0

def get_inputs():
    return [torch.rand(8, width)]

def get_init_inputs():
    return [width, rate]
'''
NARROW = (("fp32", "tf32", "fp16", "bf16"), 1e-2)


def parsed(source: str, filename: str = "3_Linear_Scale_.py", level: int = 2) -> Problem:
    return kernelbench.parse(source, filename, level)


def test_the_file_is_the_reference_as_it_is() -> None:
    problem = parsed(PLAIN)
    assert problem.files == {"reference.py": PLAIN}
    assert (problem.slug, problem.title, problem.level) == ("kb2-003-linear-scale", "2.3 Linear Scale", 2)
    assert (problem.interface, problem.entry, problem.unsupported) == (MODEL, "ModelNew", "")
    assert problem.description.startswith("Scales and adds.")
    assert Problem.from_bundle(problem.to_bundle()) == problem


def test_a_problem_with_a_function_has_no_interface_in_its_bundle() -> None:
    """Older digests stay the same."""
    bundle = parsed(PLAIN).to_bundle()
    function = {name: value for name, value in bundle.items() if name != "interface"}
    assert Problem.from_bundle(function).to_bundle() == function


def test_the_starter_is_the_model_under_its_new_name() -> None:
    starter = kernelbench.starter(PLAIN)
    assert "class ModelNew(nn.Module)" in starter
    assert "super(ModelNew, self)" in starter
    assert kernelbench.starter('x = "Model"  # Model\nModelling = Model\n') == (
        'x = "Model"  # Model\nModelling = ModelNew\n'
    )
    assert kernelbench.starter("Model, é, Model\n[Model]\n") == "ModelNew, é, ModelNew\n[ModelNew]\n"


def test_a_line_of_many_models_is_renamed_once() -> None:
    began = time.process_time()
    assert kernelbench.starter("Model," * 100_000).count("ModelNew") == 100_000
    assert time.process_time() - began < 5.0


def test_a_file_too_long_for_its_bundle_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProblemError, match="at most 333,333"):
        kernelbench.parse("(" * 333_334, "1_Long.py", 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("class Model(", "class Modell("), "no class Model"),
        (("def get_inputs", "def inputs"), "no function get_inputs"),
        (("def get_init_inputs", "def init_inputs"), "no function get_init_inputs"),
        (("rate = 0.0\n\ndef", "rate = 0.25\n\ndef"), "dropout with p = 0.25"),
        (("import torch\n", "import torch\nfrom timm.models import vgg\n"), "imports timm, which"),
        (("import torch\n", "import torch\nfrom . import layers\n"), r"imports \.layers, which"),
        (("[width, rate]", "[torch" + ".a" * 1500 + "]"), r"torch\.a\.a"),
        (("* 2", "* (torch.randn(4) if x == " + "+".join(["a"] * 450) + " else 2)"), r"torch.randn, line 16"),
        (("* 2", "+ torch.randn(4)"), r"torch.randn, line 16"),
        (("[width, rate]", "[torch.eye(width), rate]"), "torch.eye"),
    ],
)
def test_what_cannot_be_judged_says_why(change: tuple[str, str], reason: str) -> None:
    assert change[0] in PLAIN
    problem = parsed(PLAIN.replace(*change))
    assert re.search(reason, problem.unsupported), problem.unsupported


def test_a_model_file_that_does_not_parse_is_an_error_with_its_line() -> None:
    with pytest.raises(ProblemError, match=r"does not parse as Python: .* \(line \d+\)"):
        parsed(PLAIN.replace("def forward", "def forward("))


@pytest.mark.parametrize(
    "first",
    [
        "from typing_extensions import Self\nimport sympy, triton",
        "try:\n    import transformers\nexcept ImportError:\n    transformers = None",
    ],
)
def test_what_a_file_may_import_is_what_any_problem_may(first: str) -> None:
    assert parsed(f"{first}\n{PLAIN}").unsupported == ""


LANGUAGE_MODEL = """
import torch
from transformers import AutoConfig, AutoModelForCausalLM

class Model(torch.nn.Module):
    def __init__(self, name, config):
        super().__init__()
        self.inner = AutoModelForCausalLM.from_pretrained(name, config=config)

    def forward(self, tokens):
        return self.inner(tokens).logits

name = "some/model"
config = AutoConfig.from_pretrained(name)

def get_inputs():
    return [torch.randint(0, config.vocab_size, (2, 8))]

def get_init_inputs():
    return [name, config]
"""


def test_a_model_of_transformers_is_supported_and_its_image_is_left_to_a_run() -> None:
    problem = parsed(LANGUAGE_MODEL, "1_Some_Model.py", 4)
    assert (problem.unsupported, problem.level) == ("", 4)
    assert problem.precision == Precision(("fp32", "tf32"), 1e-3), "its modules multiply matrices"
    (warning,) = problem.warnings
    assert warning.startswith("it imports transformers: its runners need a sandbox image made with IMAGE_EXTRAS=")


START = "def forward(self, x, start=None):\n        "


@pytest.mark.parametrize(
    "drawn",
    ["if start is None:\n            start = torch.randn(4)\n", "start = torch.randn(4) if start is None else start\n"],
)
def test_a_start_that_is_drawn_where_none_is_given_is_left_to_a_run(drawn: str) -> None:
    problem = parsed(PLAIN.replace("def forward(self, x):\n        ", f"{START}{drawn}        "))
    assert (problem.unsupported, len(problem.warnings)) == ("", 1)
    assert "torch.randn, line 1" in problem.warnings[0]


@pytest.mark.parametrize(
    ("change", "is_doubtful"),
    [
        (("nn.Dropout(rate)", "nn.Dropout(p=0.0)"), False),
        (("nn.Dropout(rate)", "nn.LSTM(4, 4, dropout=rate)"), False),
        (("nn.Dropout(rate)", "nn.Dropout(width / 100)"), True),
        (("nn.Dropout(rate)", f"nn.Dropout({'9' * 400})"), True),
        (("nn.Dropout(rate)", "nn.Dropout(1e999)"), True),
        (("class Model(", "class Drop(nn.Module):\n    rest = nn.Dropout(0.1)\n\nclass Model("), True),
        (("class Model(", "class Drop(nn.Module):\n    rest = nn.Dropout(0.0)\n\nclass Model("), False),
    ],
)
def test_only_a_dropout_rate_that_is_not_known_to_be_0_is_doubtful(change: tuple[str, str], is_doubtful: bool) -> None:
    problem = parsed(PLAIN.replace(*change))
    assert (problem.unsupported, ["dropout" in warning for warning in problem.warnings]) == ("", [True] * is_doubtful)


def test_what_counts_as_installed_is_in_the_image() -> None:
    image = Path(__file__).parents[2] / "sandbox" / "image"
    pinned = (image / "requirements.in").read_text() + (image / "requirements.txt").read_text()  # torch has no hash
    names = {line.partition("==")[0] for line in pinned.splitlines()}
    assert names >= inspect.INSTALLED | (inspect.BROUGHT - {"triton"})


def test_sixteen_bits_have_a_wider_tolerance() -> None:
    assert parsed(PLAIN).precision == Precision(("fp32", "tf32"), 1e-3), "products may be in TF32"
    for product in ("x @ x.T", "torch.einsum('ab,bc', x, x)", "nn.functional.conv2d(x, x)", "torch.bmm(x, x)"):
        source = PLAIN.replace("self.drop(self.linear(x)) * 2", product).replace("nn.Linear", "nn.LayerNorm")
        assert parsed(source).precision == Precision(("fp32", "tf32"), 1e-3), product
    softmax = PLAIN.replace("self.drop(self.linear(x)) * 2", "torch.softmax(x, 1)").replace("nn.Linear", "nn.LayerNorm")
    assert parsed(softmax.replace("linear", "norm")).precision == Precision(("fp32",), 1e-4), (
        "half precision is not fp32"
    )
    wide, narrow = parsed(PLAIN), parsed(PLAIN.replace("torch.rand(8, width)", "torch.rand(8, width).half()"))
    assert wide.tolerance is not None
    assert narrow.tolerance is not None
    assert wide.tolerance.rtol == wide.tolerance.atol == 1e-4
    assert narrow.tolerance.rtol == narrow.tolerance.atol == 1e-2


@pytest.mark.parametrize(
    ("written", "is_narrow"),
    [
        ("x.half()", True),
        ("x.bfloat16()", True),
        ("x.to(torch.half)", True),
        ("x.to(torch.float16)", True),
        ("x.to(getattr(torch, 'bfloat16'))", True),
        ("x.to(dtype='torch.float16')", True),
        ("x[: self.half]", False),
        ("half(x, half=len(x) // 2)", False),
        ("self.half(x)", False),
        ("x + len('half')", False),
    ],
)
def test_16_bits_are_where_they_are_named_and_not_where_something_is_halved(written: str, is_narrow: bool) -> None:
    problem = parsed(PLAIN.replace("self.linear(x)", f"self.linear({written})"))
    assert problem.precision == Precision(*(NARROW if is_narrow else (("fp32", "tf32"), 1e-3)))


@pytest.mark.parametrize("odd", ["\x0c\n", '"""\x0c \u2028 \x85 \x1c"""\n', "# \u2029 Model\n"])
def test_the_starter_has_its_name_in_its_place_whatever_some_take_for_a_line(odd: str) -> None:
    assert kernelbench.starter(odd + PLAIN) == odd + kernelbench.starter(PLAIN)


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_and_a_mark_of_byte_order_are_no_part_of_a_file(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "3_Linear_Scale_.py"
    path.write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", ends).encode())
    assert kernelbench.load_file(path, 2) == parsed(PLAIN)


def test_a_file_that_only_python_takes_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    odd = PLAIN.replace("def get_inputs", "def odd():\n    pass\n  \\\n\ndef get_inputs")
    assert inspect.parse(odd) is not None
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "1_Odd.py").write_text(odd)
    (tmp_path / "level1" / "2_Plain.py").write_text(PLAIN)
    found = kernelbench.load_collection(tmp_path)
    assert [entry.slug for entry in found.entries] == ["kb1-002-plain"]
    assert [fault.name for fault in found.faults] == ["level1/1_Odd.py"]
    assert "cannot be read word by word" in found.faults[0].message


def test_a_collection_is_read_by_levels_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for name in ("level1/10_B.py", "level1/9_A_.py", "level1/helper.py", "level2/1_C.py", "level4/1_D.py"):
        path = tmp_path / "KernelBench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLAIN)
    every = kernelbench.load_collection(tmp_path)
    assert [entry.slug for entry in every.entries] == ["kb1-009-a", "kb1-010-b", "kb2-001-c"]
    assert [entry.slug for entry in kernelbench.load_collection(tmp_path, levels=[2]).entries] == ["kb2-001-c"]
    assert len(kernelbench.load_collection(tmp_path / "KernelBench" / "level1", levels=[1]).entries) == 2
    with pytest.raises(ProblemError, match="level3"):
        kernelbench.load_collection(tmp_path, levels=[3])


def test_a_link_out_of_the_collection_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(PLAIN)
    folder = tmp_path / "set" / "level1"
    folder.mkdir(parents=True)
    (folder / "1_Link.py").symlink_to(tmp_path / "secret.py")
    (folder / "2_Plain.py").write_text(PLAIN)
    found = kernelbench.load_collection(tmp_path / "set")
    assert [entry.slug for entry in found.entries] == ["kb1-002-plain"]
    assert ["outside" in fault.message for fault in found.faults] == [True]


def test_long_names_are_cut_and_stay_apart() -> None:
    words = "conv_transposed_2D_asymmetric_input_asymmetric_kernel_strided__grouped____padded____dilated__"
    first, second = (parsed(PLAIN, f"{number}_{words}.py", 1) for number in (75, 76))
    assert len(first.slug) <= 64
    assert first.slug != second.slug


@pytest.mark.parametrize(("precision", "dtype"), [("fp16", "float16"), ("bf16", "bfloat16")])
def test_a_variant_in_half_precision_has_names_a_tolerance_and_a_tail_of_its_own(precision: str, dtype: str) -> None:
    plain, half = parsed(PLAIN), kernelbench.parse(PLAIN, "3_Linear_Scale_.py", 2, precision)
    assert (half.slug, half.title) == (f"{plain.slug}-{precision}", f"{plain.title} ({precision})")
    assert half.tags == ("kernelbench", precision)
    assert half.precision is not None
    assert precision in half.precision.legal
    assert half.tolerance is not None
    assert (half.tolerance.rtol, half.precision.max_relative_l2) == (1e-2, 1e-2)
    assert f"works in {dtype}" in half.description
    for text in (half.files["reference.py"], *half.templates.values()):
        assert text.startswith("\nimport torch")
        assert f"self.to(torch.{dtype})" in text
        inspect.parse(text)
    assert half.templates["Python"].endswith("ModelNew.__init__ = _init_and_convert\n")
    assert half.digest != plain.digest
    assert Problem.from_bundle(half.to_bundle()) == half


def test_a_long_name_keeps_its_precision() -> None:
    half = kernelbench.parse(PLAIN, f"3_{'Very_Long_' * 12}.py", 2, "bf16")
    assert len(half.slug) <= 64
    assert half.slug.endswith("-bf16")


def test_fp32_is_the_file_as_it_is() -> None:
    assert kernelbench.parse(PLAIN, "3_Linear_Scale_.py", 2, "fp32") == parsed(PLAIN)
