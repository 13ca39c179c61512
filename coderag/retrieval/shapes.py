"""Choice of results by intent: declarations that explain something, one by name, or places."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from coderag.schema.vocabulary import Intent


@dataclass(frozen=True, slots=True)
class Shape:
    """Choice of results for an intent.

    Attributes:
        max_per_file: Maximum number of results of one file on a page; None takes the setting.
        wants_definition: Whether the declaration of a name is an answer, or only what the question is about.
    """

    max_per_file: int | None = None
    wants_definition: bool = True


REPORT: Final = Shape(max_per_file=5)

_DECLARATIONS: Final = Shape()
_PLACES: Final = Shape(max_per_file=10, wants_definition=False)

SHAPES: Final[Mapping[Intent, Shape]] = MappingProxyType(
    {"find_usage": _PLACES, "hierarchy": _PLACES, "find_tests": _PLACES, "find_similar": _PLACES}
)
"""Intents that ask for places; the others ask for declarations."""


def get_shape(intent: Intent) -> Shape:
    """Return how results are chosen for a question of an intent."""
    return SHAPES.get(intent, _DECLARATIONS)
