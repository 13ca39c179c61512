"""What kinds of question there are, as data: patterns tried in order, the first that fits decides.

A pattern's group ``name`` is what the question is about.
"""

import re
from typing import NamedTuple

from coderag.schema import Intent

_NAME = r"[`'\"]?(?P<name>[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|/)[A-Za-z_$][\w$]*)*)(?:\(\))?[`'\"]?"
_NOUN = r"(?:(?:the|a|an|this|that|any|all)\s+)?"
_KIND = r"(?:(?:function|method|class|interface|struct|trait|type|enum|module|constant|variable|macro|component|symbol)\s+)?"
_TAIL_KIND = (
    r"(?:\s+(?:function|method|class|interface|struct|trait|type|enum|module|constant|variable|macro|component))?"
)
_THING = _NOUN + _KIND + _NAME + _TAIL_KIND
_WHO = r"(?:who|what|which(?:\s+\w+){0,2}|where|everything\s+that|all\s+\w+\s+that|(?:places?|code)\s+that|find\s+\w+\s+that)"


class IntentPattern(NamedTuple):
    """A way to ask. ``confidence`` is how surely it means the intent, 0 to 1."""

    intent: Intent
    confidence: float
    pattern: re.Pattern[str]


def _pattern(intent: Intent, confidence: float, *regexes: str) -> list[IntentPattern]:
    return [IntentPattern(intent, confidence, re.compile(regex, re.IGNORECASE)) for regex in regexes]


INTENT_PATTERNS: tuple[IntentPattern, ...] = tuple(
    _pattern(
        "backlog", 0.9,
        r"\b(?:which|what|any|find|show|list|open|related)\s+(?:\w+\s+){0,2}(?:tickets?|backlog|user\s+stor(?:y|ies)|work\s+items?|jira)\b",
        r"\bin\s+the\s+backlog\b",
    )
    + _pattern(
        "documentation", 0.9,
        r"\bwhat\s+do(?:es)?\s+(?:the\s+)?(?:\w+\s+)?(?:docs?|documentation|readme|manual|guide|changelog)\b",
        r"\b(?:according\s+to|in|from)\s+the\s+(?:docs?|documentation|readme|manual|changelog|guide)\b",
        r"\b(?:documentation|docs)\s+(?:of|for|about|on)\b|\bwhere\s+is\s+.*\bdocumented\b|\bis\s+.*\bdocumented\b",
    )
    + _pattern(
        "find_tests", 0.9,
        rf"\b(?:what|which)\s+(?:unit\s+|integration\s+)?tests?\s+(?:(?:cases?\s+)?(?:cover|exercise|check|verify|are\s+there\s+for|use)s?)\s+{_THING}",
        rf"\bwhat\s+(?:tests|covers)\s+{_THING}",
        rf"\b(?:unit\s+|integration\s+)?tests?\s+(?:for|of|covering)\s+{_THING}",
        rf"\b(?:how|where)\s+(?:is|are)\s+{_THING}\s+tested\b",
    )
    + _pattern(
        "find_usage", 0.9,
        rf"\b{_WHO}\s+(?:else\s+)?(?:\w+\s+)?(?:calls?|uses?|invokes?|imports?|references?|instantiates?|depends?\s+on|relies\s+on)\s+{_THING}",
        rf"\b(?:callers?|usages?|uses|references|importers|invocations|call\s+sites?|dependents)\s+(?:of|to)\s+{_THING}",
        rf"\bwhat\s+(?:breaks|is\s+affected|would\s+break|happens)\s+(?:if|when)\s+(?:i\s+|we\s+|you\s+)?(?:change|changing|rename|remove|delete|modify)?\s*{_THING}\s*(?:changes|is\s+(?:changed|removed|renamed))",
        rf"\bwhat\s+(?:breaks|is\s+affected|would\s+break)\s+(?:if|when)\s+(?:i|we|you)\s+(?:change|rename|remove|delete|modify)\s+{_THING}",
        rf"\bimpact\s+of\s+(?:changing\s+|removing\s+|renaming\s+)?{_THING}",
        rf"\bwhere\s+(?:is|are)\s+{_THING}\s+(?:used|called|imported|referenced|invoked|instantiated)\b",
    )
    + _pattern(
        "hierarchy", 0.9,
        rf"\b{_WHO}\s+(?:\w+\s+)?(?:implements?|extends?|inherits?(?:\s+from)?|subclass(?:es)?|overrides?|derives?(?:\s+from)?)\s+{_THING}",
        rf"\b(?:subclasses|implementations|implementors|implementers|subtypes|derived\s+classes|children|base\s+class(?:es)?|superclass(?:es)?|parents?)\s+of\s+{_THING}",
        rf"\b(?:class|type|inheritance)\s+(?:tree|hierarchy)\s+(?:of|for|below|above)\s+{_THING}",
    )
    + _pattern(
        "find_similar", 0.9,
        r"\b(?:code|functions?|methods?|something|anything)\s+(?:like|similar\s+to|resembling)\s+(?:this|the\s+following|`|\S+:\d+)",
        r"^\s*(?:similar\s+to|like)\s+\S+:\d+",
        r"\bsimilar\s+(?:code|functions?|methods?|implementations?)\s+to\b",
    )
    + _pattern(
        "find_definition", 0.9,
        rf"\bwhere\s+(?:is|are)\s+{_THING}\s+(?:defined|declared|implemented|located)\b",
        rf"\b(?:definition|declaration|implementation|source)\s+of\s+{_THING}\s*\??$",
        rf"^\s*(?:show|open|find|locate|go\s+to|jump\s+to|print)\s+(?:me\s+)?{_THING}\s*\??$",
        rf"^\s*(?:what|where)\s+is\s+{_THING}\s*\??$",
    )
    + _pattern(
        "understand_module", 0.8,
        r"^\s*(?:how|why)\s+(?:does|do|is|are|did|can)\b",
        r"\b(?:explain|describe|walk\s+me\s+through|overview\s+of|architecture|understand|flow\s+(?:from|of|through)|lifecycle|life\s+cycle|what\s+happens\s+when)\b",
        r"\bhow\s+.+\b(?:works?|flows?|happens?)\b",
    )
)  # fmt: skip

SYMBOL_QUERY = re.compile(
    r"^[`'\"]?(?:[A-Za-z_$][\w$]*(?:(?:::|\\|->|\.|#)[A-Za-z_$][\w$]*)+[!?]?|_[\w$]*|[A-Za-z]\w*[A-Z_]\w*|[A-Z]\w*)(?:\(\))?[`'\"]?$"
)
"""A question that is nothing but one identifier: qualified, with an underscore, or with a capital."""

ABOUT_TESTS = re.compile(r"\b(?:tests?|tested|testing|specs?|mock(?:s|ing|ed)?|fixtures?|assert\w*)\b", re.IGNORECASE)
