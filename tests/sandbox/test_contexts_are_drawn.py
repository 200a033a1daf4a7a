"""A container draws contexts of a device, here of a fake driver, until launches take the wanted time."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "sandbox" / "inside" / "cuda_context.py"
FAST, FASTER, SLOW = [2370.0, 1330.0], [2345.0, 1310.0], [2530.0, 1440.0]


class Drawing:
    """The module with a fake driver. `times`: of its contexts, in the order in which they are made."""

    def __init__(self, module: Any, times: list[list[float]], monkeypatch: pytest.MonkeyPatch) -> None:
        self.module, self.acts = module, list[str]()
        left = iter(times)

        def call(name: str, *arguments: Any) -> tuple[Any, ...]:
            self.acts.append(name)
            return (0,)

        monkeypatch.setattr(module, "call", call)
        monkeypatch.setattr(module, "launch_times", lambda: next(left))

    def alive(self) -> int:
        return self.acts.count("cuDevicePrimaryCtxRetain") - self.acts.count("cuDevicePrimaryCtxRelease")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("cuda", "cuda.bindings", "device"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["cuda.bindings"].driver = SimpleNamespace()  # type: ignore[attr-defined]
    sys.modules["device"].call = sys.modules["device"].wait_until = None  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("cuda_context", FILE)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("times", "like", "drawn"),
    [
        ([SLOW, FAST, *4 * [SLOW], FAST], None, 7),
        ([*5 * [SLOW], FAST], None, 6),
        ([FASTER, *6 * [FAST], SLOW, FAST], None, 6),
        ([SLOW, SLOW, FAST], FASTER, 3),
        ([SLOW, FAST], SLOW, 1),
        ([*8 * [SLOW], [2400.0, 1350.0]], FASTER, 9),
        (50 * [SLOW], FAST, 40),
    ],
    ids=[
        "until one is as fast as the fastest",
        "six at the least",
        "a per cent apart is alike",
        "like another side's",
        "like another side's slow one",
        "less strict after eight",
        "never for ever",
    ],
)
def test_contexts_are_drawn_until_one_is_alike(
    module: Any, times: list[list[float]], like: list[float] | None, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = Drawing(module, times, monkeypatch)
    assert module.draw(like) == times[:drawn]
    assert drawing.alive() == 1, "all others have ended"
