"""Bare names that are local variables or methods of the receiver, whatever the outer scopes declare, as in Ruby."""

from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.referents import (
    CALLABLE_KINDS,
    RESOLVER_PRECISION,
    Referent,
    lower_shadowed_confidence,
)
from coderag.codegraph.linking.resolution import Resolution
from coderag.schema.facts import TITLE_MODIFIER, Binding


def resolve_receiver_name(resolver: Resolution, file: int, scope: int, name: str, line: int) -> Referent | None:
    """Return the value of a local variable, else a method of the receiver, else a function of the file or its imports."""
    bindings, is_in_body = _find_bindings(resolver, file, scope, name, line)
    if bindings is not None:
        return bindings[1]
    member = _find_receiver_member(resolver, file, scope, name, is_in_body=is_in_body)
    if member is not None and member.kind != "external":
        return member
    referent = resolver.resolve_global_name(file, name, line, values=False)
    if referent is None or referent.kind == "external":
        return referent or member
    return lower_shadowed_confidence(member, referent)


def _find_bindings(
    resolver: Resolution, file: int, scope: int, name: str, line: int
) -> tuple[tuple[Binding, Referent | None] | None, bool]:
    """Return the variable of a name with its value, and whether the scope is the body of a type or of the file."""
    interface = resolver.program.read_interface(file)
    type_kinds = resolver.get_rules(file).type_kinds
    is_in_body = True
    while scope != MODULE and (kind := interface.definitions[scope].kind) not in type_kinds:
        is_block = TITLE_MODIFIER in interface.definitions[scope].modifiers  # which sees the variables around it
        if (binding := resolver.local_names.find_binding(file, scope, name, line)) is not None:
            return (binding, resolver.infer_binding(file, binding, is_local=True)), False
        is_in_body = is_in_body and (is_block or kind not in CALLABLE_KINDS)
        scope = interface.definitions[scope].parent
    if is_in_body:
        if (binding := resolver.local_names.find_binding(file, scope, name, line)) is not None:
            return (binding, resolver.infer_binding(file, binding, is_local=True)), True
        if bindings := interface.bindings.get((scope, name)):
            return (bindings[0], resolver.infer_first_binding(file, bindings)), True
    return None, is_in_body


def _find_receiver_member(
    resolver: Resolution, file: int, scope: int, name: str, *, is_in_body: bool
) -> Referent | None:
    """Return the member of the receiver in a scope; external if an external type may declare it.

    Args:
        is_in_body: Whether the scope is the body of a type: a block there may run in an instance.
    """
    own_type = resolver.find_enclosing_type(file, scope)
    if own_type is None:
        return None
    instance = own_type.replace_kind("instance")
    is_type_level = resolver.get_rules(file).is_type_level(file, scope)
    receivers = [("self", own_type if is_type_level else instance)]
    if is_in_body:
        receivers.append(("block", instance))
    external_member: Referent | None = None
    for resolver_name, receiver in receivers:
        referent = resolver.find_member(receiver, name)
        if referent is not None and referent.kind != "external":
            return referent.replace_resolver(resolver_name, RESOLVER_PRECISION[resolver_name])
        external_member = external_member or referent
    return external_member
