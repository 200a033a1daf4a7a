"""Reader of KernelBench files: a class `Model`, `get_inputs()`, `get_init_inputs()`; the answer is a class `ModelNew`.

Reads text and its syntax tree, and never executes it. The file becomes `reference.py` as it is (`interface: model`,
sandbox/inside/modelnew.py), without any loss; a variant in half precision gets a tail that converts it. A file that
this judge cannot judge is loaded with the reason in `unsupported`; a doubt that only a run can settle is a warning.
"""

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from problems.fields import ProblemError, as_text, printable
from problems.formats import inspect
from problems.formats.files import read_text
from problems.formats.gpumode import MAX_NAME_CHARS, MAX_PROBLEMS, Fault, ProblemSet, SetEntry
from problems.spec import BUNDLE_VERSION, COMPILED, MAX_BUNDLE_BYTES, MAX_GPUS, MODEL, Problem, as_words

NAME: Final = "KernelBench"
FAST_P: Final = "fast_p"  # KernelBench's score of a whole collection
LEVELS: Final = (1, 2, 3)  # read by default
ENTRY: Final = "ModelNew"
TEST_SEEDS: Final = (1, 2)
TIMED_SEED: Final = 3
MAX_CHARS: Final = MAX_BUNDLE_BYTES // 3  # of a file, which its bundle holds three times

# An element passes by KernelBench's rule. That alone would take zeros for a softmax of a long row. The whole output
# must therefore be right, too: fp32 stays below 1e-4, which half precision (2e-4 and more) does not; with products in
# TF32, which rounds as fp16 does, below 1e-3; 16 bits below 1e-2.
# Each: legal formats, tolerance of an element (relative and absolute), relative error of the whole output.
_Accuracy: TypeAlias = tuple[tuple[str, ...], float, float]
PLAIN: Final[_Accuracy] = (("fp32",), 1e-4, 1e-4)
WIDE: Final[_Accuracy] = (("fp32", "tf32"), 1e-4, 1e-3)
NARROW: Final[_Accuracy] = (("fp32", "tf32", "fp16", "bf16"), 1e-2, 1e-2)
FP32: Final = "fp32"  # a file as it is
# Precision of a variant → its name in torch, and its tolerance: KernelBench's own for 16 bits.
HALF: Final[dict[str, tuple[str, _Accuracy]]] = {
    "fp16": ("float16", (("fp32", "tf32", "fp16"), 1e-2, 1e-2)),
    "bf16": ("bfloat16", NARROW),
}
PRECISIONS: Final = (FP32, *HALF)
_PRODUCTS: Final = re.compile(
    r"(?i)(linear|bilinear|conv(_?transpose)?[123]d|lazy\w+|mat_?mul|b?mm|addb?mm|baddbmm|mv|dot|vdot|einsum|tensordot|"
    r"inner|outer|kron|lstm|gru|rnn|(lstm|gru|rnn)cell|multihead_?attention\w*|scaled_dot_product_attention|transformer\w*)"
)
_NARROW: Final = frozenset({"float16", "bfloat16"})
_NARROW_TEXTS: Final = _NARROW | {f"torch.{name}" for name in _NARROW}
_RANDOM: Final = frozenset(
    {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "bernoulli", "multinomial"}
)
_LEVEL: Final = re.compile(r"level_?(\d)")
_FILE: Final = re.compile(r"(\d{1,4})_(.+)\.py")

_DESCRIPTION: Final = (
    "Send a class `{entry}` with the constructor and `forward` of `Model` in the reference (KernelBench level "
    "{level}). Both are constructed from the same seed, drawn for each run, and then work on the same parameters: "
    "keep their names, or draw them in the same order. Weights stay the same through a run; inputs are fresh in "
    "each call. Buffers that a call of `Model` changes, such as running statistics, are compared like an output; "
    "in messages they come before the results. What `Model` keeps in `self` otherwise, such as a hidden state, "
    "starts afresh in each call, in `ModelNew` under the same name."
)
_COMPILED_TAIL: Final = '''

class ModelNew(Model):
    """The same, compiled by torch. Once while this file is imported, so that no call waits for the compiler."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.compile()


with torch.no_grad():
    _device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    _inputs = [item.to(_device) if isinstance(item, torch.Tensor) else item for item in get_inputs()]
    ModelNew(*get_init_inputs()).to(_device)(*_inputs)
    del _inputs
'''

_HALF_DESCRIPTION: Final = (
    "\n\nThis variant works in {dtype}. `Model` draws its parameters as the file does and then converts them, and the "
    "inputs are converted, too. `ModelNew` must do the same: the last lines of the starter convert any class. "
    "Parameters of a different dtype do not take the values that the judge sends."
)
# `super(Model, self)` looks the class up by its name: the class itself is changed, and keeps its name.
_HALF_TAIL: Final = """

# -- the same in {dtype}: what the constructor drew, and the inputs ---------------------------------------------------

_init_before, _inputs_before = Model.__init__, get_inputs


def _converted(value):
    if isinstance(value, torch.Tensor):
        return value.to(torch.{dtype}) if value.is_floating_point() else value
    if type(value) in (list, tuple):
        return type(value)(map(_converted, value))
    if type(value) is dict:
        return {{key: _converted(item) for key, item in value.items()}}
    return value


def _init_and_convert(self, *args, **kwargs):
    _init_before(self, *args, **kwargs)
    self.to(torch.{dtype})
    for module in self.modules():
        for name, value in [*vars(module).items()]:
            if isinstance(value, torch.Tensor):  # neither a parameter nor a buffer, such as a hidden state
                setattr(module, name, _converted(value))


def get_inputs():
    return _converted(_inputs_before())


Model.__init__ = _init_and_convert
"""


def load_collection(
    path: Path,
    *,
    levels: Iterable[int] = (),
    hardware: tuple[str, ...] = ("cpu",),
    name: str = "",
    precision: str = FP32,
) -> ProblemSet:
    """Load every file of the levels below `path` (a checkout, its KernelBench folder, or a level's folder).

    `precision`: one of PRECISIONS; a variant in half precision has names of its own. A file that cannot be read is a
    fault and leaves the rest. Raises ProblemError where there are no files, and for names that a set could not have.
    """
    name = name or NAME + ("" if precision == FP32 else f" {precision}")
    name = printable(as_text(name, "name", MAX_NAME_CHARS, empty_ok=False))
    hardware = as_words(hardware, "hardware", MAX_GPUS)
    if not hardware:
        raise ProblemError("hardware", "is empty; name at least one, such as cpu")
    wanted = sorted(set(levels)) or list(LEVELS)
    folders = _level_folders(path.resolve())
    missing = [level for level in wanted if level not in folders]
    if missing and (levels or len(missing) == len(wanted)):
        raise ProblemError("levels", f"no folder level{missing[0]} with numbered .py files in or below {path.name}")
    files = [(file, level) for level in wanted if level in folders for file in _files(folders[level])]
    if len(files) > MAX_PROBLEMS:
        raise ProblemError("problems", f"{len(files)} files, at most {MAX_PROBLEMS}; import fewer levels")
    entries: dict[str, SetEntry] = {}
    faults: list[Fault] = []
    for file, level in files:
        try:
            problem = load_file(file, level, precision)
            if problem.slug in entries:
                raise ProblemError("file", f"comes to the name {problem.slug}, as another one does; rename it")
            entries[problem.slug] = SetEntry(problem, problem.slug, deadline=None, gpus=hardware)
        except ProblemError as error:
            faults.append(Fault.of(error, f"level{level}/{file.name}"[:MAX_NAME_CHARS]))
    return ProblemSet(
        name=name,
        description="PyTorch modules to be replaced by faster ones with the same result. A competitor is ranked by "
        "fast_p: the share of all problems that they solve correctly and more than p times as fast as the baseline.",
        deadline=None,
        entries=tuple(entries.values()),
        warnings=tuple(f"{slug}: {warning}" for slug, entry in entries.items() for warning in entry.problem.warnings),
        faults=tuple(faults),
        scoring=FAST_P,
    )


def find_collection(top: Path) -> Path | None:
    """Return the folder of a collection in an unpacked archive: the folder itself, or one or two levels below it."""
    children = [child for child in sorted(top.iterdir()) if child.is_dir()]
    grandchildren = [folder for child in children for folder in sorted(child.iterdir()) if folder.is_dir()]
    if any(next(folder.glob("*.yaml"), None) for folder in (top, *children)):
        return None  # problem sets in GPU MODE's convention
    return next((folder for folder in (top, *children, *grandchildren) if _level_folders(folder)), None)


def load_file(path: Path, level: int, precision: str = FP32) -> Problem:
    """Load a file as a problem. Raises ProblemError where it is no text, or no file of a collection."""
    return parse(read_text(path, path.parent, path.name), path.name, level, precision)


def level_of(path: Path) -> int:
    """Return the level in the name of the file's folder, or 1 if the name has none."""
    match = _LEVEL.fullmatch(Path(os.path.realpath(path)).parent.name)
    return int(match[1]) if match else 1


def parse(source: str, filename: str, level: int, precision: str = FP32) -> Problem:
    number, words = _named(filename)
    if len(source) > MAX_CHARS:  # before it is read word by word
        fault = f"{len(source):,} characters, at most {MAX_CHARS:,}: its bundle holds it three times; make it smaller"
        raise ProblemError("file", fault)
    tree = inspect.parse(source)
    model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
    own = (ast.get_docstring(model) or "").strip()[:20_000] if model else ""
    unsupported, doubts = _assess(tree, model)
    nodes = list(ast.walk(tree))
    words_used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    words_used |= {node.id for node in nodes if isinstance(node, ast.Name)}
    multiplies = any(isinstance(node, ast.MatMult) for node in nodes) or any(map(_PRODUCTS.fullmatch, words_used))
    multiplies |= bool(inspect.code_of(tree).imported & inspect.LAYERS.keys())  # products of its modules
    legal, distance, error = NARROW if any(map(_is_narrow, nodes)) else WIDE if multiplies else PLAIN
    ending, more = "", ""
    if precision != FP32:
        dtype, (legal, distance, error) = HALF[precision]
        ending, more = f"-{precision}", _HALF_DESCRIPTION.format(dtype=dtype)
        source = source.rstrip() + "\n" + _HALF_TAIL.format(dtype=dtype)
    slug = f"kb{level}-{number:03}-{words.lower().replace(' ', '-')}"
    bundle = {
        "bundle": BUNDLE_VERSION,
        "slug": slug[: 64 - len(ending)].rstrip("-") + ending,
        "title": f"{level}.{number} {words}" + (f" ({precision})" if ending else ""),
        "description": f"{own}\n\n".lstrip() + _DESCRIPTION.format(entry=ENTRY, level=level) + more,
        "files": {"reference.py": source},
        "entry": ENTRY,
        "interface": MODEL,
        "templates": {}
        if unsupported
        else {"Python": starter(source), COMPILED: source.rstrip() + "\n" + _COMPILED_TAIL},
        "tests": [{"seed": seed} for seed in TEST_SEEDS],
        "benchmarks": [{"seed": TIMED_SEED}],
        "ranking_by": "geom",
        "level": level,
        "tags": ["kernelbench", *([precision] if ending else [])],
        "unsupported": unsupported,
        "tolerance": {"rtol": distance, "atol": distance},
        "precision": {"legal": legal, "max_relative_l2": error},
    }
    return Problem.from_bundle(bundle, warnings=tuple(doubts))


def starter(source: str) -> str:
    """Return the file with its Model renamed to ModelNew: correct, and exactly as fast as the baseline."""
    lines = source.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError) as error:  # for a few files that Python itself accepts
        fault = f"cannot be read word by word: {error.args[0]}; write it with plain lines"
        raise ProblemError("file", fault) from error
    places: dict[int, list[int]] = {}
    for token in tokens:
        if token.type == tokenize.NAME and token.string == "Model":
            places.setdefault(token.start[0], []).append(token.start[1])
    for row, columns in places.items():
        line, starts = lines[row - 1], [0, *(column + len("Model") for column in columns)]
        parts = zip(starts, [*columns, len(line)], strict=True)
        lines[row - 1] = ENTRY.join(line[start:end] for start, end in parts)
    return "\n".join(lines)


def _level_folders(path: Path) -> dict[int, Path]:
    """Return the folder of each level: `path` itself, or below it, or below its KernelBench folder."""
    places = [path, *(child for base in (path, path / NAME) if base.is_dir() for child in sorted(base.iterdir()))]
    found: dict[int, Path] = {}
    for place in places:
        match = _LEVEL.fullmatch(place.name)
        if match and place.is_dir() and any(True for _ in _files(place)):
            found.setdefault(int(match[1]), place)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Yield numbered files, in the order of their numbers; files without a number are helpers."""
    named = [(path, _FILE.fullmatch(path.name)) for path in folder.iterdir()]
    yield from sorted((path for path, match in named if match), key=lambda path: (_named(path.name)[0], path.name))


def _named(filename: str) -> tuple[int, str]:
    match = _FILE.fullmatch(filename)
    if match is None:
        raise ProblemError("file", f"{filename[:80]!r} is not named as in KernelBench: number, _, words, .py")
    return int(match[1]), " ".join(re.sub(r"[^A-Za-z0-9]+", " ", match[2]).split())[:160] or "problem"


def _is_narrow(node: ast.AST) -> bool:
    """Return whether a node names a format of 16 bits.

    The word `half` counts as `torch.half` and as a call, `x.half()`: elsewhere it may be a length.
    """
    match node:
        case ast.Call(func=ast.Attribute(attr="half"), args=[]) | ast.Attribute(ast.Name("torch"), "half"):
            return True
        case ast.Attribute(attr=name) | ast.Name(name) | ast.alias(name):
            return name in _NARROW
        case ast.Constant(str(text)):
            return text in _NARROW_TEXTS
    return False


def _assess(tree: ast.Module, model: ast.ClassDef | None) -> tuple[str, list[str]]:
    """Return the reason why this judge cannot judge the file, or "", and the doubts that only a run can settle."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if model is None:
        return "It defines no class Model.", []
    for name in ("get_inputs", "get_init_inputs"):
        if name not in functions:
            return f"It defines no function {name}().", []
    codes = {inspect.REFERENCE: inspect.code_of(tree)}
    if absent := inspect.why_imports_fail(codes):
        return absent, []
    random = "Its forward draws random numbers ({}), so right answers need not be the same."
    if drawn := next(_draws(model, always=True), ""):
        return random.format(drawn), []
    init = functions["get_init_inputs"]
    rates = list(_dropout(tree, model, init))
    if any(rates):
        return random.format(f"dropout with p = {max(filter(None, rates)):g}"), []
    if odd := _not_plain(init):
        return f"get_init_inputs() gives the constructor {odd}; a judge can send it numbers, text, lists and dicts.", []
    helpers = (node for node in tree.body if isinstance(node, ast.ClassDef) and node is not model)
    rates += [_number(rate) for helper in helpers for rate in _rates(helper)]
    doubts = [doubt] if (doubt := inspect.doubt_of_imports(codes)) else []
    if any(rate != 0 for rate in rates):
        run = "the first run says that its forward draws random numbers"
        doubts.append(f"it uses dropout: where its rate is not 0, {run}")
    if drawn := next(_draws(model, always=False), ""):
        run = "the first run says whether results depend on it"
        doubts.append(f"its forward draws what it is not given ({drawn}): {run}")
    return "", doubts


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _draws(model: ast.ClassDef, *, always: bool) -> Iterator[str]:
    """Yield drawing calls in Model's forward, as `torch.randn, line 12`: unconditional, or where an argument is None.

    A value drawn in place of an argument is a start, like a hidden state, which results may well forget.
    """
    forward = _method(model, "forward")
    if forward is None:
        return
    within: set[ast.AST] = set()  # bodies that run where an argument is None
    for node in ast.walk(forward):
        match node:
            case ast.If(ast.Compare(ast.Name(), [ast.Is()], [ast.Constant(None)]), body):
                within.update(inner for part in body for inner in ast.walk(part))
            case ast.IfExp(ast.Compare(ast.Name(), [ast.Is()], [ast.Constant(None)]), value):
                within.update(ast.walk(value))
    for node in ast.walk(forward):
        called = node.func if isinstance(node, ast.Call) and (node in within) != always else None
        if isinstance(called, ast.Attribute) and called.attr in _RANDOM and _root(called) == "torch":
            yield f"torch.{called.attr}, line {called.lineno}"


def _dropout(tree: ast.Module, model: ast.ClassDef, init: ast.FunctionDef) -> Iterator[float | None]:
    """Yield the dropout rates in Model's own constructor; None for a rate that is not written down as a number."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    made = _method(model, "__init__")
    names = [argument.arg for argument in made.args.args[1:]] if made else []
    last = init.body[-1]
    returned = last.value.elts if isinstance(last, ast.Return) and isinstance(last.value, ast.List | ast.Tuple) else []
    passed = dict(zip(names, returned, strict=False))
    for rate in _rates(made):
        yield _number(rate, passed, constants)


def _rates(code: ast.AST | None) -> Iterator[ast.expr]:
    """Yield the rate of each torch dropout layer, and the argument `dropout` of any different layer."""
    for node in ast.walk(code) if code else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_dropout = node.func.attr.startswith("Dropout")
            given = [word.value for word in node.keywords if word.arg == ("p" if is_dropout else "dropout")]
            given += node.args[:1] if is_dropout else []
            yield from given[:1] or ([ast.Constant(0.5)] if is_dropout else [])


def _number(node: ast.expr, *scopes: dict[str, ast.expr]) -> float | None:
    """Return the rate behind a name, looked up in one scope after the next; None if no rate is written down."""
    for known in scopes:
        if isinstance(node, ast.Name):
            node = known.get(node.id, node)
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def _not_plain(function: ast.FunctionDef) -> str:
    """Return, as it is written, the first torch object that would have to reach the constructor; "" for none."""
    attributes = [node for node in ast.walk(function) if isinstance(node, ast.Attribute)]
    inner = {node.value for node in attributes}  # of `a.b.c`, whose root is read once
    for node in attributes:
        if node not in inner and _root(node) in ("torch", "nn", "F"):
            return _dotted(node)[:80]
    return ""


def _root(node: ast.expr) -> str:
    return _dotted(node).partition(".")[0]


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])
