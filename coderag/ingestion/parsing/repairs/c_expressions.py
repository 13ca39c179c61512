"""Repair of extensions inside the bodies of functions: kernel launches of CUDA and emitted signals of Qt."""

import re
from typing import Final

from coderag.ingestion.parsing.repairs.repair_draft import RepairDraft

_LAUNCH: Final = re.compile(rb"(?<=[\w>])(?<!operator)\s*+(<<<)((?>[^<>;{}]|<(?!<<)|>(?!>>)){1,1000}+)(>>>)(?=\s*+\()")
_EMISSION: Final = re.compile(rb"(?<=[;{}):])\s*+(emit|Q_EMIT)\s++(?=[A-Za-z_])")


def replace_kernel_launches(draft: RepairDraft) -> None:
    """Replace ``kernel<<<grid, block>>>(x)`` by ``kernel  (grid, block)  (x)``, so that all of it is parsed as calls."""
    for launch in _LAUNCH.finditer(draft.view):
        draft.replace(*launch.span(1), b"  (")
        draft.replace(*launch.span(3), b")")


def erase_emissions(draft: RepairDraft) -> None:
    """Erase ``emit`` before a call of a signal, which would be parsed as the type of a declaration."""
    for emission in _EMISSION.finditer(draft.view):
        draft.erase(*emission.span(1))
