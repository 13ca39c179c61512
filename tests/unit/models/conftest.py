from collections.abc import Iterator

import pytest

from tests.loopback.cases import PROVIDERS, SERVERS, Case


def running(provider: str) -> Iterator[Case]:
    if provider == "openai":
        pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with SERVERS[provider]() as server:
        yield Case(provider, server)


@pytest.fixture
def ollama() -> Iterator[Case]:
    yield from running("ollama")


@pytest.fixture
def openai() -> Iterator[Case]:
    yield from running("openai")


@pytest.fixture
def voyage() -> Iterator[Case]:
    yield from running("voyage")


@pytest.fixture(params=PROVIDERS)
def case(request: pytest.FixtureRequest) -> Case:
    return request.getfixturevalue(request.param)
