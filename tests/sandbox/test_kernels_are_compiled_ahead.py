"""Triton's kernels are compiled where there is no device, and a call with real data finds them."""

import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbox import protocol

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
REFERENCE = """
import torch

def generate_input(rows, cols, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    x = torch.randn((rows, cols), device="cuda", generator=generator)
    return x, torch.empty_like(x)

def ref_kernel(data):
    return data[0]
"""
MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(cols))

def get_inputs():
    return [torch.rand(64, 128)]

def get_init_inputs():
    return [128]
"""
KERNEL = """
import torch
import triton
import triton.language as tl
{tuned}
@triton.jit
def doubled(x, out, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    tl.store(out + row + at, 2 * tl.load(x + row + at, mask=at < cols), mask=at < cols)

def custom_kernel(data):
    x, out = data
    assert x.is_cuda and x.device.type == "cuda"
    {before}
    doubled[(x.shape[0],)](x, out, x.shape[1], BLOCK={block})
    return out
"""
MODEL_NEW = """
class ModelNew(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return custom_kernel((x * self.weight, torch.empty_like(x)))
"""
TUNED = "@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 2, 4)], key=['cols'])"
CASES = [{"rows": 4, "cols": 64}, {"rows": 3, "cols": 333}]
PROGRAM = """
import json, os, sys

asked = json.loads(sys.argv[1])
sys.path[:0] = asked["path"]
import harness, kernels_ahead, problem_code, torch

kernels_ahead.CACHE, kernels_ahead.OWN = asked["home"] + "/.triton", asked["home"] + "/.ahead"
harness.WORK = asked["home"] + "/work"
kernels_ahead.take_driver_away([9, 0], 132)
kernels_ahead.show_device([9, 0], 132)
problem_code.put({"submission.py": asked["source"]}, harness.WORK)
interface = "model" if "ModelNew" in asked["source"] else "function"
entry = "ModelNew" if interface == "model" else "custom_kernel"
function = harness.load({"submission.py": asked["source"]}, "submission.py", entry, interface, None, on_device=True)
if asked["real"]:  # data with contents, on the host: nothing is launched
    torch.Tensor.is_cuda, torch.Tensor.device = True, torch.device("cuda")
    for case in asked["cases"]:
        x = torch.zeros(case["rows"], case["cols"])
        function((x, torch.zeros_like(x)))
else:
    kernels_ahead.compile_for(function, {"reference.py": asked["reference"]}, asked["cases"], asked["limit_s"])
"""

BUILDER = """
import json, sys

asked = json.loads(sys.argv[1])
sys.path[:0] = asked["path"]
import builder, harness, kernels_ahead

harness.SOCKET, harness.HOME, harness.WORK = asked["home"] + "/socket", asked["home"], asked["home"] + "/work"
kernels_ahead.CACHE, kernels_ahead.OWN = asked["home"] + "/.triton", asked["home"] + "/.ahead"
builder.main()
"""


def kernel(*, tuned: str = "", before: str = "pass", block: str = "triton.next_power_of_2(x.shape[1])") -> str:
    return KERNEL.format(tuned=tuned, before=before, block=block)


def run(home: Path, source: str, **changes: Any) -> str:
    """Compile ahead in a process of its own, whose home is this folder, and return what it printed."""
    asked = {"path": [str(INSIDE), str(INSIDE.parent)], "home": str(home), "source": source, "cases": CASES}
    asked |= {"reference": REFERENCE, "limit_s": 60.0, "real": False, **changes}
    command = [sys.executable, "-c", PROGRAM, json.dumps(asked)]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin:/sbin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def built(home: Path, source: str) -> dict[str, bytes]:
    """Let the builder's program, outside of a container, build a submission, and return the files of its archive."""
    asked = {"path": [str(INSIDE), str(INSIDE.parent)], "home": str(home)}
    load = {"files": {"submission.py": source}, "submission": "submission.py", "entry": "custom_kernel"}
    kernels = {"files": {"reference.py": REFERENCE}, "cases": CASES, "limit_s": 60.0}
    job = {"load": {**load, "interface": "function", "build": None}, "on_device": True, "kernels": kernels}
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin:/sbin"}
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listening:
        listening.bind(str(home / "socket"))
        listening.listen(1)
        listening.settimeout(60)
        running = subprocess.Popen([sys.executable, "-c", BUILDER, json.dumps(asked)], env=environment)
        connection, _ = listening.accept()
        with connection, open(os.devnull, "wb") as nowhere, tempfile.TemporaryFile() as archive:
            assert protocol.receive(connection)[0] == {"ready": protocol.VERSION}
            protocol.send(connection, {"capability": [9, 0], "processors": 132})
            assert protocol.receive(connection)[0] == {"can_compile": True}
            protocol.send(connection, {})
            assert protocol.receive(connection)[0] == {"mapped": True}
            protocol.send(connection, job, (nowhere.fileno(), nowhere.fileno(), archive.fileno()))
            assert protocol.receive(connection)[0] == {"done": True}
            archive.seek(0)
            assert running.wait(60) == 0
            with tarfile.open(fileobj=archive) as found:
                return {info.name: found.extractfile(info).read() for info in found}  # type: ignore[union-attr]


def compiled(home: Path) -> dict[Path, int]:
    """Return the machine code in Triton's folder, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in home.glob(".triton/cache/*/*.cubin")}


def test_a_kernel_is_compiled_for_each_shape_and_a_call_with_data_finds_it(tmp_path: Path) -> None:
    run(tmp_path, kernel())
    found = compiled(tmp_path)
    assert len(found) == 2  # blocks of 64 and of 512
    run(tmp_path, kernel(), real=True)
    assert compiled(tmp_path) == found


def test_an_archive_has_the_files_of_the_import_and_the_kernels_of_the_calls(tmp_path: Path) -> None:
    writes = "open('{}/{}', 'w').write('{}')"
    by_import = writes.format(tmp_path, "kept", "by the import")
    by_call = f"{writes.format(tmp_path, 'kept', 'by a call')}; {writes.format(tmp_path, 'other', 'by a call')}"
    found = built(tmp_path, f"{by_import}\n{kernel(before=by_call)}")
    assert found["kept"] == b"by the import"
    names = {Path(name).name for name in found if not name.startswith(".triton/")}
    assert names == {"kept"}
    assert sum(name.endswith(".cubin") for name in found) == 2


def test_each_choice_of_a_tuner_is_compiled(tmp_path: Path) -> None:
    run(tmp_path, kernel(tuned=TUNED), cases=CASES[:1])
    assert len(compiled(tmp_path)) == 3


def test_a_tuner_that_keeps_its_times_keeps_none_of_these(tmp_path: Path) -> None:
    run(tmp_path, kernel(tuned=TUNED.replace("key=", "cache_results=True, key=")), cases=CASES[:1])
    assert len(compiled(tmp_path)) == 3
    assert not list(tmp_path.glob(".triton/cache/*/*.autotune.json"))


def test_the_memory_that_a_block_may_share_is_known(tmp_path: Path) -> None:
    need = "torch.cuda.get_device_properties(0).shared_memory_per_block_optin == 232_448"
    run(tmp_path, kernel(before=f"assert {need}"))
    assert len(compiled(tmp_path)) == 2


def test_registers_of_a_kernel_can_be_asked_for(tmp_path: Path) -> None:
    launch = "doubled.warmup(x, out, 4, BLOCK=16, grid=(1,))"
    asked = f"one = {launch}; one._init_handles(); 65_536 // one.n_regs"
    run(tmp_path, kernel(before=asked), cases=CASES[:1])
    assert len(compiled(tmp_path)) == 2


def test_the_number_of_multiprocessors_is_known(tmp_path: Path) -> None:
    count = "triton.next_power_of_2(torch.cuda.get_device_properties(x.device).multi_processor_count)"
    run(tmp_path, kernel(block=count), cases=CASES[:1])
    assert len(compiled(tmp_path)) == 1
    (source,) = tmp_path.glob(".triton/cache/*/doubled.ttir")
    assert "256" in source.read_text()


def test_a_model_is_called_without_its_weights(tmp_path: Path) -> None:
    run(tmp_path, kernel() + MODEL_NEW, reference=MODEL, cases=[{}])
    assert len(compiled(tmp_path)) == 1


def test_what_any_call_imports_was_imported_once_for_all(tmp_path: Path) -> None:
    count = "print('modules', len(sys.modules), flush=True)"
    drawn = "x = torch.randint(9, (rows, cols), device='cuda', generator=generator); x = torch.ldexp(x.float(), x)"
    reference = REFERENCE.replace('x = torch.randn((rows, cols), device="cuda", generator=generator)', drawn)
    source = kernel(tuned=f"import sys; {count}").replace("    return out", f"    {count}\n    return out")
    said = run(tmp_path, source, reference=reference, cases=CASES[:1])
    assert len(compiled(tmp_path)) == 1
    before, after = (int(line.split()[1]) for line in said.splitlines() if line.startswith("modules"))
    assert after - before < 20, "sympy alone has hundreds, and a first launch imports 40"


def test_a_container_reads_the_compiler_before_it_has_a_job(tmp_path: Path) -> None:
    told = "from triton.runtime.cache import triton_key; print(triton_key.cache_info().currsize)"
    told += "; print(kernels_ahead.GLUON in sys.modules)"
    act = "kernels_ahead.DEVICES = '/dev/null'; kernels_ahead.prepare_triton()"
    program = f"import sys; sys.path[:0] = sys.argv[1:]; import kernels_ahead; {act}; {told}"
    command = [sys.executable, "-c", program, str(INSIDE), str(INSIDE.parent)]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/sbin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\nTrue\n"


def test_without_a_device_triton_is_not_imported(tmp_path: Path) -> None:
    program = "import sys; sys.path[:0] = sys.argv[1:]; import kernels_ahead as one; one.prepare_triton()"
    command = [sys.executable, "-c", f"{program}; assert 'triton.runtime.cache' not in sys.modules"]
    subprocess.run([*command, str(INSIDE), str(INSIDE.parent)], env={"HOME": str(tmp_path)}, check=True)


def test_an_import_that_has_the_kernel_collect_its_children_is_borne(tmp_path: Path) -> None:
    run(tmp_path, "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + kernel())
    assert len(compiled(tmp_path)) == 2


def test_modules_that_call_the_driver_are_linked_with_it_by_name(tmp_path: Path) -> None:
    run(tmp_path, kernel(), cases=CASES[:1])
    (module,) = tmp_path.glob(".triton/cache/*/cuda_utils*.so")
    told = subprocess.run(["readelf", "-d", str(module)], capture_output=True, text=True, check=True).stdout
    assert "[libcuda.so.1]" in told


def test_code_that_reads_a_value_is_left_to_the_tenant(tmp_path: Path) -> None:
    said = run(tmp_path, kernel(before="x.shape[1] > 99 and x.sum().item()"))
    assert len(compiled(tmp_path)) == 1
    assert "not compiled ahead for {'rows': 3, 'cols': 333}" in said


def test_a_call_that_never_ends_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    run(tmp_path, kernel(before="while x.shape[1] > 99: pass"), limit_s=5.0)
    assert time.monotonic() - began < 60
    assert len(compiled(tmp_path)) == 1


@pytest.mark.parametrize(
    "before", ["raise SystemExit(3)", "import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)"]
)
def test_a_call_that_ends_its_process_costs_only_its_own_kernels(tmp_path: Path, before: str) -> None:
    run(tmp_path, kernel(before=f"if x.shape[1] > 99: {before}"))
    assert len(compiled(tmp_path)) == 1
