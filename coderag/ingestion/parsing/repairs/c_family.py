"""Repair of C and C++ sources: macros and conditional compilation that their grammars cannot parse."""

from coderag.ingestion.parsing.repairs.c_class_heads import erase_enumerator_macros, erase_head_macros, normalize_labels
from coderag.ingestion.parsing.repairs.c_conditionals import ConditionalRepair
from coderag.ingestion.parsing.repairs.c_expressions import erase_emissions, replace_kernel_launches
from coderag.ingestion.parsing.repairs.c_function_macros import (
    erase_inner_macros,
    erase_parameter_macros,
    erase_trailing_macros,
    unwrap_names,
)
from coderag.ingestion.parsing.repairs.c_mask import find_bodies, mask_text
from coderag.ingestion.parsing.repairs.c_mock_methods import expand_mock_methods
from coderag.ingestion.parsing.repairs.c_statement_macros import (
    erase_leading_macros,
    erase_type_statements,
    replace_member_macros,
)
from coderag.ingestion.parsing.repairs.c_words import find_macros
from coderag.ingestion.parsing.repairs.repair_draft import RepairDraft


def repair_c_family(data: bytes) -> bytes:
    """Repair a source text in C or C++."""
    masked, directives = mask_text(data)
    draft = RepairDraft(data, masked)
    conditionals = ConditionalRepair(draft, directives)
    conditionals.join_unbalanced_branches()
    if b"<<<" in masked:
        replace_kernel_launches(draft)
    if b"emit " in masked or b"Q_EMIT" in masked:
        erase_emissions(draft)
    masked = bytes(draft.view)
    bodies = find_bodies(masked)
    hidden = sorted([*bodies.functions, *bodies.enums])
    draft.hide(hidden)
    erase_head_macros(draft)
    normalize_labels(draft)
    if b"MOCK_" in masked:
        expand_mock_methods(draft)
    macros = find_macros(draft)
    unwrap_names(draft)
    erase_inner_macros(draft, macros)
    erase_type_statements(draft)
    erase_leading_macros(draft, macros, bodies.type_names)
    erase_parameter_macros(draft, macros)
    replace_member_macros(draft, macros, bodies)
    erase_trailing_macros(draft, macros)
    erase_enumerator_macros(draft, masked, bodies.enums)
    conditionals.join_divided_heads(hidden)
    return bytes(draft.code)
