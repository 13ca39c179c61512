"""What kinds of question there are, as data: patterns tried in order, the first that fits decides.

A pattern's group ``name`` is what the question is about, ``other`` the far end of a way that it asks for.
"""

import re
from typing import NamedTuple

from coderag.schema.vocabulary import Intent

_SEGMENT = r"[A-Za-z_$][\w$]*"
_PATH = r"(?:[\w@.+-]+/)+[\w@.+-]*\w"
_QUALIFIED = rf"#?{_SEGMENT}(?:(?:\.|::|->|#|/)#?{_SEGMENT})*"
_NAME = rf"[`'\"]?(?P<name>{_PATH}::{_QUALIFIED}|{_PATH}|{_QUALIFIED})(?:\(\))?[`'\"]?"
_NOUN = r"(?:(?:the|a|an|this|that|any|all)\s+)?"
_KIND = (
    r"(?:(?:function|method|class|interface|struct|trait|type|enum|module|file|constant|variable|macro|component|symbol|"
    r"table|view|procedure|trigger|resource|protocol|mixin|namespace|fixture|property|field|helper)"
    r"\s+(?![?]?$))?"
)
_TAIL_KIND = (
    r"(?:\s+(?:function|method|class|interface|struct|trait|type|enum|module|constant|variable|macro|component|"
    r"table|view|procedure|trigger|resource|protocol|mixin|namespace|fixture|property|field|helper))?"
)
_AT_PLACE = r"(?:(?:the\s+)?(?:\w+\s+)?(?:at|on|in)\s+)?"
_LOCATION = r"(?:[\w.@+-]+/)*[\w.@+-]+\.\w+:\d+(?:-\d+|:\d+)?:?"  # also path:first-last, path:line:column
_THING = _NOUN + _KIND + _NAME + _TAIL_KIND
_OTHER = _THING.replace("(?P<name>", "(?P<other>")
_TYPE = rf"(?-i:(?=\S*[A-Z])){_THING}"  # what is created is a type, or it is no question about code
_CODE_NAME = r"(?-i:(?=\S*[A-Z_`]))"  # two of them are no longer a guess that plain words are names
_VALUE = (
    r"(?:the\s+)?(?:(?:environment\s+)?(?:variable|setting|option|property|field|constant|flag|key|value)\s+)?"
    rf"(?-i:(?=\S*(?:[A-Z_`]|\w\.\w))){_NAME}"
    r"(?:\s+(?:(?:environment|configuration|config)\s+)?(?:variable|setting|option|property|field|constant|flag|key|value))?"
)
_READ = r"(?:read|set|written|assigned|changed|modified|configured|consulted|checked|evaluated|accessed)"
_END = r"\s*\??\s*$"
_WHO = (
    r"(?:who|what|which(?:\s+\w+){0,2}|where|everything\s+that|(?:places?|code|all\s+\w+|find\s+\w+|functions|methods|"
    r"classes|types|structs|tests|files|modules)\s+(?:that|which))"
)
_USE = r"(?:calls?|uses?|invokes?|imports?|references?|instantiates?|makes?\s+use\s+of|depends?\s+on|rel(?:y|ies)\s+on)"
_USED = r"(?:called|used|invoked|imported|referenced|instantiated)"
_CREATE = r"(?:creates?|constructs?|builds?|makes?)"
_CREATED = r"(?:created|constructed|initiali[sz]ed)"
_ASK_FOR = r"^\s*(?:(?:show|find|list|give|get)\s+(?:me\s+)?)?(?:all\s+)?(?:the\s+)?"
_BREAKS = (
    r"\bwhat\s+(?:else\s+)?(?:would\s+|could\s+|will\s+|might\s+|may\s+|can\s+)?"
    r"(?:breaks?|fails?|happens?|(?:is|be|gets?)\s+(?:affected|impacted|broken))"
)
_CHANGE = r"(?:chang\w+|renam\w+|remov\w+|delet\w+|modif\w+|edit\w*|touch\w*|refactor\w*)"
_DERIVE = r"(?:implements?|extends?|inherits?(?:\s+from)?|subclass(?:es)?|overrides?|derives?(?:\s+from)?)"
_DERIVING = r"(?:implementing|extending|inheriting(?:\s+from)?|subclassing|overriding|deriving\s+from)"


_STILL = r"(?:(?:still|even|ever|actually|really|currently|safely|just)\s+)?"
_DROP = r"(?:delet\w+|remov\w+|drop|get\s+rid\s+of|throw\s+away)"
_UNUSED = r"(?:unused|uncalled|unreferenced|unneeded|unnecessary|obsolete|dead)"
_NOT_USED = rf"(?:(?:never|not|no\s+longer|nowhere)\s+(?:\w+\s+)?(?:{_USED}|needed|required)(?:\s+any\w*)?|{_UNUSED})"
_CODE = r"(?:code|functions?|methods?|class(?:es)?|types?|structs?|interfaces?|traits?|declarations?|symbols?|exports?)"
_IN_PLACE = (
    r"(?:\s+(?:in|of|under|below|inside|within)\s+(?:the\s+)?(?:(?:folder|directory|file|module|package)\s+)?"
    r"(?:(?:this|the|our|my|here)\b[\w\s-]*|[`'\"]?(?P<name>[\w./@+-]+?)/?[`'\"]?(?:\s+(?:folder|directory|file|module|package))?))?"
)
_FROM_PLACE = _IN_PLACE.replace("(?:in|", "(?:from|in|", 1)
_WHICH_CODE = (
    rf"^\s*(?:(?:which|what|list|find|show|get)\b(?:\s+(?:me|us|all|any|the|of))*(?:\s+{_CODE})?|(?:all\s+)?{_CODE})"
)
_WE = r"(?:i|we|one|you)"
_ANYTHING = r"(?:any\w*|some\w*)"
_NOTHING = r"(?:nobody|no\s+one|nothing|no\s+(?:other\s+)?code)"
_USERS = r"(?:callers?|users?|uses?|usages?|references?|call\s+sites?|dependents)"
_MAY = r"(?:can|could|may|might|should|shall|would)"
_HARMLESSLY = rf"(?:\s+safely)?(?:\s+without\s+(?:breaking|harming|affecting)\s+{_ANYTHING}(?:\s+else)?)?"
_BREAK = r"(?:break|harm|hurt|affect|matter)\w*"
ABOUT_UNUSED_NAME: tuple[re.Pattern[str], ...] = tuple(
    re.compile(regex, re.IGNORECASE)
    for regex in (
        rf"^\s*(?:why\s+)?(?:is|are)\s+{_THING}\s+{_STILL}(?:{_NOT_USED}(?:\s+code)?|(?:{_USED}|needed|required)(?:\s+(?:any\w*|somewhere|at\s+all|still|by\s+any\w*))?){_END}",
        rf"^\s*(?:is|are)\s+{_THING}\s+(?:an?\s+)?{_UNUSED}\s+{_CODE}{_END}",
        rf"^\s*(?:is|are)\s+{_THING}\s+(?:really\s+)?safe\s+to\s+(?:be\s+)?{_DROP}{_HARMLESSLY}{_END}",
        rf"^\s*{_MAY}\s+{_WE}\s+{_STILL}{_DROP}\s+(?!(?:an?|any|all)\s){_THING}{_HARMLESSLY}{_END}",
        rf"^\s*{_MAY}\s+{_THING}\s+(?:safely\s+)?be\s+{_STILL}{_DROP}{_HARMLESSLY}{_END}",
        rf"^\s*(?:is\s+it\s+)?safe\s+to\s+{_DROP}\s+(?!(?:an?|any|all)\s){_THING}{_END}",
        rf"^\s*(?:will|would|does|could)\s+{_DROP}\s+{_THING}\s+{_BREAK}(?:\s+{_ANYTHING}(?:\s+else)?)?{_END}",
        rf"^\s*do\s+{_WE}\s+(?:still|even|ever|actually|really)\s+(?:need|use|require|call)\s+{_THING}(?:\s+(?:any\w*|at\s+all))?{_END}",
        rf"^\s*do\s+{_WE}\s+(?:need|use|require|call)\s+{_THING}\s+(?:any\w*|somewhere|at\s+all|still){_END}",
        rf"^\s*(?:do(?:es)?|has|have)\s+{_THING}\s+{_STILL}(?:have\s+)?(?:(?:any|no)\s+)?(?:other\s+)?{_USERS}(?:\s+left)?{_END}",
        rf"^\s*is\s+{_ANYTHING}(?:\s+one)?\s+{_STILL}(?:calling|using|importing|referencing)\s+{_THING}{_END}",
        rf"\bdo(?:es)?\s+any\w*(?:\s+\w+)?\s+{_STILL}{_USE}\s+{_THING}{_END}",
    )
)
"""Whether something is unused; tried before the patterns of intents."""

ABOUT_UNUSED_CODE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(regex, re.IGNORECASE)
    for regex in (
        rf"^\s*(?:(?:which|what|list|find|show|get|detect|is|are|do)\b)?(?:\s*\b(?:is|are|me|us|there|all|any|some|the|we|have|of|our|my)\b)*\s*{_UNUSED}\s+{_CODE}{_IN_PLACE}{_END}",
        rf"^\s*(?:(?:which|what|list|find|show)\b(?:\s+(?:me|us|all|any|the|of))*\s+)?{_CODE}\s+(?:(?:that|which)\s+)?(?:(?:is|are)\s+)?{_NOT_USED}{_IN_PLACE}{_END}",
        rf"^\s*what\s+(?:code\s+)?(?:is|are)\s+{_NOT_USED}{_IN_PLACE}{_END}",
        rf"^\s*(?:(?:is\s+)?there\s+)?{_ANYTHING}\s+{_NOT_USED}{_IN_PLACE}{_END}",
        rf"^\s*(?:is|are)\s+there\s+{_ANYTHING}\s+{_NOT_USED}{_IN_PLACE}{_END}",
        rf"{_WHICH_CODE}{_IN_PLACE}\s+(?:is|are)\s+{_NOT_USED}{_END}",
        rf"{_WHICH_CODE}\s+(?:(?:is|are|would\s+be)\s+)?safe\s+to\s+(?:be\s+)?{_DROP}{_FROM_PLACE}{_END}",
        rf"{_WHICH_CODE}{_IN_PLACE}\s+(?:is|are|would\s+be)\s+safe\s+to\s+(?:be\s+)?{_DROP}{_END}",
        rf"{_WHICH_CODE}\s+{_MAY}\s+(?:{_WE}|be)\s+{_STILL}{_DROP}{_HARMLESSLY}{_FROM_PLACE}{_END}",
        rf"{_WHICH_CODE}{_IN_PLACE}\s+{_MAY}\s+(?:{_WE}|be)\s+{_STILL}{_DROP}{_HARMLESSLY}{_END}",
        rf"{_WHICH_CODE}\s+(?:that\s+)?(?:does\s+|do\s+)?{_NOTHING}\s+(?:else\s+)?{_STILL}{_USE}{_IN_PLACE}{_END}",
        rf"{_WHICH_CODE}\s+(?:that\s+)?(?:(?:has|have|with)\s+no|without(?:\s+any)?)\s+(?:known\s+)?{_USERS}{_IN_PLACE}{_END}",
    )
)
"""What code is unused; tried before the patterns of intents."""

ABOUT_ONE_NAME: frozenset[Intent] = frozenset({"find_definition", "find_usage", "hierarchy", "find_tests"})
"""Intents of questions that are about one declaration."""


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
    + [IntentPattern("find_usage", 0.9, pattern) for pattern in (*ABOUT_UNUSED_NAME, *ABOUT_UNUSED_CODE)]
    + _pattern(
        "documentation", 0.9,
        r"\bwhat\s+do(?:es)?\s+(?:the\s+)?(?:\w+\s+)?(?:docs?|documentation|readme|manual|guide|changelog)\b",
        r"\b(?:according\s+to|in|from)\s+the\s+(?:docs?|documentation|readme|manual|changelog|guide)\b",
        r"\b(?:documentation|docs)\s+(?:of|for|about|on)\b|\bwhere\s+is\s+.*\bdocumented\b|\bis\s+.*\bdocumented\b",
    )
    + _pattern(
        "understand_module", 0.8,
        r"\b(?:write|add|create|make|start)\s+(?:\w+\s+){0,3}tests?\b",  # what to copy, rather than what tests a name
    )
    + _pattern(
        "find_tests", 0.9,
        rf"\b(?:what|which)\s+(?:unit\s+|integration\s+)?tests?\s+(?:(?:cases?\s+)?(?:cover|exercise|check|verify|are\s+there\s+for|use|call|test)s?)\s+{_THING}",
        rf"\bwhat\s+(?:tests|covers)\s+{_THING}",
        rf"\b(?:unit\s+|integration\s+)?tests?\s+(?:for|of|covering)\s+{_THING}",
        rf"\b(?:how|where)\s+(?:is|are)\s+{_THING}\s+tested\b",
    )
    + _pattern(
        "find_usage", 0.9,
        rf"\b(?:what|who|which(?:\s+\w+){{0,2}})\s+do(?:es)?\s+{_THING}\s+{_USE}{_END}",
        rf"\b{_USED}\s+by\s+{_THING}{_END}",
        rf"\b(?:callees|dependencies|imports)\s+of\s+{_THING}{_END}",
        rf"\bhow\s+(?:does|do|can|could)\s+{_THING}\s+(?:reach(?:es)?|gets?\s+to|ends?\s+up\s+(?:in|at))\s+{_OTHER}{_END}",
        rf"\b(?:path|way|route|chain)\s+(?:from|between)\s+{_THING}\s+(?:to|and)\s+{_OTHER}{_END}",
        rf"\b{_WHO}\s+(?:else\s+)?(?:\w+\s+)?{_USE}\s+{_THING}",
        rf"\bwhere\s+do(?:es)?\s+(?:the\s+)?\w+\s+{_USE}\s+{_THING}{_END}",
        rf"\b{_WHO}\s+{_CREATE}\s+{_TYPE}{_END}",
        rf"\b(?:callers?|usages?|uses|references|importers|invocations|call\s+sites?|dependents)\s+(?:of|to)\s+{_THING}",
        rf"{_ASK_FOR}(?:calls|users|instances|instantiations|occurrences|creations?)\s+(?:of|to)\s+{_THING}{_END}",
        rf"{_BREAKS}\s+(?:if|when)\s+(?:(?:i|we|you|someone)\s+)?{_CHANGE}\s+{_THING}{_END}",
        rf"{_BREAKS}\s+(?:if|when)\s+{_THING}\s+(?:(?:is|gets)\s+)?{_CHANGE}",
        rf"\b(?:affected|impacted|broken)\s+by\s+(?:a\s+|any\s+|the\s+)?{_CHANGE}\s+(?:(?:of|to|in)\s+)?{_THING}",
        rf"\b(?:impact|effects?|consequences|blast\s+radius)\s+of\s+(?:a\s+|any\s+)?{_CHANGE}\s+(?:(?:of|to|in)\s+)?{_THING}",
        rf"\b(?:impact|blast\s+radius)\s+of\s+{_THING}",
        rf"\bwhere\s+(?:is|are)\s+{_THING}\s+{_USED}\b",
        rf"\bwhere\s+(?:is|are)\s+{_TYPE}\s+{_CREATED}{_END}",
        rf"\bwhere\s+(?:is|are)\s+{_VALUE}\s+{_READ}\b",
    )
    + _pattern(
        "hierarchy", 0.9,
        rf"\bwhat\s+do(?:es)?\s+{_THING}\s+{_DERIVE}{_END}",
        rf"\b{_WHO}\s+(?:\w+\s+)?{_DERIVE}\s+{_THING}",
        rf"\b(?:classes|types|structs|methods|functions)\s+{_DERIVING}\s+{_THING}",
        rf"\b(?:subclasses|implementations|implementors|implementers|subtypes|(?:derived|child)\s+(?:classes|types)|children|descendants|overrides|base\s+class(?:es)?|superclass(?:es)?|parents?|ancestors)\s+of\s+{_THING}",
        rf"\bwhere\s+(?:is|are)\s+{_THING}\s+(?:overridden|extended|subclassed){_END}",
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
        rf"\bwhere\s+are\s+{_CODE_NAME}{_THING}\s+(?:and|or)\s+{_CODE_NAME}{_OTHER}\s+(?:defined|declared|implemented|located)\b",
        rf"\b(?:definition|declaration|implementation|source)\s+of\s+{_THING}\s*\??$",
        rf"^\s*(?:show|open|find|locate|go\s+to|jump\s+to|print)\s+(?:me\s+)?{_THING}\s*\??$",
        rf"^\s*(?:what|where)\s+is\s+{_THING}\s*\??$",
        rf"^\s*(?:(?:what(?:'s|\s+is)|what\s+happens|show(?:\s+me)?|open|go\s+to|jump\s+to|look\s+at)\s+)?{_AT_PLACE}{_LOCATION}{_END}",
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
