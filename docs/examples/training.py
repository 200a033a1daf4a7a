"""Rewards of a Photofinish site for reinforcement learning: for TRL, for verifiers, and as an environment of turns.

Copy this file. It needs the client (docs/install.md), and neither TRL nor verifiers:

    site = Client("https://photofinish.example", token)
    trainer = GRPOTrainer(reward_funcs=make_reward_func(site, board="softmax", hardware="cpu"), …)

    rubric = vf.Rubric(funcs=[make_kernel_reward(AsyncClient(url, token), board="softmax", hardware="cpu")])

    environment = KernelEnv(site, board="softmax", hardware="cpu")
"""

import asyncio
import json
import time

from photofinish.client import Refused

MOST_WAIT_S = 60  # for a rate or a queue limit; a quota that is used up for longer is an error
MOST_CHARS = 4_000  # of an observation's parts
COLUMNS = ("board", "hardware", "mode")  # of a data set, in place of the arguments below


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


def make_reward_func(site, *, board="", hardware="", mode="benchmark", parameters=None):
    """Return a reward function for TRL's GRPOTrainer. Columns of the data set may name board, hardware and mode.

    All completions are sent before the first verdict is awaited, so that several runners judge side by side. A kernel
    that the site could not judge has the reward None, which TRL leaves out.
    """
    task = {"board": board, "hardware": hardware, "mode": mode}

    def reward_func(prompts, completions, **kwargs):
        named = [{name: kwargs[name][place] for name in COLUMNS if name in kwargs} for place in range(len(completions))]
        numbers = [send(site, code_of(one), **{**task, **own}) for one, own in zip(completions, named, strict=True)]
        return [0.0 if number is None else site.reward(number, parameters=parameters)["reward"] for number in numbers]

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
