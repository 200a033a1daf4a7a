"""Errors of the container machinery; none of them is the submission's fault."""


class SandboxError(Exception):
    """The container machinery failed: Docker, the image, a socket. Operators read it, competitors never do."""


class DockerMissing(SandboxError):
    """No Docker Engine answers; the text names what to install or start."""


class ImageMissing(SandboxError):
    """The sandbox image is not on this host; the text explains how to build it."""
