"""Requests that Schemathesis makes from the description of the REST interface."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CONFORMANCE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
"""Checks of a reply against the description."""

WITHOUT_END = ("/api/v1/freshness/events",)
"""Streams that end with their client; tests/interfaces asks for them."""

_DEADLINE_S = 120


def describe(openapi: Any) -> Any:
    """Return a description without patterns and streams without end.

    Requests are made fifty times as fast without the patterns, and say more: NUL and the like are tried as well.
    """
    described = _without_patterns(openapi)
    described["paths"] = {path: asked for path, asked in described["paths"].items() if path not in WITHOUT_END}
    return described


def draw_real(data: st.DataObject, values: Any, reals: Mapping[str, Sequence[Any]], often: int = 3) -> None:
    """Replace most of the given values by real ones of the same names."""
    for name, choices in reals.items():
        if isinstance(values, dict) and values.get(name) and data.draw(st.integers(0, often), f"real {name}"):
            values[name] = data.draw(st.sampled_from(choices))


def check_operations(
    schema: Any,
    mode: GenerationMode,
    checks: Sequence[Any],
    prepare: Callable[[Any, st.DataObject], None],
    *,
    examples: int,
    is_derandomized: bool,
    headers: Mapping[str, str] | None = None,
    left_out: Collection[str] = (),
) -> dict[str, set[int]]:
    """Send requests to each operation, and return with which statuses each replied.

    Args:
        schema: Loaded description, with its app.
        mode: Whether requests follow the description or break it.
        checks: Checks of each reply.
        prepare: Changes a request that follows the description, so that it is about something that is there.
        examples: Requests of each operation.
        is_derandomized: Whether every run sends the same.
        headers: Headers of each request.
        left_out: Labels of operations that are not asked.
    """
    statuses: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.label in left_out:
            continue
        parameters = [each for each in operation.iter_parameters() if each.location != "path"]
        if mode is GenerationMode.NEGATIVE and not (operation.body or parameters):
            continue  # nothing of the request can be wrong

        @settings(
            max_examples=examples,
            derandomize=is_derandomized,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
        def send(case: Any, data: st.DataObject) -> None:
            if mode is GenerationMode.POSITIVE:
                prepare(case, data)
            response = case.call_and_validate(checks=list(checks), timeout=_DEADLINE_S, headers=dict(headers or {}))
            statuses.setdefault(case.operation.label, set()).add(response.status_code)

        send()
    return statuses


def _without_patterns(described: Any) -> Any:
    if isinstance(described, dict):
        kept = (name for name in described if name != "pattern" or not isinstance(described[name], str))
        return {name: _without_patterns(described[name]) for name in kept}
    return [_without_patterns(part) for part in described] if isinstance(described, list) else described
