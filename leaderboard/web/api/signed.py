"""Signed results: a published entry as a statement of this site that anybody can check later, without the site.

The statement is a JSON Web Signature (RFC 7515) with Ed25519. The keys are derived from SECRET_KEY and its
fallbacks, so that no further secret has to be kept, and a former key verifies as long as the fallback stays.
"""

import base64
import json
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from leaderboard.competitions.permissions import Viewer
from leaderboard.web.api.base import Public
from leaderboard.web.api.serializers import EntryDetail
from leaderboard.web.boards.entries import Published, published
from leaderboard.web.people.cases import run_of

PURPOSE: Final = "photofinish.signed_results"
KID_CHARS: Final = 16
LEFT_OUT: Final = ("code", "taken_down", "remixes")


class Signed(drf.Serializer[Any]):
    result = drf.DictField(help_text="The statement, to read.")
    jws = drf.CharField(help_text="The statement, to check: a compact JSON Web Signature, by a key of `/api/v1/keys`.")


class Key(drf.Serializer[Any]):
    kty = drf.CharField()
    crv = drf.CharField()
    x = drf.CharField()
    kid = drf.CharField(help_text="Name of the key in the header of a signature.")
    use = drf.CharField()
    alg = drf.CharField()


class Keys(drf.Serializer[Any]):
    keys = Key(many=True, help_text="A JSON Web Key Set; the first key signs, the others signed before.")


class SignedEntry(Public):
    @extend_schema(responses=Signed)
    def get(self, request: Request, pk: int) -> Response:
        """Return a published entry with its cases and machine, signed by the site."""
        now = timezone.now()
        result = statement(published(pk, request.user, now), request.user, now)
        text = json.dumps(result, cls=JSONEncoder, allow_nan=False)
        return Response({"result": result, "jws": sign(text.encode())})


class PublicKeys(Public):
    @extend_schema(responses=Keys)
    def get(self, request: Request) -> Response:
        """Return the public keys of signed results."""
        return Response({"keys": [jwk(key) for key in keys()]})


def statement(found: Published, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """Return the signed facts of an entry. The code's digest is among them for whoever may read the code."""
    entry, run, value = found.entry, run_of(found.entry), found.standing.value
    entry_of = EntryDetail(found, context={"viewer": viewer, "now": now})
    facts = {name: fact for name, fact in entry_of.data.items() if name not in LEFT_OUT}
    return facts | {
        "site": settings.SITE_URL,
        "signed_at": now,
        "competition": entry.board.competition.slug,
        "epoch": entry.epoch,
        "runs": list(value.submissions),
        "forgeable": value.forgeable,
        "code_sha256": sha256(found.code.encode()).hexdigest() if found.code is not None else None,
        "cases": [vars(row) for row in run.timed.rows],
        "machine": vars(run.machine) if run.machine else None,
    }


def keys() -> list[Ed25519PrivateKey]:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    seeds = (salted_hmac(PURPOSE, "", secret, algorithm="sha256").digest() for secret in secrets)
    return [Ed25519PrivateKey.from_private_bytes(seed) for seed in seeds]


def jwk(key: Ed25519PrivateKey) -> dict[str, str]:
    public = key.public_key().public_bytes_raw()
    kid = sha256(public).hexdigest()[:KID_CHARS]
    return {"kty": "OKP", "crv": "Ed25519", "x": base64url(public), "kid": kid, "use": "sig", "alg": "EdDSA"}


def sign(payload: bytes) -> str:
    """Return a compact JSON Web Signature of the payload."""
    key = keys()[0]
    header = json.dumps({"alg": "EdDSA", "kid": jwk(key)["kid"]}).encode()
    signed = f"{base64url(header)}.{base64url(payload)}"
    return f"{signed}.{base64url(key.sign(signed.encode()))}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
