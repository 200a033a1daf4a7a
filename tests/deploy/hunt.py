"""A hunt for secrets in everything that a run of the production stack shows or leaves behind."""

import contextlib
import json
import re
import threading
from collections import Counter, deque
from pathlib import Path
from typing import Self

import docker
import httpx

from sandbox.policy import LABEL

MOST_PAGES = 150
MOST_OF_A_KIND = 4  # pages whose addresses differ by numbers alone
# Submitted by a competitor: prints everything around its own process.
SPY = """\
#!PHOTOFINISH leaderboard softmax
import glob
import os

import torch

print(dict(os.environ))
for path in [*glob.glob("/proc/*/environ"), *glob.glob("/proc/*/cmdline"), "/proc/mounts", "/etc/hosts"]:
    try:
        print(path, open(path, errors="replace").read())
    except OSError as error:
        print(path, error)


def custom_kernel(data):
    x, out = data
    out.copy_(torch.softmax(x, dim=-1))
    return out
"""


class SandboxWatch:
    """Texts about each sandbox container that lives meanwhile: `docker inspect`, and its process's environment."""

    def __init__(self, client: docker.DockerClient) -> None:
        self.seen: dict[str, str] = {}
        self._client = client
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _watch(self) -> None:
        while not self._ended.wait(0.3):
            for container in self._client.containers.list(filters={"label": LABEL}, ignore_removed=True):
                text = json.dumps(container.attrs)
                with contextlib.suppress(OSError):
                    text += Path(f"/proc/{container.attrs['State']['Pid']}/environ").read_text(errors="replace")
                self.seen[f"sandbox container {container.id[:12]}"] = text


def crawl(client: httpx.Client, *starts: str) -> dict[str, str]:
    """Return every page and document that links lead to, by address. None may be a fault of the site."""
    waiting, texts, kinds = deque(starts), {}, Counter()
    while waiting and len(texts) < MOST_PAGES:
        path = waiting.popleft()
        kind = re.sub(r"\d+", "N", path)
        if path in texts or kinds[kind] >= MOST_OF_A_KIND or path.endswith("/events") or path.startswith("/static/"):
            continue
        kinds[kind] += 1
        answer = client.get(path)
        assert answer.status_code < 500, f"{path}: {answer.status_code}"
        texts[path] = f"{answer.headers}\n{answer.text}"
        if "text/html" in answer.headers.get("content-type", ""):
            waiting.extend(link.replace("&amp;", "&") for link in re.findall(r'href="(/[^"#]*)"', answer.text))
    return texts


def finds(secrets: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Return where a secret stands, each as "NAME in PLACE"; never the secret itself."""
    assert all(len(secret) >= 12 for secret in secrets.values()), "a short secret would be found anywhere"
    return [f"{name} in {place}" for place, text in texts.items() for name, secret in secrets.items() if secret in text]
