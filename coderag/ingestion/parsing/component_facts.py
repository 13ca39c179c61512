"""Facts of single-file components: those of their scripts, and the uses of names in their template."""

import re
from collections.abc import Iterator, Set
from dataclasses import replace
from operator import attrgetter
from typing import Final

from coderag.ingestion.parsing.component_templates import build_template_program
from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.fact_bindings import is_bound_at
from coderag.ingestion.parsing.facts import read_facts
from coderag.ingestion.parsing.languages import LANGUAGES, Language
from coderag.ingestion.parsing.regions import mask_elements
from coderag.ingestion.parsing.trees import SyntaxUnusableError
from coderag.schema.facts import MODULE_SCOPE, Binding, FileFacts, Reference

SCRIPT_LANGUAGES: Final = ("javascript", "typescript", "tsx")
"""Languages of scripts in components."""

_FIRST_NAME: Final = re.compile(r"[\w$]+")
_EXPORTED_OBJECT: Final = "default"
_SETUP_FUNCTION: Final = "setup"
_RUNES: Final = frozenset({"$bindable", "$derived", "$effect", "$host", "$inspect", "$props", "$state"})


def add_template_facts(
    facts: FileFacts, data: bytes, markup: Language, script_language: str, *, timeout_s: float | None
) -> FileFacts:
    """Add the references of a component's template to the facts of its scripts.

    Args:
        facts: Facts of the scripts.
        data: The file.
        markup: Its language.
        script_language: Language of the scripts, and so of expressions in the template; empty without scripts.
        timeout_s: Time limit of the parser.
    """
    names = _collect_module_names(facts)
    text = mask_elements(data, markup).decode("utf-8", "replace")
    program = build_template_program(text, markup.name, names).encode()
    if not program.strip():
        return facts
    language = LANGUAGES["tsx" if markup.name == "astro" else script_language or "typescript"]
    try:
        template = read_facts(read_syntax(program, language, timeout_s=timeout_s), program, language)
    except SyntaxUnusableError:
        return facts
    references = (*facts.references, *_convert_references(facts, template, markup.name, names))
    return replace(
        facts,
        local_bindings=[*facts.local_bindings, *_select_bindings(template)],
        references=sorted(references, key=attrgetter("line")),
    )


def _collect_module_names(facts: FileFacts) -> Set[str]:
    """Return the names that the scripts declare, import or bind at module level."""
    names = {definition.name for definition in facts.definitions if definition.parent == MODULE_SCOPE}
    names.update(import_.alias or import_.name for import_ in facts.imports if import_.scope == MODULE_SCOPE)
    names.update(binding.name for binding in facts.bindings if binding.scope == MODULE_SCOPE)
    return names


def _select_bindings(template: FileFacts) -> Iterator[Binding]:
    """Yield the names that blocks of the template bind, outside of functions in its expressions."""
    yield from (binding for binding in template.local_bindings if binding.scope == MODULE_SCOPE)


def _convert_references(facts: FileFacts, template: FileFacts, language: str, names: Set[str]) -> Iterator[Reference]:
    """Yield the references of a template as code of the component's module."""
    bindings: dict[str, list[Binding]] = {}
    for binding in _select_bindings(template):
        bindings.setdefault(binding.name, []).append(binding)
    declared = {binding.name for binding in template.bindings}  # snippets
    owners = _find_owners(facts) if language == "vue" else {}
    stores = {f"${name}" for name in names} - _RUNES if language == "svelte" else ()
    for reference in template.references:
        match = _FIRST_NAME.match(reference.chain)
        name = match[0] if match else ""
        scope, chain = MODULE_SCOPE, reference.chain
        if name in declared:
            continue
        if name not in names and not is_bound_at(bindings.get(name, ()), reference.line):
            if name in stores:
                chain = chain[1:]
            elif name in owners:
                scope = owners[name]
                chain = f"{_EXPORTED_OBJECT}.{chain}" if scope == MODULE_SCOPE else chain
        yield Reference(scope, reference.kind, chain, reference.line)


def _find_owners(facts: FileFacts) -> dict[str, int]:
    """Return the names that a component without ``<script setup>`` gives to its template.

    Returns:
        For a member of the exported object the module; for a name in the function ``setup``, its scope.
    """
    definitions = facts.definitions
    exported = {index for index, definition in enumerate(definitions) if definition.name == _EXPORTED_OBJECT}
    setups = {
        index
        for index, definition in enumerate(definitions)
        if definition.name == _SETUP_FUNCTION and definition.parent in exported
    }
    owners = {definition.name: MODULE_SCOPE for definition in definitions if definition.parent in exported}
    owners |= {binding.name: binding.scope for binding in facts.local_bindings if binding.scope in setups}
    return owners | {definition.name: definition.parent for definition in definitions if definition.parent in setups}
