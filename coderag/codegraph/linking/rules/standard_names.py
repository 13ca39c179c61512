"""Names of standard libraries and languages, as data in ``standard_names.toml``."""

import tomllib
from functools import cache
from importlib import resources


def read_names(language: str, use: str) -> frozenset[str]:
    """Return the names of a language for a use, such as the methods of its collections that return an element."""
    return frozenset(_load()[language][use].split())


@cache
def _load() -> dict[str, dict[str, str]]:
    source = resources.files("coderag.codegraph.linking.rules").joinpath("standard_names.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))
