"""Repair of GoogleMock: ``MOCK_METHOD(int, size, (int n), (const))`` is parsed as the declaration of the method ``size``."""

import re
from typing import Final

from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS, RepairDraft

_TYPE: Final = rb"(?:\(\s*+((?>[^();{}]++|\([^();{}]*+\))++)\)|([^(),;{}]++))"
_METHOD: Final = re.compile(
    rb"MOCK_METHOD\s*+\(\s*+" + _TYPE + rb",\s*+(\w++)\s*+,\s*+(" + NESTED_ARGUMENTS + rb")\s*+(?:,\s*+" + NESTED_ARGUMENTS
    + rb"\s*+)?\)(?=\s*+;)"
)  # fmt: skip
_NUMBERED_METHOD: Final = re.compile(rb"(MOCK_(?:CONST_)?METHOD\d\w*+\s*+\(\s*+)(\w++)\s*+(,)(?=[^;{}]*+;)")
_STAND_IN: Final = b"void "


def expand_mock_methods(draft: RepairDraft) -> None:
    """Replace mocked methods by declarations of methods."""
    for method in _METHOD.finditer(draft.view):
        end = method.start()
        for group in (1, 2, 3, 4):
            if method.start(group) >= 0:
                draft.erase(end, method.start(group))
                end = method.end(group)
        draft.erase(end, method.end())
    for method in _NUMBERED_METHOD.finditer(draft.view):
        draft.erase(*method.span(1))
        draft.replace(method.start(1), method.start(1) + len(_STAND_IN), _STAND_IN)
        draft.replace(*method.span(3), b"(")
