"""Profiles of kernels on a GPU host, for a person: what bounds each, its figures, its files.

By hand, after `source benchmarks/gpu/setup.sh`:

    python -m benchmarks.gpu.profiled off|open|perfmon PROBLEM FILE [off|open|perfmon PROBLEM FILE …]

The first word of three is RUNNER_COUNTERS. With OUT set, the files are kept there.
"""

import base64
import os
import sys
import time
from pathlib import Path

from runner import config
from runner.commands import local
from runner.evidence import profiled


def main() -> None:
    for permission, problem, file in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3], strict=True):
        _profile(problem, Path(file), permission.removeprefix("off"))


def _profile(problem: str, file: Path, permission: str) -> None:
    settings = config.load_judge().model_copy(update={"runner_counters": permission})
    found = local.find_problem(problem).on(settings.runner_hardware)
    began = time.monotonic()
    job = local.job_of(found, file, "profile", settings.runner_hardware)
    report = local.judge_here(job, settings, lambda event: None)
    print(f"== {problem} {file.name}, counters {permission or 'off'}: {time.monotonic() - began:.1f} s", flush=True)
    seen = profiled.read(report.profile)
    if seen is None:
        print(report.outcome, report.reason, report.message, report.evidence.get("operator", ""))
        return
    print(f"{report.outcome}; {seen.case}; {seen.bound or 'unknown'}: {seen.sentence}")
    for figure in seen.figures:
        print(f"  {figure.name}: {figure.percent} % {figure.about}")
    for row in seen.rows[:5]:
        print(f"  {row.share:6.1%} {row.us:10.2f} us {row.calls:5} {row.name[:100]}")
    for note in seen.notes:
        print(f"  note: {note}")
    for name, text in seen.files.items():
        content = base64.b64decode(text)
        print(f"  {name}: {len(content)} bytes")
        if out := os.environ.get("OUT"):
            folder = Path(out) / f"{problem.replace('/', '-')}-{file.stem}-{permission or 'off'}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
