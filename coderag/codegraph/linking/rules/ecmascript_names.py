"""Predeclared names of JavaScript, TypeScript and browsers."""

from typing import Final

from coderag.codegraph.linking.rules.standard_names import read_names

BUILTINS: Final = read_names("ecmascript", "builtins")  # fmt: skip
"""Globals, built-in types, and the names of literals in chains."""

COLLECTION_TYPES: Final = read_names("ecmascript", "collection_types")  # fmt: skip
"""Types with elements of their last type argument."""

COMMON_METHODS: Final = read_names("ecmascript", "common_methods")  # fmt: skip
"""Methods of the standard library and of browsers, and names as common as those."""

WRAPPER_TYPES: Final = read_names("ecmascript", "wrapper_types")  # fmt: skip
"""Types with the members of their first type argument."""
