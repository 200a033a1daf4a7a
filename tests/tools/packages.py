"""Debian packages of the tests: `make packages` installs the missing ones, beside `make environment`.

Standard library only: it runs before there is a virtual environment.
"""

import os
import shutil
import sys
from typing import Final

from deploy.console import SetupError, captured, note, step
from deploy.docker_engine import PACKAGES as ENGINE
from deploy.docker_engine import install_packages

BROWSER: Final = ("chromium", "fonts-dejavu-core")
COMPOSE: Final = ("docker-compose",)
BROKER: Final = ("rabbitmq-server",)  # in CI alone: elsewhere its service would start, and stay


def missing() -> list[str]:
    """Return the packages that tests need and this machine lacks."""
    docker, is_ci = shutil.which("docker"), os.environ.get("CI") == "true"
    has_plugin = docker and captured([docker, "compose", "version"]).returncode == 0
    wanted = (
        (ENGINE, docker or os.environ.get("DOCKER_HOST")),
        (BROWSER, shutil.which("chromium")),
        (COMPOSE, has_plugin or shutil.which("docker-compose")),
        (BROKER, not is_ci or shutil.which("/usr/sbin/rabbitmq-server")),
    )
    return [name for names, is_there in wanted if not is_there for name in names]


def main() -> int:
    """Install them by one command; a failure is only noted, as the tests that lack them fail with a reason."""
    with step("Debian packages of the tests"):
        try:
            if names := missing():
                install_packages(names)
        except SetupError as error:
            note(f"the tests that need them will not run: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
