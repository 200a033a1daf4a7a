"""Bad input, honest or not: each kind gets its own clear verdict, and the next submission runs unaffected."""

import json
from dataclasses import replace

import pytest

from tests.attacks.conftest import Judge, Oracles, problem_named

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]

HEAD = "import torch, os, sys, time\n"


def kernel(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}def custom_kernel(data):\n    x, out = data\n{lines}\n"


HONEST = kernel("torch.softmax(x, dim=-1, out=out)\nreturn out")


@pytest.mark.parametrize(
    ("source", "outcome", "reason", "says"),
    [
        pytest.param("def custom_kernel(data:\n    pass\n", "build_error", "syntax", "line 1", id="syntax"),
        pytest.param("this is not Python at all", "build_error", "syntax", "line 1", id="not-python"),
        pytest.param("import triton_of_mine\n", "build_error", "import", "triton_of_mine", id="import-fails"),
        pytest.param("raise SystemExit(0)\n", "build_error", "import", "SystemExit", id="exit-at-import"),
        pytest.param("x = 1\n", "build_error", "missing_entry", "custom_kernel", id="no-kernel"),
        pytest.param("custom_kernel = 3\n", "build_error", "missing_entry", "custom_kernel", id="kernel-is-a-number"),
        pytest.param(kernel("return None"), "wrong", "none", "is None", id="none"),
        pytest.param(kernel("return 3.0"), "wrong", "type", "float", id="number"),
        pytest.param(kernel("return out.numpy()"), "wrong", "type", "ndarray", id="numpy"),
        pytest.param(kernel("return out[:, :0]"), "wrong", "shape", "expected", id="shape"),
        pytest.param(kernel("return torch.softmax(x, -1).double()"), "wrong", "dtype", "float64", id="dtype"),
        pytest.param(kernel("return torch.full_like(out, float('nan'))"), "wrong", "nan", "NaN", id="nan"),
        pytest.param(kernel("raise ValueError('no luck')"), "runtime_error", "raised", "no luck", id="raises"),
        pytest.param(kernel("sys.exit(0)"), "runtime_error", "raised", "SystemExit", id="sys-exit"),
        pytest.param(kernel("os._exit(0)"), "runtime_error", "exited", "exit status 0", id="os-exit"),
        pytest.param(
            kernel("import ctypes\nctypes.string_at(0)"), "runtime_error", "crashed", "SIGSEGV", id="segfault"
        ),
        pytest.param(
            kernel("k = bytearray(4 << 30)\nfor i in range(0, len(k), 4096): k[i] = 1\nreturn out"),
            "out_of_memory", "limit", "2048 MiB", id="memory"
        ),
        pytest.param(
            kernel("torch.empty(1 << 50)"), "out_of_memory", "allocation", "memory", id="absurd-allocation"
        ),
        pytest.param(
            kernel("s = 'x' * (1 << 20)\nfor _ in range(10240): print(s)\nreturn out"),
            "policy", "output_limit", "16 MB", id="ten-gigabytes-printed"
        ),
        pytest.param(kernel("while True: pass"), "timeout", "call", "within 12 s", id="endless-loop"),
        pytest.param(kernel("x.zero_()\nreturn x.softmax(-1)"), "wrong", "input_changed", "inputs", id="input-zeroed"),
        pytest.param(
            kernel("torch.softmax(x, dim=-1, out=out)\nx.add_(1)\nreturn out"), "wrong", "input_changed", "inputs",
            id="input-changed"
        ),
        pytest.param(
            kernel("open('/var/tmp/x', 'w')"), "runtime_error", "raised", "Read-only", id="read-only-root"
        ),
    ],
)  # fmt: skip
def test_it_gets_its_own_verdict(source: str, outcome: str, reason: str, says: str, judge: Judge) -> None:
    report = judge(
        source, replace(problem_named("softmax"), test_timeout_s=24.0) if outcome == "timeout" else "softmax"
    )
    assert (report.outcome, report.reason) == (outcome, reason), report.message
    assert says in report.message
    assert "/opt/photofinish" not in report.message
    assert report.score_us is None
    if reason in ("exited", "crashed", "limit", "output_limit", "call"):  # the next submission must not notice
        after = judge(HONEST)
        assert after.outcome == "passed", (after.outcome, after.message, after.evidence.get("operator"))


def test_a_file_of_the_problem_that_cannot_be_imported_is_not_the_submissions_fault(judge: Judge) -> None:
    softmax = problem_named("softmax")
    files = {**softmax.files, "task.py": "raise TypeError('ours')\n"}
    files["reference.py"] = f"import task\n{files['reference.py']}"
    broken = replace(softmax, files=files)
    report = judge(f"import task\n{HONEST}", broken)
    assert (report.outcome, report.reason) == ("infra_error", "problem")
    report = judge("import task_of_mine\n", softmax)
    assert (report.outcome, report.reason) == ("build_error", "import")


def test_an_import_that_never_ends_is_ended(judge: Judge) -> None:
    report = judge("while True: pass\n", replace(problem_named("softmax"), test_timeout_s=4.0))
    assert (report.outcome, report.reason) == ("timeout", "import")
    assert report.message == "No answer within 4 s while it was being imported."


def test_what_happens_in_a_secret_case_tells_no_data(judge: Judge) -> None:
    """An exception's text is shown for a public case, and withheld for a secret one, where it could carry the data."""
    source = kernel(
        "print('seen', x.flatten()[0].item(), flush=True)\n"
        "if x.numel() > 100_000: raise ValueError(f'data: {x.flatten()[0]}')\n"
        "torch.softmax(x, dim=-1, out=out)\nreturn out"
    )
    report = judge(source)
    assert (report.outcome, report.reason) == ("runtime_error", "raised")
    assert "data:" not in report.message
    assert "secret case" in report.message
    public = sum(case["public"] for case in report.cases)
    assert report.logs["stdout"].count("seen") == public


def test_a_traceback_shows_the_authors_lines_and_not_ours(judge: Judge) -> None:
    report = judge(kernel("def deeper():\n    return 1 / 0\ndeeper()"))
    assert "return 1 / 0" in report.message
    assert "ZeroDivisionError" in report.message
    assert "harness.py" not in report.message


def test_a_kernel_that_returns_a_fresh_tensor_is_as_good(judge: Judge) -> None:
    assert judge(kernel("return torch.softmax(x, dim=-1)")).outcome == "passed"


def test_printed_text_cannot_steer_a_terminal(judge: Judge) -> None:
    report = judge(kernel("print('\\x1b[2Jgone \\u202e')\ntorch.softmax(x, dim=-1, out=out)\nreturn out"))
    assert "gone" in report.logs["stdout"]
    assert not set(report.logs["stdout"]) & {"\x1b", "\u202e"}


def test_a_submission_sees_no_more_than_it_was_promised(judge: Judge) -> None:
    """Its environment, descriptors, mounts and rights: an attacker looks at these first."""
    source = kernel(
        "import getpass, json, stat\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)\n"
        "print(json.dumps({'env': sorted(os.environ), 'user': getpass.getuser(), 'uid': os.getuid(),\n"
        "    'caps': status['CapEff'].strip(),\n"
        "    'no_new_privs': status['NoNewPrivs'].strip(), 'pids': [p for p in os.listdir('/proc') if p.isdigit()],\n"
        "    'links': [n for n in os.listdir('/sys/class/net')],\n"
        "    'sockets': [n for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')\n"
        "                and stat.S_ISSOCK(os.stat(f'/proc/self/fd/{n}').st_mode)],\n"
        "    'pipes': [n for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')\n"
        "              and stat.S_ISFIFO(os.stat(f'/proc/self/fd/{n}').st_mode)],\n"
        "    'host': [l.split()[1] for l in open('/proc/mounts') if l.startswith('/dev/')]}))\n"
        "torch.softmax(x, dim=-1, out=out)\nreturn out"
    )
    seen = json.loads(judge(source).logs["stdout"].splitlines()[0])
    assert seen["env"] == ["HF_HUB_OFFLINE", "HOME", "LANG", "PATH", "USER"]
    assert seen["user"] == "sandbox", "torch's compiler asks"
    assert seen["uid"] >= 200_000
    assert int(seen["caps"], 16) == 0
    assert seen["no_new_privs"] == "1"
    assert seen["pids"] == ["1"]
    assert set(seen["links"]) <= {"lo", "tunl0", "sit0", "ip6tnl0"}
    assert seen["sockets"] == seen["pipes"] == []
    assert set(seen["host"]) <= {"/run/judge", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}


def test_a_forgotten_oracle_is_started_anew_for_the_next_judge_of_a_test(judge: Judge, oracles: Oracles) -> None:
    """Regression: the second judge connected the new oracle twice."""
    assert judge(HONEST).outcome == "passed"
    oracles.forget(problem_named("softmax").digest)
    assert judge(HONEST).outcome == "passed"
