"""Programs that answer in place of the service."""

from collections.abc import Callable, Iterator

import pytest

from tests.unit.service.answering import Answering


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Return one that proves to be the service."""
    program = Answering()
    yield program
    program.close()


@pytest.fixture
def replying() -> Iterator[Callable[[bytes], Answering]]:
    """Return what makes one that always replies the same."""
    made: list[Answering] = []

    def make(reply: bytes) -> Answering:
        made.append(Answering(lambda _: reply))
        return made[-1]

    yield make
    for program in made:
        program.close()
