"""Repair of the heads of types: macros between ``class`` and the name, before a base, and as access labels."""

import re
from typing import Final

from coderag.ingestion.parsing.repairs.c_words import CALL, MACRO, NON_NAMES, is_export_macro
from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS, RepairDraft

_ATTRIBUTE: Final = (
    rb"(?:\[\[[^\]]*+\]\]|(?:alignas|_Alignas|__declspec|__attribute__|__attribute)\s*+" + NESTED_ARGUMENTS + rb")"
)
_TEMPLATE_ARGUMENTS: Final = rb"(?:<(?>[^<>;{}]++|<(?>[^<>;{}]++|<[^<>;{}]*+>)*+>)*+>)?+"
_HEAD: Final = re.compile(
    rb"(class|struct|union|enum(?:\s++(?:class|struct))?+|__interface)\b(?=\s*+[\w\[])"
    rb"((?:\s*+"
    + _ATTRIBUTE
    + rb"|\s++(?!final\b)[A-Za-z_]\w*+(?:\s*+(?:::\s*+\w++|(?=<)"
    + _TEMPLATE_ARGUMENTS
    + rb"))*+"
    + CALL
    + rb"){1,8}+)"
    rb"\s*+((?:final|sealed|abstract)\b)?+\s*+(\{|;|:(?!:))"
)
_DECLSPEC: Final = re.compile(rb"__declspec\s*+" + NESTED_ARGUMENTS)
_ITEM: Final = re.compile(
    _ATTRIBUTE + rb"|([A-Za-z_]\w*+)((?:\s*+(?:::\s*+\w++|(?=<)" + _TEMPLATE_ARGUMENTS + rb"))*+)(" + CALL + rb")"
)
_FINAL_MACRO: Final = re.compile(rb"\w*(?:FINAL|SEALED|ABSTRACT)\w*")
_MACRO: Final = re.compile(MACRO)
_EXPORT_SUFFIX: Final = re.compile(rb"\w+_(?:export|api|abi|public|local|visible)")
_BASE_MACRO: Final = re.compile(
    rb"[:,]\s*+(?:(?:public|protected|private|virtual)\s++)*+(" + MACRO + rb")(?=\s++(?:::)?[A-Za-z_])"
)
_MAX_BASES_BYTES: Final = 4000
_SIGNAL_LABEL: Final = re.compile(rb"(?:Q_SIGNALS|signals)(?=\s*+:(?!:))")
_NAMESPACE: Final = re.compile(
    rb"namespace\s++(?:("
    + MACRO
    + CALL
    + rb")\s++(?=(?!"
    + MACRO
    + rb")\w)|)(?:\w++(?:\s*+::\s*+\w++)*+)((?:\s++"
    + MACRO
    + CALL
    + rb")*+)\s*+\{"
)
_ALIAS: Final = re.compile(rb"using\s++[A-Za-z_]\w*+\s++(" + MACRO + CALL + rb")\s*+=")
# One pattern for each word: a search for a literal prefix is several times as fast as one for alternatives.
_ACCESS_LABELS: Final = [
    re.compile(word + rb"\s++([A-Za-z_]\w*+)\s*+:(?!:)") for word in (b"public", b"protected", b"private")
]
_ENUMERATOR_MACRO: Final = re.compile(
    rb"(?<=[{,])\s*+[A-Za-z_]\w*+((?:\s++" + MACRO + CALL + rb")++)(?=\s*+(?:[=,]|\Z))"
)


def erase_head_macros(draft: RepairDraft) -> None:
    """Erase macros in the heads of classes, structures, unions, enumerations, namespaces and aliases."""
    for head in _HEAD.finditer(draft.view):
        if not draft.is_in_word(head.start()):
            _repair_head(draft, head)
    for namespace in _NAMESPACE.finditer(draft.view):
        draft.erase(*namespace.span(2))
        draft.erase(max(namespace.start(1), 0), max(namespace.end(1), 0))
    for alias in _ALIAS.finditer(draft.view):
        draft.erase(*alias.span(1))


def _repair_head(draft: RepairDraft, head: re.Match[bytes]) -> None:
    keyword, ending = head[1], head[4]
    body = draft.view.find(b"{", head.end() - 1, head.end() + _MAX_BASES_BYTES)
    semicolon = draft.view.find(b";", head.end() - 1, body if body >= 0 else head.end() + _MAX_BASES_BYTES)
    has_body = body >= 0 and semicolon < 0
    items = [item for item in _ITEM.finditer(draft.view, *head.span(2)) if item[1]]
    if ending == b":" and not has_body:
        return  # a bit-field
    if any(item[1] in NON_NAMES for item in items):
        return
    if len(items) > 1 and _FINAL_MACRO.fullmatch(items[-1][1]):
        draft.erase(*items.pop().span())
    if items and items[-1][3]:
        return  # a function
    _erase_mixed_attributes(draft, head)
    for item in items[:-1]:
        if not item[2] and _is_head_macro(keyword, item, ending, bool(head[3])):
            draft.erase(*item.span())
    if ending == b":":
        for base in _BASE_MACRO.finditer(draft.view, head.end() - 1, body):
            draft.erase(*base.span(1))


def _erase_mixed_attributes(draft: RepairDraft, head: re.Match[bytes]) -> None:
    """Erase ``__declspec`` in a head with ``__attribute__``, which the grammar takes alone."""
    if b"__attribute" in head[2]:
        for attribute in _DECLSPEC.finditer(draft.view, *head.span(2)):
            draft.erase(*attribute.span())


def _is_head_macro(keyword: bytes, item: re.Match[bytes], ending: bytes, is_final: bool) -> bool:
    """Return whether a word between a keyword and the name of a type is a macro; it may be the type of a variable."""
    word = item[1]
    if item[3] or is_final or ending == b":" or (ending == b"{" and keyword == b"class"):
        return True
    is_macro = _MACRO.fullmatch(word) is not None
    if ending == b"{":
        return is_macro or _EXPORT_SUFFIX.fullmatch(word) is not None or keyword.startswith(b"enum")
    return (is_macro and (keyword == b"class" or is_export_macro(word))) or _EXPORT_SUFFIX.fullmatch(word) is not None


def normalize_labels(draft: RepairDraft) -> None:
    """Replace access labels of Qt, ``signals:`` and ``public slots:``, and others with a macro by plain ones."""
    for access_label in _ACCESS_LABELS:
        for label in access_label.finditer(draft.view):
            draft.erase(*label.span(1))
    if b"signals" not in draft.view and b"SIGNALS" not in draft.view:
        return
    for label in _SIGNAL_LABEL.finditer(draft.view):
        if draft.read_statement_head(label.start(), 0) is not None:
            draft.replace(*label.span(), b"public")


def erase_enumerator_macros(draft: RepairDraft, masked: bytes, bodies: list[tuple[int, int]]) -> None:
    """Erase macros behind enumerators: ``First UMETA(DisplayName = "1st")``.

    Args:
        masked: The masked text, in which the bodies are visible.
        bodies: Ranges of the bodies of enumerations.
    """
    for start, end in bodies:
        for match in _ENUMERATOR_MACRO.finditer(masked, start - 1, end):
            draft.erase(*match.span(1))
