from collections.abc import Iterator

import pytest

from tests.loopback.chat_cases import EXTRAS, PROVIDERS, SERVERS, ChatCase


def running(provider: str) -> Iterator[ChatCase]:
    if module := EXTRAS.get(provider):
        pytest.importorskip(module, reason=f"the extra {provider} is not installed")
    with SERVERS[provider]() as server:
        yield ChatCase(provider, server)


@pytest.fixture
def ollama() -> Iterator[ChatCase]:
    yield from running("ollama")


@pytest.fixture
def openai() -> Iterator[ChatCase]:
    yield from running("openai")


@pytest.fixture
def anthropic() -> Iterator[ChatCase]:
    yield from running("anthropic")


@pytest.fixture
def gemini() -> Iterator[ChatCase]:
    yield from running("gemini")


@pytest.fixture(params=PROVIDERS)
def case(request: pytest.FixtureRequest) -> ChatCase:
    return request.getfixturevalue(request.param)
