"""Put names in place of pronouns: "who calls that" after an answer about `login` is "who calls `login`"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.chat.references import path_of, spoken
from coderag.answering.chat.state import CitedPlace, Exchange
from coderag.schema.vocabulary import FILE_NAMED_KINDS

_MOST_NAMED = 4  # of what "they" are

_PRONOUN: Final = re.compile(
    r"(?<![\w.`/\"'-])(?P<word>it|its|itself|he|she|him|his|her|this|that|these|those|they|them|their|theirs)"
    r"(?P<is>['’]s|['’]re)?(?![\w`/\"(-]|\.\w)",
    re.IGNORECASE,
)
_PROTECTED: Final = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]{2,}'(?!\w)")
_PLURAL: Final = frozenset({"these", "those", "they", "them", "their", "theirs"})
_POSSESSIVE: Final = frozenset({"its", "his", "her", "their"})
_DEMONSTRATIVE: Final = frozenset({"this", "that", "these", "those"})
_THE: Final = re.compile(
    r"(?<!\w)the\s+(?:whole\s+|entire\s+)?(?P<noun>file|module|class|function|method)"
    r"(?=\s*(?:[?.!,]|$|(?:do|does|called|used|tested)\b))",
    re.IGNORECASE,
)

_CODE_NOUN: Final = re.compile(
    r"\s+(?P<noun>function|method|class|type|struct|interface|trait|enum|module|file|test|constant|variable|code|one|thing|"
    r"piece of code|declaration|definition|helper|decorator|snippet)(?P<s>s|es)?\b",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(
    r"\s+(?:repo(?:sitory)?|project|code ?base|package|library|program|app(?:lication)?|tool|framework|index|way|case|time|"
    r"directory|folder)\b",
    re.IGNORECASE,
)
"""What follows "this" where it is no pronoun of something that was cited."""

_EXPLETIVE_AFTER: Final = re.compile(
    r"(?:['’]s|\s+(?:is|was|be))?\s*(?:possible|impossible|ok(?:ay)?|necessary|worth|true|required|allowed|important|likely|"
    r"better|easy|hard|a good idea|takes?\s+to\b|matter|make sense|makes sense|up to)",
    re.IGNORECASE,
)
_FRAME_WORDS: Final = """
a about actually add added after again against all already also always an and any anything are aren argument arguments
as at be been before being between big break breaks broken but by call called caller callers calling calls can change
changed changes check checks class classes code compare could cover covered covers deal dealing declared defined
delete depend depends describe detail details did didn differ difference do docs documentation documented does doesn
doing don done else ever everything exactly example examples exist exists explain extend extended extends fail fails
fast file files find first for from function functions get gets give go handle handled handles happen happens has have
here how hows i if implement implemented implements import imported imports in inherit inherits inside instead into is
isn jump just kind let lets like line lines list lists long look looks make makes many me mean means method methods
module modules more most much my need needs new not nothing now of often old on one only open or other out over
overridden override overrides parameters part pass passed piece place places please print purpose raise raised raises
read reads really relate related remove removed return returned returns run runs s safe same say says see set sets
should show signature slow so some something start stop story summarize t take takes tell test tested tests than the
then there thing things through to together too trace try type types under until up us usage use used uses using value
walk was wasn we well were what whats when where wheres whether which while who whom whos whose why will with without
won work works would write writes written wrote you your
"""
_FRAME: Final = frozenset(_FRAME_WORDS.split())
"""Words that ask or relate. A pronoun behind any other word may mean what that word says, and stays."""

_VERB_BEFORE_THAT: Final = re.compile(
    r"\b(?:calls?|uses?|imports?|tests?|extends?|implements?|overrides?|does|do|is|are|was|about|of|for|to|by|like|with|from|"
    r"in|on|than|show|me|open|explain|why|how|did|returns?|raises?|reads?|writes?|sets?|handles?|see|changes?|covers?|and|or|"
    r"breaks?|after|before|behind|around|into|at|understand|documents?|invokes?|triggers?|creates?|defines?|would|could|can|"
    r"should|if|when|what|where|needs?|removed?|add|added|drop|read|write|want|has|have|summari[sz]e|list|print|what['’]s)\s+$",
    re.IGNORECASE,
)
_AFTER_THAT: Final = re.compile(
    r"\s*(?:$|[?.!,;)]|(?:is|are|was|were|do|does|did|works?|means?|called|used|tested|happen|happens|happened|gets?|returns?|"
    r"defined|implemented|configured|documented|handled|raises?|fails?|and|or|in|with|from|for|to|at|on|when|if|again|"
    r"instead|depends?|relates?|compares?|interacts?|behaves?|handles?|decides?|knows?|scales?|"
    r"needed|necessary|calls?|uses?|not|still|please|so|too|changes?|differ|breaks?)\b)",
    re.IGNORECASE,
)
_ASKED_OF: Final = re.compile(
    r"\s*(?:what|which|whose|how)(?:\s+[\w-]+){1,2}\s+(?:does|do|did|can|could|will|would|should|is|was|has|have|are|were)\s+",
    re.IGNORECASE,
)
"""As in "which files does it read": the files are not what reads."""

_COMPARED_TO: Final = re.compile(
    r"\b(?:differs?\s+from|different\s+from|relates?\s+to|related\s+to|compared?\s+(?:to|with)|similar\s+to|than)\s+$",
    re.IGNORECASE,
)
_BE_BEFORE: Final = re.compile(r"\s*(?:is|was|does|did|can|could|should|would|will|has|are|were)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Antecedents:
    """What pronouns may mean.

    Attributes:
        single: "It", as a question names it; empty if nothing was talked about.
        several: "They".
        cited: All places of the last answer.
    """

    single: str
    several: Sequence[str]
    cited: Sequence[CitedPlace]

    @classmethod
    def of(cls, exchanges: Sequence[Exchange], topic: str) -> "Antecedents":
        """Return those of a conversation, whose last question was about a topic."""
        last = exchanges[-1]
        focus = list(last["focus"])
        declared = [spoken(place) for place in last["cited"] if place["name"] and place["kind"] not in FILE_NAMED_KINDS]
        single = focus[0] if focus else next(iter(declared), topic)
        others = [name for name in dict.fromkeys(declared) if name != single]  # usages, beside what they use
        several = next((names for names in (focus, others, list(dict.fromkeys(declared))) if len(names) > 1), [single])
        return cls(single, several[:_MOST_NAMED], last["cited"])

    def named(self, noun: str) -> str:
        """Return what "that <noun>" is."""
        if noun in ("file", "module"):
            by_name = {spoken(place): path_of(place["place"]) for place in reversed(self.cited)}
            if self.single not in by_name and self.cited and "/" not in self.single:
                return path_of(self.cited[0]["place"])
            return by_name.get(self.single, self.single)
        return self.single


def replace_pronouns(text: str, antecedents: Antecedents) -> str:
    """Return a text with names in place of the pronouns whose meaning is not in the text itself."""
    if not antecedents.single:
        return text
    protected = [match.span() for match in _PROTECTED.finditer(text)]
    made: list[str] = []
    end = 0
    for match in _PRONOUN.finditer(text):
        if match.start() < end or any(first <= match.start() < last for first, last in protected):
            continue
        if (found := _replacement(text, match, antecedents)) is not None:
            name, after = found
            made += [text[end : match.start()], name]
            end = after
    replaced = "".join([*made, text[end:]])
    if replaced != text or (the := _THE.search(text)) is None or _bound(text[: the.start()]):
        return replaced
    return f"{text[: the.start()]}{antecedents.named(the['noun'].lower())}{text[the.end() :]}"


def _replacement(text: str, match: re.Match[str], antecedents: Antecedents) -> tuple[str, int] | None:
    """Return what a pronoun is replaced by, and where the text goes on; None if it stays."""
    word, before, after = match["word"].lower(), text[: match.start()], text[match.end() :]
    verb = {"'s": " is", "’s": " is", "'re": " are", "’re": " are"}.get(match["is"] or "", "")
    if word in _DEMONSTRATIVE:
        return _demonstrative(word, before, after, match.end(), verb, antecedents)
    if _bound(before):
        return None
    if word == "it" and (_EXPLETIVE_AFTER.match(after) or (verb and _EXPLETIVE_AFTER.match(after.lstrip()))):
        return None
    several = word in _PLURAL
    name = _joined(antecedents.several) if several else antecedents.single
    if word in _POSSESSIVE and not (word == "her" and not re.match(r"\s+\w", after)):
        return f"{name}'s", match.end()
    return f"{name}{verb}", match.end()


def _demonstrative(
    word: str, before: str, after: str, end: int, verb: str, antecedents: Antecedents
) -> tuple[str, int] | None:
    if _WHOLE.match(after):
        return None
    if (noun := _CODE_NOUN.match(after)) is not None and not verb:
        name = _joined(antecedents.several) if word in _PLURAL else antecedents.named(noun["noun"].lower())
        return name, end + noun.end()
    if _bound(before) or (before.strip() and not _VERB_BEFORE_THAT.search(before)):
        return None  # "the function that parses": a relative pronoun
    if not (verb or _AFTER_THAT.match(after) or _BE_BEFORE.fullmatch(before)):
        return None  # "that parser": something else is meant
    several = word in _PLURAL
    return (_joined(antecedents.several) if several else antecedents.single) + verb, end


def _bound(before: str) -> bool:
    """Whether something before a pronoun, in the same text, is what it may mean."""
    if _ASKED_OF.fullmatch(before) or _COMPARED_TO.search(before):
        return False
    words = re.findall(r"`[^`]*`|[\w./:-]+", before.lower().replace("'s", "").replace("’s", ""))
    return any(word.strip(".,:-") not in _FRAME and not word.isdigit() for word in words if word.strip(".,:-"))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
