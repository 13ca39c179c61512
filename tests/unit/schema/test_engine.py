"""Whatever answers for a repository has the one interface: in this process, through the service, and the fake of tests."""

import inspect

import pytest

from coderag.app import CodeRAG
from coderag.codegraph.graph import CodeGraph
from coderag.schema.engine import CodeGraphQueries, Engine
from coderag.service.remote import RemoteCodeRAG
from coderag.service.remote_graph import RemoteGraph
from tests.interfaces import fake_app, fake_graph

PAIRS = [
    (Engine, CodeRAG),
    (Engine, RemoteCodeRAG),
    (Engine, fake_app.FakeCodeRAG),
    (CodeGraphQueries, CodeGraph),
    (CodeGraphQueries, RemoteGraph),
    (CodeGraphQueries, fake_graph.FakeGraph),
]


def list_methods(protocol):
    return [name for name, value in vars(protocol).items() if inspect.isfunction(value) and not name.startswith("_")]


def read_parameters(owner, name):
    return {
        parameter.name: (parameter.kind, parameter.default)
        for parameter in inspect.signature(getattr(owner, name)).parameters.values()
    }


@pytest.mark.parametrize(
    ("protocol", "implementation", "name"),
    [(protocol, cls, name) for protocol, cls in PAIRS for name in list_methods(protocol)],
)
def test_implementation_has_the_parameters_of_the_protocol(protocol, implementation, name):
    wanted, parameters = read_parameters(protocol, name), read_parameters(implementation, name)
    assert wanted.items() <= parameters.items()
    assert all(
        default is not inspect.Parameter.empty for _, default in (parameters[key] for key in parameters.keys() - wanted)
    )
