"""class: takes all processes, descriptors, temporary files and shared memory that it can get, and keeps them
expect: contained | limits of its own hold each of them; the answers are right and the next attempt notices nothing"""

import os
import threading

import torch

kept = []


def take(what):
    for _ in range(20_000):
        try:
            kept.append(what())
        except (OSError, RuntimeError):
            return


def idle_thread():
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    return thread


def fill(folder):
    with open(f"{folder}/full", "wb") as file:
        block = b"\1" * (1 << 20)
        for _ in range(600):
            file.write(block)


def small_file():
    path = f"/tmp/f{len(kept)}"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    return path


custom_kernel_ready = torch.softmax(torch.zeros(2, 2), dim=-1)
take(small_file)
for folder in ("/dev/shm", "/tmp"):
    try:
        fill(folder)
    except OSError:
        pass
take(os.pipe)
take(idle_thread)


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
