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
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.support.rest_fuzzing import CONFORMANCE, check_operations, describe, draw_real

EXAMPLES = int(os.environ.get("REST_EXAMPLES", "0"))
FEW = 4
DEADLINE_S = 120
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
    schema = schemathesis.openapi.from_dict(describe(app.openapi()))
    schema.app = app
    yield Served(schema, str(root), job.id)
    workspace.close()


def sensible(case: Any, served: Served, data: st.DataObject) -> None:
    """Have most requests be about the repository and the job that there are, and about names that it has."""
    for name, real in (("job_id", served.job_id), ("session", "talk")):
        if name in (case.path_parameters or {}) and data.draw(st.booleans(), "real address"):
            case.path_parameters[name] = real
    body = case.body if isinstance(case.body, dict) else {}
    for values in (body, case.query or {}):
        if "root" in values and data.draw(st.integers(0, 4), "real root"):
            values["root"] = served.root
    reals = {
        **dict.fromkeys(("name", "path", "start", "end"), NAMES),
        "query": ("how are passwords hashed", "Session", "who calls hash_password"),
        "places": (["app.py:1-3"],),
        "repositories": ([served.root],),
        "filters": (None,),
    }
    draw_real(data, body, reals)


def send_all(served: Served, mode: GenerationMode, checks: list[Any]) -> dict[str, set[int]]:
    return check_operations(
        served.schema,
        mode,
        checks,
        lambda case, data: sensible(case, served, data),
        examples=EXAMPLES or FEW,
        is_derandomized=not EXAMPLES,
    )


@pytest.mark.slow
@pytest.mark.no_cover  # as other property tests, see tests/conftest.py
def test_requests_as_described_get_replies_as_described(served: Served) -> None:
    statuses = send_all(served, GenerationMode.POSITIVE, CONFORMANCE)
    assert len(statuses) == sum(map(len, served.schema.raw_schema["paths"].values())), "all operations are asked"
    answered = [label for label, seen in statuses.items() if seen & {200, 202}]
    assert len(answered) > len(statuses) / 2, "the requests are about something that is there"


@pytest.mark.slow
@pytest.mark.no_cover  # as other property tests, see tests/conftest.py
def test_requests_against_the_description_are_refused_as_described(served: Served) -> None:
    statuses = send_all(served, GenerationMode.NEGATIVE, [*CONFORMANCE, negative_data_rejection])
    assert all(seen & {400, 404, 415, 422} for seen in statuses.values()), "each has refused"
