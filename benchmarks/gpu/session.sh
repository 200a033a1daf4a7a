#!/usr/bin/env bash
# What docs/lab-notebook wants from a GPU host, in parts of at most ten minutes each. After `source setup.sh`:
#   benchmarks/gpu/session.sh figures    health, one job of each kind, ten jobs of the small sizes, three of the large
#   benchmarks/gpu/session.sh steps      what each step of a call costs: the same work with one step left out
#   benchmarks/gpu/session.sh attacks    every attack, with all steps and without those that answer it; the time of a whole job
#   benchmarks/gpu/session.sh waiting    how long the device works in a warm job; whether containers that wait stay as they are
#   benchmarks/gpu/session.sh library    the library's samples and starters, on GPUS of the host's devices side by side
#   benchmarks/gpu/session.sh neighbours what a job on a GPU notices of the host's second GPU: idle, timed, loaded, building
# With OUT set, the reports of all jobs are kept there in one archive.
set -uo pipefail
library=problems/library
add=benchmarks/gpu/submissions/add_torch.py
keep=${OUT:-}
[ -n "$keep" ] && export OUT=/tmp/reports && mkdir -p "$OUT"

case "${1:-}" in
  figures)
    python3 -m benchmarks.gpu.telemetry H200
    python3 -m benchmarks.gpu.measure 1 add "$add"
    python3 -m benchmarks.gpu.measure 10 add:size=1024 "$add"
    python3 -m benchmarks.gpu.measure 10 add:size=524288 "$add"
    python3 -m benchmarks.gpu.measure 3 $library/calibration/matmul $library/calibration/matmul/baseline.py
    for file in $library/kernels101/softmax/submissions/accepted/torch_*.py benchmarks/gpu/submissions/add_{cuda,triton}.py; do
      case $file in *softmax*) problem=softmax ;; *) problem=add:size=1024 ;; esac
      python3 -m benchmarks.gpu.measure 1 $problem "$file"
    done
    ;;
  steps)
    for left_out in "" queue freeze probe early withhold sweep reset read arm telemetry; do
      echo "== without ${left_out:-nothing}"
      RUNNER_LEAVE_OUT=$left_out python3 -m benchmarks.gpu.measure 2 add:size=1024 "$add"
    done
    ;;
  attacks)
    python3 -m benchmarks.gpu.attacks 330
    python3 -m benchmarks.judge --jobs 2
    ;;
  waiting)
    python3 -m benchmarks.gpu.busy 3
    python3 -m benchmarks.gpu.waits 4 5 30 75
    ;;
  neighbours)
    RUNNER_FLEET=all python3 -m benchmarks.gpu.neighbours
    ;;
  library)
    python3 -m benchmarks.gpu.library "${GPUS:-1}" 480
    ;;
  *)
    echo "usage: benchmarks/gpu/session.sh figures|steps|attacks|waiting|library|neighbours" >&2
    exit 2
    ;;
esac
[ -n "$keep" ] && tar -C "$OUT" -cJf "$keep/reports-$1.tar.xz" .
exit 0
