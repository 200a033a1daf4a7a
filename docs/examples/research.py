"""A round of research on a Photofinish site: candidates, feedback, rewards, the better kernel, parents, the data set.

    python research.py http://127.0.0.1:8000 TOKEN

It needs the client (docs/install.md) and a site with the sample problems, such as `make up` starts.
"""

import sys

from photofinish.client import Client

TASK = {"board": "softmax", "hardware": "cpu"}
KERNEL = '''
import torch

def custom_kernel(data):
    x, out = data
    {work}
    return out
'''  # fmt: skip
IDEAS = {
    "leave the maximum out": "out.copy_(torch.exp(x) / torch.exp(x).sum(-1, keepdim=True))",
    "call the library": "out.copy_(torch.softmax(x, -1))",
    "forget a bracket": "out.copy_(torch.softmax(x, -1)",
    "work in blocks": "for a, b in zip(x.chunk(8), out.chunk(8)): b.copy_(torch.softmax(a, -1))",
}


def send(site, ideas, mode, parents=(), **options):
    """Return the feedback on each idea, by the idea, once the judge has seen all of them."""
    candidates = [
        {"code": KERNEL.format(work=work), "lineage": {"idea": idea, "model": "by-hand", "parents": list(parents)}}
        for idea, work in ideas.items()
    ]
    batch = site.submit_batch(candidates, mode=mode, budget_s=120 * len(ideas), **TASK, **options)
    found = {}
    site.follow_batch(batch["id"], lambda one: found.update({one["about"]["submission"]: one}))
    return dict(zip(ideas, (found[number] for number in sorted(found)), strict=True))  # numbered as they were sent


def main(url, token):
    with Client(url, token) as site:
        tests = send(site, IDEAS, "test")
        for idea, one in tests.items():
            print(f"\n# {idea}: {one['outcome'] or one['stage']}")
            print(site.feedback_text(one["about"]["submission"], 600).decode())
        right = {idea: IDEAS[idea] for idea, one in tests.items() if one["outcome"] == "passed"}
        timed = send(site, right, "benchmark", bar=1.5)  # the first look ends whatever takes 1.5 times the baseline
        for line in site.rewards([one["about"]["submission"] for one in timed.values()])["rewards"]:
            print(f"submission {line['id']}: reward {line['reward']} ({line['low']} to {line['high']})")
        best = site.parents(TASK["board"], TASK["hardware"], limit=1)[0]
        print(f"fastest parent: submission {best['submission']}, ratio {best['ratio']:.3f}")
        better = {"write into the output": "torch.softmax(x, -1, out=out)"}
        [child] = send(site, better, "benchmark", parents=[best["submission"]]).values()
        [line] = site.rewards([child["about"]["submission"]])["rewards"]
        print(f"its child: reward {line['reward']}; tree: {url}/submissions/{line['id']}/lineage")


if __name__ == "__main__":
    main(*sys.argv[1:3])
