"""Hooks of schemathesis: half of the names in addresses, queries and bodies are those of rows that exist.

PHOTOFINISH_TEST_NAMES holds them as JSON, by field; a field `pk` is called by the part of the address before it.
"""

import json
import os

import schemathesis
from hypothesis import strategies as st

KNOWN = json.loads(os.environ["PHOTOFINISH_TEST_NAMES"])
PREFIX = "/api/v1/"


def with_names(path, sent):
    """Return a strategy for the same fields, with known values in some of them."""
    if not isinstance(sent, dict):
        return st.just(sent)
    here = path.removeprefix(PREFIX).split("/")[0]
    fields = {}
    for field, value in sent.items():
        known = KNOWN.get(here if field in ("id", "slug") else field)
        fields[field] = st.just(value) | st.sampled_from(known) if known else st.just(value)
    return st.fixed_dictionaries(fields)


@schemathesis.hook
def flatmap_path_parameters(context, path_parameters):
    return with_names(context.operation.path, path_parameters)


@schemathesis.hook
def flatmap_query(context, query):
    return with_names(context.operation.path, query)


@schemathesis.hook
def flatmap_body(context, body):
    return with_names(context.operation.path, body)
