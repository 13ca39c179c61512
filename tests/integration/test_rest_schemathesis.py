"""Whatever is sent to the REST interface: it replies as its description says, and never with a fault of its own.

Schemathesis makes the requests from the description. `REST_EXAMPLES=2000` makes so many for each operation, new ones in every
run, instead of few that are always the same.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions

EXAMPLES = int(os.environ.get("REST_EXAMPLES", "0"))
FEW = 4
DEADLINE_S = 120
WITHOUT_END = ("/api/v1/freshness/events",)  # streams that end with their client; tests/interfaces asks for them
CONFORMANCE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NAMES = ("Session", "Session.login", "hash_password", "app.py", "app.py:3", "app.py::hash_password", "tests")
CODE = '''\
import hashlib


class Session:
    """A user who is logged in."""

    def login(self, password: str) -> bool:
        return hash_password(password) == self.stored

    stored = ""


def hash_password(password: str) -> str:
    """Return the hash of a password."""
    return hashlib.sha256(password.encode()).hexdigest()
'''


@dataclass
class Served:
    """The interface with its description, a repository that is indexed, and the job that did it."""

    schema: Any
    root: str
    job_id: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fuzzed")
    root = folder / "shop"
    (root / "tests").mkdir(parents=True)
    (root / "app.py").write_text(CODE)
    (root / "tests" / "test_app.py").write_text(
        "from app import hash_password\n\n\ndef test_it():\n    assert hash_password('x')\n"
    )
    (root / "README.md").write_text("# Shop\n\n`Session` logs users in.\n")
    workspace = Workspace(WorkspaceOptions(allowed_roots=(folder,), watch=False))
    job = workspace.open_repository(root).index()
    assert job.wait(DEADLINE_S).state == "done"
    app = make_app(workspace)
    # Requests are made fifty times as fast without the patterns, and say more: NUL and the like are tried as well.
    described = without_patterns(app.openapi())
    described["paths"] = {path: asked for path, asked in described["paths"].items() if path not in WITHOUT_END}
    schema = schemathesis.openapi.from_dict(described)
    schema.app = app
    yield Served(schema, str(root), job.id)
    workspace.close()


def without_patterns(described: Any) -> Any:
    if isinstance(described, dict):
        kept = (name for name in described if name != "pattern" or not isinstance(described[name], str))
        return {name: without_patterns(described[name]) for name in kept}
    return [without_patterns(part) for part in described] if isinstance(described, list) else described


def sensible(case: Any, served: Served, data: st.DataObject) -> None:
    """Have most requests be about the repository and the job that there are, and about names that it has."""
    for name, real in (("job_id", served.job_id), ("session", "talk")):
        if name in (case.path_parameters or {}) and data.draw(st.booleans(), "real address"):
            case.path_parameters[name] = real
    body = case.body if isinstance(case.body, dict) else {}
    for values in (body, case.query or {}):
        if "root" in values and data.draw(st.integers(0, 4), "real root"):
            values["root"] = served.root
    real_ones = {
        **dict.fromkeys(("name", "path", "start", "end"), NAMES),
        "query": ("how are passwords hashed", "Session", "who calls hash_password"),
        "places": (["app.py:1-3"],),
        "repositories": ([served.root],),
        "filters": (None,),
    }
    for name, reals in real_ones.items():
        if body.get(name) and data.draw(st.integers(0, 3), f"real {name}"):
            body[name] = data.draw(st.sampled_from(reals))


def check_operations(served: Served, mode: GenerationMode, checks: list[Any]) -> dict[str, set[int]]:
    """Send requests to each operation; return with which statuses each replied."""
    statuses: dict[str, set[int]] = {}
    for found in served.schema.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not (operation.body or list(operation.iter_parameters())):
            continue  # nothing of the request can be wrong

        @settings(
            max_examples=EXAMPLES or FEW,
            derandomize=not EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
        def send(case: Any, data: st.DataObject) -> None:
            if mode is GenerationMode.POSITIVE:
                sensible(case, served, data)
            response = case.call_and_validate(checks=checks, timeout=DEADLINE_S)
            statuses.setdefault(case.operation.label, set()).add(response.status_code)

        send()
    return statuses


@pytest.mark.slow
@pytest.mark.no_cover  # as other property tests, see tests/conftest.py
def test_requests_as_described_get_replies_as_described(served: Served) -> None:
    statuses = check_operations(served, GenerationMode.POSITIVE, CONFORMANCE)
    assert len(statuses) == sum(map(len, served.schema.raw_schema["paths"].values())), "all operations are asked"
    answered = [label for label, seen in statuses.items() if seen & {200, 202}]
    assert len(answered) > len(statuses) / 2, "the requests are about something that is there"


@pytest.mark.slow
@pytest.mark.no_cover  # as other property tests, see tests/conftest.py
def test_requests_against_the_description_are_refused_as_described(served: Served) -> None:
    statuses = check_operations(served, GenerationMode.NEGATIVE, [*CONFORMANCE, negative_data_rejection])
    assert all(seen & {400, 404, 415, 422} for seen in statuses.values()), "each has refused"
