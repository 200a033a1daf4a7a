"""Software and health of the runners' hosts, as the hosts state them.

The site refuses software that it cannot judge with. The refusal is kept with the runner, so that its page, the queue's
count of runners and the runner's own log agree. A newer statement replaces an older statement.
"""

import re
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import transaction

from leaderboard.errors import UserError
from leaderboard.judging.models import Runner
from leaderboard.judging.runners import check_storable
from leaderboard.operations.notices import tell_operators
from runner.evidence.schema import VERSION as EVIDENCE_VERSION
from runner.wire import WIRE_VERSION, Health, Software

LOW_DISK_BYTES: Final = 5_000_000_000  # an image update needs as much
CHECKOUT: Final = "update the host's checkout to the site's commit, and build its image again"


def state_software(*, runner: Runner, software: Software, now: datetime) -> None:
    """Keep the versions that a runner states. Raise UserError if the site cannot judge with them."""
    stated = software.to_json() | {"images": list(software.images)}  # as JSON gives it back
    check_storable(stated, "software")
    refusal = refusal_of(software, runner.hardware)
    skew = "" if refusal is None else str(refusal)
    if (runner.software, runner.skew) != (stated, skew):
        with transaction.atomic():
            Runner.objects.filter(pk=runner.pk).update(software=stated, skew=skew)
            if skew and runner.skew != skew:
                tell_operators("runner_refused", skew, subject=runner.name, now=now)
        runner.software, runner.skew = stated, skew
    if refusal is not None:
        raise refusal


def refusal_of(software: Software, hardware: str) -> UserError | None:
    """Return why the site cannot judge with this software; None if it can."""
    if software.wire != WIRE_VERSION:
        return UserError("wire", software.wire, f"this site speaks version {WIRE_VERSION}; upgrade the older side")
    if software.evidence not in (0, EVIDENCE_VERSION):
        problem = f"the runner reports evidence of version {software.evidence}, this site reads {EVIDENCE_VERSION}"
        return UserError("evidence", software.evidence, f"{problem}; {CHECKOUT}")
    least = settings.RUNNER_LEAST_VERSION
    if least and _order(software.version) < _order(least):
        problem = f"this site takes runners from version {least}, not {software.version or 'an unstated version'}"
        return UserError("version", software.version, f"{problem}; {CHECKOUT}")
    wanted = settings.RUNNER_IMAGES.get(hardware)
    if wanted and wanted not in software.images:
        problem = (
            f"this site judges {hardware} with image {wanted}, not {', '.join(software.images) or 'an unstated one'}"
        )
        return UserError("images", None, f"{problem}; pull that image and name it in SANDBOX_IMAGE")
    return None


def keep_health(*, runner: Runner, health: Health, now: datetime) -> None:
    stated = health.to_json()
    check_storable(stated, "health")
    Runner.objects.filter(pk=runner.pk).update(health=stated, health_at=now)


def _order(text: str) -> list[int]:
    """Return the numbers of a version in the order of versions. An unreadable version comes before all others."""
    return [int(part) for part in re.findall(r"\d+", text)[:3]]
