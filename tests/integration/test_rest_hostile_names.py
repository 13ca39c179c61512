"""Names and paths that no file can have: the REST interface refuses them or finds nothing, and never fails itself."""

import pytest

from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import RestClient

HOSTILE = [
    "a" * 4_000, "é" * 2_000, "a/" * 2_000, "../" * 1_000, "/" * 4_000, "x" * 300 + ".py", "~nobody/x", "a\nb\x1b[31m",
    "\u202egnp.py", "app.py:99999999999999999999", "app.py:1-99999999999", "app.py/", "..", "", " ", "con", "C:\\x",
]  # fmt: skip


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    root = folder / "shop"
    root.mkdir()
    (root / "app.py").write_text("def f():\n    return g()\n\n\ndef g():\n    return 1\n")
    workspace = Workspace(WorkspaceOptions(allowed_roots=(folder,), watch=False))
    assert workspace.open_repository(root).index().wait(120).state == "done"
    yield RestClient(make_app(workspace), str(root))
    workspace.close()


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: f"{name[:12]!r}{len(name)}")
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/read", lambda name: {"places": [name]}),
        ("/search", lambda name: {"query": "f", "filters": {"paths": [name]}}),
        ("/search/text", lambda name: {"query": name}),
        ("/context", lambda name: {"query": name}),
        ("/definition", lambda name: {"name": name}),
        ("/graph/callers", lambda name: {"name": name}),
        ("/graph/outline", lambda name: {"path": name}),
        ("/graph/path", lambda name: {"start": name, "end": "f"}),
        ("/repositories", lambda name: {"root": name}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_name_is_no_fault_of_the_server(rest, path, fields, name):
    reply = rest.post(path, **fields(name))
    assert reply.status_code < 500, reply.text
