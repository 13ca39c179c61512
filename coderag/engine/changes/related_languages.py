"""Languages whose code can name the same declarations."""

from typing import Final

from coderag.codegraph.link_tiers import find_link_tier

_FAMILIES: Final = (
    frozenset({"javascript", "typescript", "tsx", "jsx", "vue", "svelte", "astro", "html"}),
    frozenset({"java", "kotlin", "groovy", "scala"}),
    frozenset({"c", "cpp", "objective_c", "cuda", "swift"}),
    frozenset({"c_sharp", "fsharp", "vb", "razor"}),
    frozenset({"python", "cython"}),
)


def is_related_language(language: str, other: str) -> bool:
    """Return whether code in a language may use a declaration in another one.

    Text, settings, templates and queries may name anything. Of two programming languages whose names are linked, only
    those of one family share declarations.
    """
    if language == other or find_link_tier([language]) == "none" or find_link_tier([other]) == "none":
        return True
    return any({language, other} <= family for family in _FAMILIES)
