"""Fingerprinted and precompressed static files, which browsers keep for ever; compressed pages.

A page that names a user is compressed only where nobody else can add text to it: with a text of an attacker's choice,
the length of the answer would tell how much of it a secret of the page repeats (BREACH).
"""

import re
from typing import Final

from django.conf import settings
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.text import compress_string
from whitenoise.storage import CompressedManifestStaticFilesStorage

from leaderboard.web.middleware import PUBLIC, Respond

LEAST_BYTES: Final = 500  # a shorter answer would not shrink
RANDOM_BYTES: Final = 100  # at most: the length of an answer varies by them
COMPRESSIBLE: Final = ("text/", "application/json", "application/vnd.oai", "application/atom+xml", "application/xml")
SESSION: Final = "sessionid"
_TAKES_GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


class FingerprintedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names with a digest of the content, such as site.0b9f8e2c1a3d.js; plain names where nothing was collected."""

    manifest_strict = False
    support_js_module_import_aggregation = True
    # Our modules import each other by their fingerprinted names. Files of other packages import files that they lack.
    _js_module_import_aggregation_patterns = (
        "photofinish/*.js",
        HashedFilesMixin._js_module_import_aggregation_patterns[1],  # type: ignore[attr-defined]
    )

    def read_manifest(self) -> str | None:
        manifest: str | None = super().read_manifest() if settings.STATIC_ROOT else None
        return manifest

    def stored_name(self, name: str) -> str:
        known = self.hashed_files.get(self.hash_key(self.clean_name(name)))
        return known or name


def compressed_answers(get_response: Respond) -> Respond:
    """Compress answers with gzip. Stands outside of the ETags, which become weak: the content is the same."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not isinstance(response, HttpResponse) or response.status_code in (204, 304):
            return response
        kind = response.headers.get("Content-Type", "")
        if not kind.startswith(COMPRESSIBLE) or response.has_header("Content-Encoding"):
            return response
        first = request.path.removeprefix("/").partition("/")[0]
        is_fixed = request.method in ("GET", "HEAD") and not request.META.get("QUERY_STRING")
        is_plain = is_fixed and (request.path == "/" or first in PUBLIC)  # has no text that a link's sender chose
        if len(response.content) < LEAST_BYTES or (SESSION in request.COOKIES and not is_plain):
            return response  # a token of the API is in no browser, so no other site can have it sent
        patch_vary_headers(response, ("Accept-Encoding",))
        if not _TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")):
            return response
        response.content = compress_string(response.content, max_random_bytes=RANDOM_BYTES)
        response.headers["Content-Length"] = str(len(response.content))
        response.headers["Content-Encoding"] = "gzip"
        etag = response.headers.get("ETag", "")
        if etag.startswith('"'):
            response.headers["ETag"] = f"W/{etag}"
        return response

    return respond
