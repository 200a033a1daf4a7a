"""A tenant without a container: the same layout, the same way of an answer back into its slots, in this process."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from runner.judge import faults
from runner.judge.tenant import Call, Input
from sandbox import protocol
from sandbox.inside import tree


class TenantHere:
    """What Trial needs of a Tenant, for code that is ours. Ends as `sys.exit` would end a container."""

    def __init__(self) -> None:
        self.function: Any = None
        self.calls = 0

    def load(self, files: dict[str, str], submission: str, entry: str, limit_s: float) -> None:
        module: dict[str, Any] = {"__name__": "submission"}
        try:
            exec(compile(files[submission], submission, "exec"), module)
        except Exception:
            raise faults.from_answer(protocol.LOAD, protocol.IMPORT, traceback.format_exc(limit=-1)) from None
        finally:
            sys.modules.pop("reference", None)
        self.function = module[entry]

    def lay_out(self, layout: Any, limit_s: float) -> None:
        pass

    def stop_logs(self) -> None:
        pass

    def call(self, given: Input, into: Any, limit_s: float, *, idle: bool = False, hot: bool = False) -> Call:
        self.calls += 1
        layout = json.loads(given.layout.text)
        inputs, outputs = memoryview(bytearray(given.inputs)), memoryview(into)
        into[: given.layout.output_bytes] = 0xA5
        slots = [
            tree.view(inputs, slot, "input") if slot["role"] == "in" else tree.view(outputs, slot, "output")
            for slot in layout["slots"]
        ]
        try:
            keep(layout["result"], self.function(tree.build(layout["data"], slots)), slots)
        except SystemExit:
            raise faults.Fault("runtime_error", "exited", "It ended its own process.") from None
        except Exception:
            raise faults.from_answer(protocol.CALL, protocol.RAISED, traceback.format_exc(limit=-1)) from None
        return Call(1, 0, 0, 1, 0, 0, 0, inputs_kept=True, late=False)


def keep(node: dict[str, Any], returned: Any, slots: list[Any]) -> None:
    if node["kind"] == "tensor":
        if returned.data_ptr() != slots[node["slot"]].data_ptr():
            slots[node["slot"]].copy_(returned)
    elif node["kind"] == "dict":
        for key, part in node["of"]:
            keep(part, returned[key], slots)
    elif node["kind"] in ("tuple", "list"):
        for part, value in zip(node["of"], returned, strict=True):
            keep(part, value, slots)
