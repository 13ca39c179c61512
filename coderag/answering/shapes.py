"""Which shape an answer has: by what the question asks for, and by how it is put."""

import re
from typing import Final, NamedTuple

from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape, Intent

_LISTED: Final[frozenset[Intent]] = frozenset({"find_usage", "hierarchy", "find_tests"})
_COMPARABLE: Final[frozenset[Intent]] = frozenset({"understand_module", "find_definition", "general"})
_FLOWING: Final[frozenset[Intent]] = frozenset({"understand_module", "find_usage", "general"})
_MOST_WORDS = 5  # of a side: more is a sentence with "or" in it

_SIDE: Final = r"[^,;?!.]+(?:\.\w[^,;?!.]*)*"  # a dot within a name does not end it
_COMPARISONS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bdifferences?\s+between\s+(?P<one>{_SIDE}?)\s+(?:and|vs\.?|versus)\s+(?P<other>{_SIDE})",
        rf"\bcompar(?:e|ison\s+(?:of|between))\s+(?P<one>{_SIDE}?)\s+(?:and|with|to|against|vs\.?|versus)\s+(?P<other>{_SIDE})",
        rf"\bhow\s+(?:does|do|is|are)\s+(?P<one>{_SIDE}?)\s+(?:differ(?:s|ent)?|compared?)\s+(?:from|to|with)\s+(?P<other>{_SIDE})",
        rf"\b(?:when|why|whether|should)\b.*?\buse\s+(?P<one>{_SIDE}?)\s+(?:or|and\s+when|instead\s+of|rather\s+than|over|vs\.?|versus)\s+(?P<other>{_SIDE})",
        rf"^\s*(?P<one>{_SIDE}?)\s+(?:vs\.?|versus)\s+(?P<other>{_SIDE})",
        r"^\s*(?P<one>[`\w.:#]+)\s+or\s+(?P<other>[`\w.:#]+)\s*\?*\s*$",
    )
)
_FLOWS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bhow\s+(?:does|do|is|are|can|could)\s+(?P<first>{_SIDE}?)\s+(?:reach(?:es)?|gets?\s+to|ends?\s+up\s+(?:in|at)|flows?\s+(?:in)?to)\s+(?P<last>{_SIDE})",
        rf"\b(?:flow|path|way|route|chain|gets?|goes|go|travels?|flows?|walk\s+me\s+through)\b(?:\s+of\s+\w+)?(?:\s+\w+){{0,2}}?\s+(?:from|between)\s+(?P<first>{_SIDE}?)\s+(?:up\s+to|to|and|until|into)\s+(?P<last>{_SIDE})",
    )
)
_FROM_TO: Final = re.compile(
    rf"\bfrom\s+(?P<first>{_SIDE}?)\s+(?:all\s+the\s+way\s+)?(?:to|until|into)\s+(?P<last>{_SIDE})", re.IGNORECASE
)
"""Says where a flow begins and ends, but not that one is asked for: "convert from JSON to YAML"."""

_FLOW_WORDS: Final = re.compile(
    r"\b(?:flows?\s+(?:from|of|through|between)|(?:call|control|data|request)\s+flow|what\s+happens\s+(?:when|if|after|before|on|during)"
    r"|walk\s+(?:me|us)\s+through|trace\s+(?:the|how|a)|step\s+by\s+step|lifecycle|life\s+cycle|sequence\s+of\s+(?:calls|steps)"
    r"|how\s+(?:does|do)\s+.+\s+(?:get|flow|travel|go|reach)s?\s+(?:from|to|through)\b)",
    re.IGNORECASE,
)
_WRONG: Final = (
    r"(?:fail\w*|errors?|exceptions?|crash\w*|panic\w*|invalid|malformed|corrupt\w*|missing|unavailable|unreachable"
    r"|tim(?:es|ed|ing)?\s*-?outs?|expire[sd]?|denied|refused|rejected|abort\w*|cancel\w*|interrupt\w*|can(?:not|'t|\s+not)"
    r"|(?:could|does|do|is|are)\s*n[o']t|not|wrong|bad|exceed\w*|too\s+\w+|full|lost|dropped|unknown|duplicated?s?"
    r"|(?:is|are|returns?|gets?|given)\s+(?:null|nil|none|undefined|empty)|conflict\w*|breaks?|broken|dies|down|offline|unsupported|disconnect\w*|unexpected)"
)
_FAILURES: Final = re.compile(
    rf"\b(?:what\s+(?:happens|if)|handl\w+|if|when)\b.*\b{_WRONG}\b|\b(?:errors?|exceptions?|failures?)\b.*\bhandled\b",
    re.IGNORECASE,
)
"""A question about what goes wrong, which calls in their order do not tell."""

_LEADING: Final = re.compile(
    r"^(?:(?:the|a|an|this|that|using|function|method|class|type|interface|struct|module|call(?:ing)?|to|of)\s+)+",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    r"(?:\s+(?:function|method|class|type|interface|struct|trait|module|work|works|do|does|go|in\s+this\s+.*|in\s+the\s+(?:code|repo).*"
    r"|here|instead|objects?|instances?))+$",
    re.IGNORECASE,
)  # fmt: skip


class Ends(NamedTuple):
    """Two things that a question names, as it puts them: the sides of a comparison, or where a flow begins and ends."""

    first: str
    last: str


def shape_of(state: QueryState) -> AnswerShape:
    """Return the shape of the answer to a question for which evidence has been looked for."""
    intent, text = state["analysis"]["intent"], state["analysis"]["wording"]
    if state["evidence"] == "not_found" or not state["results"]:
        return "not_found"
    if state["analysis"]["report"]:
        return "explanation"
    if intent in _COMPARABLE and compared(text):
        return "comparison"
    if intent in _FLOWING and _asks_for_flow(text, intent):
        return "flow"
    if intent in _LISTED:
        return "usages"
    return "definition" if intent == "find_definition" else "explanation"


def compared(question: str) -> Ends | None:
    """Return the two things that a question compares; None if it compares none."""
    for pattern in _COMPARISONS:
        if (match := pattern.search(question)) and (ends := _ends(match["one"], match["other"])):
            return ends
    return None


def flow_ends(question: str) -> Ends | None:
    """Return where a flow that is asked for begins and ends; None if the question does not say."""
    for pattern in (_FROM_TO, *_FLOWS):
        if (match := pattern.search(question)) and (ends := _ends(match["first"], match["last"])):
            return ends
    return None


def asks_of_failure(question: str) -> bool:
    """Whether a question asks what happens when something goes wrong."""
    return bool(_FAILURES.search(question))


def _asks_for_flow(question: str, intent: Intent) -> bool:
    if any(pattern.search(question) for pattern in _FLOWS):
        return True
    return intent != "find_usage" and bool(_FLOW_WORDS.search(question)) and not asks_of_failure(question)


def _ends(first: str, last: str) -> Ends | None:
    one, other = _bare(first), _bare(last)
    if one.startswith("-") or other.startswith("-"):  # options of a command, which no declarations are
        return None
    too_long = max(len(one.split()), len(other.split())) > _MOST_WORDS
    return None if not one or not other or too_long or one.lower() == other.lower() else Ends(one, other)


def _bare(side: str) -> str:
    """Return a side without articles, kinds and quotes."""
    bare = _TRAILING.sub("", _LEADING.sub("", side.strip())).strip("`'\"() ")
    return bare if bare.lower() not in {"it", "them", "this", "that"} else ""
