"""Make a follow-up a question that stands alone, by rules: no language model.

"It" is what the last exchange was about, else what it cited first; "they" is all that it cited. What is left out of a question
("and for logout?", "callers?", "in Go?") comes from the question before. A question that stands alone stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coderag.answering.chat.pronouns import Antecedents, replace_pronouns
from coderag.answering.chat.state import Exchange
from coderag.question.follow_ups import complete_question

FollowUp = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question as it is searched for.

    Attributes:
        question: It stands alone, as far as the rules can tell.
        follow_up: Whether what was typed did not; ``unknown`` where the rules cannot tell.
        wider: Whether more of the same is wanted.
    """

    question: str
    follow_up: FollowUp = "yes"
    wider: bool = False


_LONGEST = 400  # characters of a follow-up; what is longer says what it is about
_LEAD: Final = re.compile(
    r"(?:(?:ok(?:ay)?|and|but|so|then|also|now|well|great|thanks|thank you|thx|cool|nice|good|right|hm+|yes|no)\b[,.!:\s]*)+",
    re.IGNORECASE,
)
_END: Final = re.compile(r"(?:\s*[.?!,])+$")
_MORE: Final = re.compile(
    r"(?:(?:show|give|tell|list|find)\s+(?:me\s+)?)?(?:(?:some|any|a few)\s+)?(?:more|others?|other ones)"
    r"(?:\s+(?:results|examples|places|details|of\s+(?:them|those|these|that)))?(?:\s+please)?"
    r"|go on|continue|keep going|next|what else|anything else|any others|are there (?:any )?(?:more|others)",
    re.IGNORECASE,
)
_BARE: Final = {
    "why": "why is {it} like this",
    "why not": "why not {it}",
    "how come": "why is {it} like this",
    "what for": "what is {it} for",
    "for what": "what is {it} for",
    "how": "how does {it} work",
    "how so": "how does {it} work",
    "how exactly": "how does {it} work",
    "where": "where is {it} defined",
    "where exactly": "where is {it} defined",
    "when": "when is {it} used",
    "who": "who uses {it}",
    "since when": "since when is there {it}",
    "explain": "explain {it}",
    "explain more": "explain {it} in detail",
    "explain further": "explain {it} in detail",
    "tell me more": "explain {it} in detail",
    "go deeper": "explain {it} in detail",
    "summarize": "summarize {it}",
    "summarise": "summarize {it}",
    "then": "what happens after {it}",
    "and then": "what happens after {it}",
    "then what": "what happens after {it}",
    "what then": "what happens after {it}",
    "what next": "what happens after {it}",
    "after that": "what happens after {it}",
    "who else": "who else uses {it}",
    "which file": "which file is {it} in",
    "what file": "which file is {it} in",
    "in which file": "which file is {it} in",
    "in detail": "explain {it} in detail",
    "more detail": "explain {it} in detail",
    "more details": "explain {it} in detail",
    "elaborate": "explain {it} in detail",
    "example": "give an example of {it}",
    "examples": "give examples of {it}",
}
"""A question of a word or two, and what it asks of what was talked about."""

_POINTING: Final = re.compile(r"\s+(?:(?:is|was)\s+)?(?:that|this|it|so)$")

_POSSESSIVES: Final = frozenset({"its", "their", "his", "her"})
_ABOUT: Final = re.compile(
    r"(?:(?:what|how)\s+about|(?:the\s+)?same\s+(?:question\s+|but\s+)?(?:for|with|about)|i\s+meant?|rather)\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FOR: Final = re.compile(r"(?:for|with|about|of)\s+(?P<what>.+)", re.IGNORECASE | re.DOTALL)
_WITHIN: Final = re.compile(
    r"(?:(?:and|but|what about|how about|now|only|just)\s+)*"
    r"(?P<filter>(?:not\s+)?(?:in|inside|within|under|outside|without|except)\s+\S+(?:\s+\S+){0,3})",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"\s+(?:only\s+|not\s+)?(?:in|inside|within|under|outside|without|except)\s+\S+(?:\s+\S+){0,2}$", re.IGNORECASE
)
_IN_TESTS: Final = re.compile(
    r"(?:in|inside|within|under)\s+(?:the\s+|our\s+)?(?:(?:unit|integration)\s+)?(?:tests?|specs?)(?:\s+(?:suite|code|files?))?",
    re.IGNORECASE,
)
_OF_A_NAME: Final = re.compile(
    r"(?:where|who|what|which)\b.*\b(?:defined|declared|implemented|located|calls?|called|uses?|used|imports?|imported)\b",
    re.IGNORECASE,
)
_QUESTION_WORD: Final = re.compile(
    r"(?:who|what|where|when|why|how|which|whose|is|are|was|were|does|do|did|can|could|should|would|will|has|have|show|find|"
    r"list|explain|describe|give|tell|compare|open|print|search|look|trace|walk|summari[sz]e)\b",
    re.IGNORECASE,
)
_NO_FRAGMENT: Final = re.compile(
    rf"{_QUESTION_WORD.pattern}|(?:it|that|this|they|he|she|these|those|i|you|we|there)\b", re.IGNORECASE
)
_IN_IT: Final = re.compile(
    r"(\S.*\s(?:in|of|for|from|with|by|to|inside))\s+(?:it|that|this|there|them)", re.IGNORECASE | re.DOTALL
)
_LEADING_FRAME: Final = re.compile(
    r"(?:please\s+)?(?:(?:can|could)\s+you\s+)?(?:(?:explain|describe|show(?:\s+me)?|tell\s+me|find|summari[sz]e)\s+)?"
    r"(?:how|where|what|why|when|who|which\s+\w+)?\s*"
    r"(?:(?:do|does|did|is|are|was|were|can|should|has|have|calls?|uses?|tests?|imports?|handles?|implements?|extends?)\s+)*"
    r"(?:(?:the|a|an|we|you|i)\s+)*",
    re.IGNORECASE,
)
_TRAILING_FRAME: Final = re.compile(
    r"(?:\s+(?:work|works|happen|happens|done|defined|declared|implemented|handled|used|called|tested|configured|stored|made|set|"
    r"documented|located|look like|mean|do|computed|created|here|currently|exactly|internally|"
    r"in (?:this|the) (?:repo|repository|project|code ?base|code)))+$",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|an|is|are|were|does|did|how|what|where|when|why|who|which|of|for|to|and|or|with|by|from|this|that|it|"
    r"show|find|list|explain|can|should|would|i|we|you|my|all|any|there|not|about)\b",
    re.IGNORECASE,
)
_POINTS_BACK: Final = re.compile(
    r"\b(?:the other (?:one|ones)|former|latter|which one|earlier|you (?:said|mentioned|showed)|line \d+)\b",
    re.IGNORECASE,
)
"""What the rules leave, and may mean something that was said before."""

_MOST_FRAGMENT_WORDS = 6


def make_standalone(text: str, exchanges: Sequence[Exchange]) -> Standalone:
    """Return a typed text as a question that stands alone.

    Args:
        text: With the addresses of citations replaced already.
        exchanges: The conversation so far, the newest last.
    """
    asked = text.strip()
    previous = next((exchange["question"] for exchange in reversed(exchanges) if exchange["question"]), "")
    if not exchanges or len(asked) > _LONGEST or asked.count("\n") > 1:
        return Standalone(asked, "no")
    previous = previous.strip().rstrip("?.! ")
    antecedents = Antecedents.of(exchanges, topic(previous))
    lead = _LEAD.match(asked)
    body = asked[lead.end() :].strip() if lead else asked
    if not re.search(r"\w", body):
        body = asked
    bare = _END.sub("", body)
    for made in (
        _bare(_END.sub("", asked), antecedents) or _bare(bare, antecedents),
        _more(bare, previous),
        _within(asked, bare, previous, antecedents),
        _complete(bare, antecedents),
        _about(bare, previous, antecedents, connected=body != asked),
    ):
        if made is not None:
            return made
    replaced = replace_pronouns(body, antecedents)
    if replaced != body:
        return Standalone(replaced)
    foreign = not _ENGLISH.search(asked) and len(asked.split()) > 2
    return Standalone(asked, "unknown" if foreign or _POINTS_BACK.search(asked) else "no")


def topic(question: str) -> str:
    """Return what a question is about: its words without those that only ask."""
    inner = _TRAILING_FRAME.sub("", _LEADING_FRAME.sub("", question.strip().rstrip("?.! "), count=1))
    return inner.strip() or question.strip()


def _more(bare: str, previous: str) -> Standalone | None:
    return Standalone(previous, wider=True) if previous and _MORE.fullmatch(bare) else None


def _bare(bare: str, antecedents: Antecedents) -> Standalone | None:
    words = bare.lower()
    asked = _BARE.get(words) or _BARE.get(_POINTING.sub("", words))
    if asked is None or not antecedents.single:
        return None
    return Standalone(asked.format(it=antecedents.single))


def _complete(body: str, antecedents: Antecedents) -> Standalone | None:
    """Return a question that leaves out what it is about, or has a pronoun of another language for it, with its name."""
    is_possessive = not _POSSESSIVES.isdisjoint(body.lower().split())
    if (
        not antecedents.single
        or _POINTS_BACK.search(body)
        or (not is_possessive and replace_pronouns(body, antecedents) != body)
    ):
        return None
    question = complete_question(body, antecedents.single)
    return Standalone(question) if question else None


def _within(asked: str, bare: str, previous: str, antecedents: Antecedents) -> Standalone | None:
    match = _WITHIN.fullmatch(bare) or _WITHIN.fullmatch(asked.rstrip("?.! "))
    if match is None or not previous:
        return None
    name = antecedents.single.strip("`")
    if name and name in previous and _OF_A_NAME.match(previous) and _IN_TESTS.fullmatch(match["filter"]):
        return Standalone(f"what tests {antecedents.single}")  # where it is declared, or all its users, was said
    return Standalone(f"{_FILTERED.sub('', previous)} {match['filter']}")


def _about(bare: str, previous: str, antecedents: Antecedents, *, connected: bool) -> Standalone | None:
    """Return the question before with another subject: "what about X", "and for X", "and X"."""
    match = _ABOUT.fullmatch(bare) or (_FOR.fullmatch(bare) if len(bare.split()) <= _MOST_FRAGMENT_WORDS else None)
    connected = connected or bare.endswith(" instead")
    bare = bare.removesuffix(" instead")
    fragment = connected and len(bare.split()) <= _MOST_FRAGMENT_WORDS and not _NO_FRAGMENT.match(bare)
    if not previous or not (match or fragment):
        return None
    what = match["what"] if match else bare
    if (within := _FOR.fullmatch(what)) is not None:
        what = within["what"]
    if (aspect := _complete(what, antecedents)) is not None:
        return aspect
    if (within := _IN_IT.fullmatch(what)) is not None:
        return Standalone(f"{within[1]} {antecedents.single}")
    what = replace_pronouns(what, antecedents)
    if what.lower() in ("the " + antecedents.single, antecedents.single):
        return Standalone(what)
    for subject in (antecedents.single, antecedents.single.strip("`"), topic(previous)):
        if subject and subject in previous:
            return Standalone(previous.replace(subject, re.sub(r"^(?:the|a|an)\s+", "", what), 1))
    return Standalone(f"{what}: {previous}")
