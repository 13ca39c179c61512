"""Constructors by language: methods that a call of their type runs without naming them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ECMASCRIPT_NAMES: Final = frozenset({"constructor"})
_PYTHON_NAMES: Final = frozenset({"__init__", "__new__"})
_CONSTRUCTOR_NAMES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "astro", "html"), _ECMASCRIPT_NAMES),
        **dict.fromkeys(("python", "jupyter"), _PYTHON_NAMES),
        "kotlin": frozenset({"constructor"}),
        "php": frozenset({"__construct"}),
        "ruby": frozenset({"initialize"}),
        "scala": frozenset({"this"}),
        "swift": frozenset({"init"}),
    }
)
"""Names of constructors. In other languages they are ordinary names: PHP's ``Uri::init()``."""

_TYPE_NAMED_LANGUAGES: Final = frozenset({"c_sharp", "cpp", "java"})


def is_constructor(language: str, name: str, type_name: str) -> bool:
    """Return whether a method of a type is a constructor in its language."""
    return name in _CONSTRUCTOR_NAMES.get(language, ()) or (language in _TYPE_NAMED_LANGUAGES and name == type_name)
