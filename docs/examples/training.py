"""Rewards of a Photofinish site for reinforcement learning: for TRL, for verifiers, and as an environment of turns.

Copy this file. It needs the client (docs/install.md), and neither TRL nor verifiers:

    site = Client("https://photofinish.example", token)
    trainer = GRPOTrainer(reward_funcs=make_reward_func(site, board="softmax", hardware="cpu"), …)

    rubric = vf.Rubric(funcs=[make_kernel_reward(AsyncClient(url, token), board="softmax", hardware="cpu")])

    environment = KernelEnv(site, board="softmax", hardware="cpu")
"""

import asyncio
import json
import re
import time

from photofinish.client import Refused

MOST_WAIT_S = 60  # for a rate or a queue limit; a quota that is used up for longer is an error
MOST_CHARS = 4_000  # of an observation's parts
MOST_CANDIDATES = 256  # of a batch, and of a call for rewards
COLUMNS = ("board", "hardware")  # of a data set, in place of the arguments below
REFUSED = re.compile(r"candidates\.(\d+)\.code")  # the field of an error


def code_of(completion):
    """Return the last fenced block of a completion, or all of it without a fence."""
    text = completion if isinstance(completion, str) else str(completion[-1].get("content") or "")
    parts = text.split("```")
    if len(parts) < 2:
        return text
    block = parts[-2] if len(parts) % 2 else parts[-1]  # the last block may lack its end
    first, newline, rest = block.partition("\n")
    return rest if newline and first.strip().isalnum() else block


def wait_of(error):
    """Return the seconds to wait before another try, or None if the site takes no such code. Raises the rest."""
    fields = [one.get("field") for one in error.errors]
    if error.status in (400, 413) and "code" in fields:
        return None
    if error.status != 429 or (error.retry_after_s or 0) > MOST_WAIT_S:
        raise error
    return error.retry_after_s or 1


def send(site, code, **task):
    """Return the number of a new submission, or None for code that the site takes for none."""
    while code.strip():
        try:
            return site.submit(code=code, filename="kernel.py", **task)["id"]
        except Refused as error:
            wait_s = wait_of(error)
        if wait_s is None:
            break
        time.sleep(wait_s)
    return None


def send_batch(site, candidates, *, budget_s, **options):
    """Send candidates as one batch, `budget_s` device seconds for each. Return their numbers, by their places.

    The site takes all or none, so candidates that it refuses for their code are left out, and have no number.
    """
    left = {place: one for place, one in enumerate(candidates) if one["code"].strip()}
    while left:
        places = list(left)
        try:
            batch = site.submit_batch(list(left.values()), budget_s=budget_s * len(left), **options)
        except Refused as error:
            named = [REFUSED.fullmatch(str(one.get("field"))) for one in error.errors]
            refused = [places[int(found[1])] for found in named if found]
            for place in refused:
                del left[place]
            if not refused:
                time.sleep(wait_of(error))
        else:
            site.follow_batch(batch["id"])
            return {places[one["number"] - 1]: one["submission"] for one in batch["candidates"]}
    return {}


def rewards_of(site, numbers, parameters):
    """Return the rewards of submissions, in their order. A verdict that the machine spoiled is waited for again."""
    lines = {line["id"]: line for line in site.rewards(numbers, **parameters)["rewards"]} if numbers else {}
    waiting = [number for number, line in lines.items() if line["status"] == "waiting"]
    lines |= {number: site.reward(number, parameters=parameters) for number in waiting}
    return [lines[number]["reward"] for number in numbers]


def make_reward_func(site, *, board="", hardware="", mode="benchmark", bar=0.001, budget_s=60, parameters=None):
    """Return a reward function for TRL's GRPOTrainer. Columns of the data set may name board and hardware.

    The completions are a batch, or several above 256. No kernel beats the `bar`, so each timing ends at a first look.
    A kernel that the site could not judge has the reward None, which TRL leaves out.
    """
    limits = {"mode": mode, "bar": bar if mode == "benchmark" else None, "budget_s": budget_s}
    task = {"board": board, "hardware": hardware, "filename": "kernel.py"}

    def reward_func(prompts, completions, **kwargs):
        columns = [name for name in COLUMNS if name in kwargs]
        candidates = [
            {**task, "code": code_of(one), **{name: kwargs[name][place] for name in columns}}
            for place, one in enumerate(completions)
        ]
        rewards = []
        for start in range(0, len(candidates), MOST_CANDIDATES):
            part = candidates[start : start + MOST_CANDIDATES]
            numbers = send_batch(site, part, **limits)
            of = dict(zip(numbers, rewards_of(site, list(numbers.values()), parameters or {}), strict=True))
            rewards += [of.get(place, 0.0) for place in range(len(part))]
        return rewards

    return reward_func


def make_kernel_reward(site, *, board="", hardware="", mode="benchmark", parameters=None):
    """Return a reward function for a rubric of verifiers. `site` is an AsyncClient; `info` may name the board.

    verifiers needs a number: a kernel that the site could not judge raises RuntimeError.
    """
    task = {"board": board, "hardware": hardware, "mode": mode}

    async def kernel_reward(completion, info=None, **kwargs):
        given = json.loads(info) if isinstance(info, str) and info else info or {}
        own, code = {name: given[name] for name in COLUMNS if name in given}, code_of(completion)
        while code.strip():
            try:
                sent = await site.submit(code=code, filename="kernel.py", **{**task, **own})
            except Refused as error:
                wait_s = wait_of(error)
            else:
                line = await site.reward(sent["id"], parameters=parameters)
                if line["reward"] is None:
                    raise RuntimeError(f"submission {sent['id']}: {line['message']}")
                return line["reward"]
            if wait_s is None:
                break
            await asyncio.sleep(wait_s)
        return 0.0

    return kernel_reward


class KernelEnv:
    """A problem as an environment of several turns, with Gymnasium's `reset` and `step`: each action is a kernel.

    Observations are texts for a prompt. `info` has the submission's number and the line of the reward.
    """

    def __init__(self, site, *, board, hardware="", mode="benchmark", turns=4, parameters=None):
        self.site, self.turns, self.parameters = site, turns, parameters
        self.task = {"board": board, "hardware": hardware, "mode": mode}
        self.turn = 0

    def reset(self, *, seed=None, options=None):
        """Return the problem as a text, and an empty info."""
        self.turn = 0
        board = self.site.board(self.task["board"])
        starter = next(iter(board["templates"].values()), "")
        parts = (board["title"], board["description"], "Reference:", board["reference"] or "", "Starter:", starter)
        return "\n\n".join(part[:MOST_CHARS] for part in parts if part), {}

    def step(self, action):
        """Send a kernel and return observation, reward, terminated, truncated, info."""
        self.turn += 1
        is_last = self.turn >= self.turns
        number = send(self.site, code_of(action), **self.task)
        if number is None:
            return "The site takes this for no code: send one Python file.", 0.0, False, is_last, {}
        line = self.site.reward(number, parameters=self.parameters)
        told = feedback(self.site.submission(number), line)
        return told, line["reward"] or 0.0, False, is_last, {"submission": number, "reward": line}


def feedback(submission, line):
    """Return a verdict as a text for a prompt: the reason, the failed cases, the times and the logs."""
    rows = [f"Reward: {line['reward']}. {line['message']}", submission["message"]]
    for case in submission["cases"]:
        if not case.get("good", True):
            rows.append(f"Case {case['name']} failed: {case.get('reason')}: {case.get('message')}")
        elif case.get("measured_us"):
            rows.append(f"Case {case['name']}: {case['measured_us']:.1f} µs, baseline {case['baseline_us']:.1f} µs")
    rows += [f"{name}:\n{text[-MOST_CHARS:]}" for name, text in submission["logs"].items() if text]
    return "\n".join(row for row in rows if row)[:MOST_CHARS]
