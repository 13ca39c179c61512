"""Statements that are not claims: what the evidence lacks, and courtesy."""

import re
from typing import Final

from coderag.text.tokenizer import extract_content_words

_MISSING_MARK: Final = re.compile(r"^[\W_]*(?:not found|missing)[*_]*\s*[:：][\s*_]*", re.IGNORECASE)
"""Marker that the prompt's rules request for such a statement, in any language."""

_EVIDENCE_WORDS: Final = (
    r"(?:evidence|context|excerpts?|snippets?|provided (?:code|material|sources?|files?)"
    r"|given (?:code|sources?)|code shown|shown code)"
)
_MISSING_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_EVIDENCE_WORDS}\b[^.]{{0,40}}\b(?:do(?:es)? not|doesn['’]t|don['’]t|lacks?|cannot|fails? to)\b",
        rf"\b(?:not|never|nowhere|nothing|no)\b[^.]{{0,60}}\b(?:in|by|from|within)\b[^.]{{0,20}}\b{_EVIDENCE_WORDS}\b",
        r"\b(?:is|are|was|were) (?:not|n['’]t) (?:shown|provided|included|mentioned|specified|covered|described)\b",
        r"\b(?:cannot|can['’]t|can not|could not|couldn['’]t) be (?:determined|answered|confirmed|inferred|told|seen)\b",
        r"\b(?:i|we)\b(?: am| are|['’]m)? ?"
        r"(?:cannot|can['’]t|can not|could not|couldn['’]t|unable to|not able to|did not|didn['’]t)"
        r" (?:determine|answer|find|tell|say|see|help|assist|confirm)\b",
        r"\b(?:no|not enough|insufficient) (?:evidence|information|details?)"
        r" (?:about|on|of|for|regarding|that|how|whether|in|is given)\b",
        r"\b(?:nicht|keine?n?)\b[^.]{0,60}\b(?:belege?n?|beleg|evidenz|kontext|ausschnitte?n?|auszüge?n?)\b",
        r"\b(?:belege?|evidenz|kontext|ausschnitte|auszüge)\b[^.]{0,40}\b(?:nicht|keine?n?)\b",
        r"\b(?:preuves?|extraits?|contexte|éléments fournis)\b[^.]{0,40}\b(?:ne|n['’]|pas|aucune?)\b",
        r"\b(?:evidencias?|contexto|fragmentos)\b[^.]{0,40}\b(?:no|não|ninguna?|nenhuma?)\b|"
        r"\b(?:no|não)\b[^.]{0,40}\b(?:evidencias?|evidências?|contexto|fragmentos)\b",
        r"(?:证据|上下文|提供的代码|代码片段)[^。]{0,20}(?:没有|未|不)|(?:無法|无法)(?:确定|回答|找到)|(?:証拠|コンテキスト|抜粋)[^。]{0,30}(?:ない|ません)",
        r"(?:в|из) (?:предоставленн\w+|данн\w+) \w+[^.]{0,40}\bне\b|\bне (?:указан|найден|показан|упомянут)\w*",
    )
)
_CONTRAST_WORD = re.compile(
    r"\b(?:but|however|although|though|while|contradicts?|except|apart from|aber|jedoch|mais|pero|mas)\b|但|しかし",
    re.IGNORECASE,
)
_CLAUSE_SEPARATOR = re.compile(r"[,;:—–]\s+")
_DEPENDENT_CLAUSE = re.compile(
    r"(?:or|nor|and|how|where|why|what|which|who|when|whether|that|such|like|including)\b", re.IGNORECASE
)
_MAX_WORDS_BESIDE_CODE = 1  # words besides code names in an enumeration

_CODE = re.compile(r"`[^`]*`")
_COURTESY: Final = re.compile(
    r"^\W*(?:let me know|i hope (?:this|that)|hope (?:this|that) helps|feel free to|please (?:let|feel)|i['’]d be happy"
    r"|if you (?:have|need|want|would)\b.*\b(?:let me|feel free|ask|happy)|happy to help"
    r"|(?:sure|certainly|of course|great question)\W*$)[^`]*$",
    re.IGNORECASE,
)


_ABSENCE: Final = re.compile(
    r"\b(?:nothing|nobody|no\s+(?:other\s+)?(?:code|callers?|users?|functions?|methods?|class(?:es)?|files?|modules?|tests?|places?))\b"
    r"[^.;]{0,60}\b(?:calls?|uses?|references?|imports?|instantiates?|depends?\s+on|tests?|covers?)\b"
    r"|\b(?:not|never|n't)\s+(?:\w+\s+)?(?:used|called|referenced|imported|instantiated|tested)\s+"
    r"(?:anywhere|elsewhere|by\s+any|in\s+(?:this|the)\s+(?:repo|code|project))"
    r"|\b(?:has|have)\s+no\s+(?:known\s+)?(?:callers?|users?|usages?|uses|references|tests?|importers?)\b"
    r"|\b(?:is|are)\s+(?:dead\s+code|unused)\b",
    re.IGNORECASE,
)


def is_absence_claim(statement: str) -> bool:
    """Return whether a statement denies any use in the repository, which no cited line can show."""
    return _ABSENCE.search(_CODE.sub("x", statement)) is not None


def is_courtesy(statement: str) -> bool:
    """Return whether a statement only invites further questions."""
    return _COURTESY.match(statement) is not None


def strip_missing_mark(statement: str) -> str:
    """Strip the marker from a missing statement."""
    return _MISSING_MARK.sub("", statement).strip()


def is_missing_statement(statement: str) -> bool:
    """Return whether a statement says only that something is not in the evidence."""
    if _MISSING_MARK.match(statement):
        return True
    clauses = _CLAUSE_SEPARATOR.split(statement)
    return (
        not _CONTRAST_WORD.search(statement)
        and all(_is_missing_clause(clause) or not _is_substantive(clause) for clause in clauses)
        and any(map(_is_missing_clause, clauses))
    )


def _is_missing_clause(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in _MISSING_PATTERNS)


def _is_substantive(clause: str) -> bool:
    """Return whether a clause states something about code rather than only naming it."""
    return (
        "`" in clause
        and not _DEPENDENT_CLAUSE.match(clause)
        and len(extract_content_words(_CODE.sub("", clause))) > _MAX_WORDS_BESIDE_CODE
    )
