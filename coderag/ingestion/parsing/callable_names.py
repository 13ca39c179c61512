"""Functions named by strings and symbols: ``call_user_func("go")``, ``[$this, "go"]``, ``before_action :load``."""

from coderag.ingestion.parsing.source_text import join_name_parts

_MAX_CHARS = 190
_GLOBAL_NAMESPACE = "\\"
_POSSIBLE_GLOBAL = "\\?."
_POSSIBLE_OWN = "@?."
_OWN_OBJECT = "@."  # in Ruby an instance of the enclosing type, wherever the symbol is


def format_callable(name: str, owner: str, *, has_owner: bool, grammar: str) -> str:
    """Return the chain of a function that a string or symbol names; empty if its owner is no chain.

    Args:
        name: Text of the string or symbol.
        owner: Chain of the value that it is a member of.
        has_owner: Whether there is such a value. Without one, a PHP name is global, and a Ruby name is an own method.
    """
    if (has_owner and (not owner or "|" in owner)) or len(owner) + len(name) > _MAX_CHARS:
        return ""
    if grammar == "ruby":
        return f"{owner}.{name.lstrip(':')}" if has_owner else f"{_OWN_OBJECT}{name.lstrip(':')}"
    chain = (
        f"{owner}.{name}"
        if has_owner
        else join_name_parts(f"{_GLOBAL_NAMESPACE}{name.removeprefix(_GLOBAL_NAMESPACE)}")
    )
    return f"{chain}/"


def format_possible_callable(name: str, grammar: str) -> str:
    """Return the chain of a function that a string or symbol may name."""
    if grammar == "ruby":
        return f"{_POSSIBLE_OWN}{name.lstrip(':')}"[:_MAX_CHARS]
    return f"{_POSSIBLE_GLOBAL}{join_name_parts(name.removeprefix(_GLOBAL_NAMESPACE))}"[:_MAX_CHARS] + "/"
