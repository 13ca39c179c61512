"""Tell whether a question is about the repository as a whole."""

import re
from collections.abc import Sequence
from typing import Final

_WHOLE_NAME: Final = (
    r"(?:this|the|that|our|your)\s+(?:whole\s+)?(?:project|repo(?:sitory)?|code\s?base|code|library|package|framework|app(?:lication)?"
    r"|program|tool|software|monorepo)"
)
_STRUCTURE: Final = r"(?:overview|summary|architecture|structure|layout|purpose|tour)"
_CLAUSES: Final = (
    r"what\s+(?:does|do|is|are)\s+{whole}(?:\s+(?:do|about|for|contain|offer|good\s+for|used\s+for|made\s+of))?",
    r"what(?:'s|\s+is)\s+(?:in|inside)\s+{whole}",
    r"where\s+(?:do|should|can|would)\s+(?:i|we|one)\s+(?:start|begin)(?:\s+(?:to\s+read|reading|looking|with))?"
    r"(?:\s+(?:in\s+|with\s+)?{whole}|\s+here)?",
    r"how\s+(?:is|are)\s+{whole}\s+(?:structured|organi[sz]ed|laid\s+out|set\s+up|split(?:\s+up)?|built\s+up)",
    rf"(?:(?:give\s+me|show\s+me|what\s+is|what's)\s+)?(?:an?\s+|the\s+)?(?:\w+(?:-\w+)?\s+)?{_STRUCTURE}\s+of\s+{{whole}}",
    rf"(?:(?:give\s+me|show\s+me)\s+)?(?:an?\s+|the\s+)?{_STRUCTURE}",
    r"(?:explain|describe|summari[sz]e)\s+{whole}(?:\s+to\s+me)?",
)
_SPLIT: Final = re.compile(
    r"\s*(?:[,;?.!]+\s+(?:and\s+)?|\s+and\s+)(?=(?:what|where|how|explain|describe)\b)", re.IGNORECASE
)


def asks_for_overview(question: str, names: Sequence[str] = ()) -> bool:
    """Whether a question asks about the repository as a whole, in each of its parts.

    Args:
        question: As it was put.
        names: What the repository is called.
    """
    named = "|".join(re.escape(name) for name in names if name)
    whole = f"(?:{_WHOLE_NAME}{f'|{named}' if named else ''})"
    later = f"(?:{_WHOLE_NAME}|it{f'|{named}' if named else ''})"
    parts = _SPLIT.split(question.strip().rstrip("?.! "))
    return all(
        any(re.fullmatch(clause.format(whole=later if number else whole), part, re.IGNORECASE) for clause in _CLAUSES)
        for number, part in enumerate(parts)
    )
