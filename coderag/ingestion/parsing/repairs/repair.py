"""The repairs of each language, applied in order."""

from collections.abc import Callable, Mapping
from typing import Final

from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.repairs.c_family import repair_c_family
from coderag.ingestion.parsing.repairs.c_sharp import repair_c_sharp
from coderag.ingestion.parsing.repairs.rust import repair_rust
from coderag.ingestion.parsing.repairs.wrappers import unwrap_transparent
from coderag.ingestion.parsing.stage_clock import stages

_REPAIRS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "c_family": repair_c_family,
    "c_sharp": repair_c_sharp,
    "rust": repair_rust,
}


def repair_source(data: bytes, language: Language) -> bytes:
    """Return the text that the language's grammar is to parse: of the same length, with the same line breaks."""
    with stages.measure("repair"):
        for name in language.repairs:
            data = _REPAIRS[name](data)
        return unwrap_transparent(data, language)
