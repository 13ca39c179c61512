"""Evaluation of chains of names, calls and elements, step by step; see `coderag.schema.facts`."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.codegraph.linking.declaration_spaces import to_type_space, to_value_space
from coderag.codegraph.linking.overloads import to_type_level
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.resolution import Resolution
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.schema.facts import CLOSURE_STEPS, IMPLIED_OWNER, Reference

_TYPE_REFERENCE_KINDS: Final = frozenset({"new", "type"})
_FIRST_NAME: Final = re.compile(r"[^.(\[{]+")
_DOTTED_NAME: Final = re.compile(r"[\w$]+(?:\.[\w$]+)+(?:/\d*)?")
_VALUE_STEPS: Final = frozenset({"{}", "[]"})
_STEP: Final = re.compile(r"[^.(\[{]+|\(\)|\[\]|\{\}")


class ChainEvaluator:
    """Evaluates chains.

    Args:
        resolver: Answers all other queries.
    """

    def __init__(self, resolver: Resolution) -> None:
        self._resolver = resolver
        self._program = resolver.program

    def resolve_reference(self, reference: Reference) -> Referent | None:
        """Return the referent of a reference in the file that is being linked.

        Where types must be declared, a type name never refers to another kind of declaration of that name.
        """
        local_names, chain = self._resolver.local_names, reference.chain
        file, scope = local_names.file, reference.scope
        rules = self._resolver.get_rules(file)
        is_type_name = reference.kind in _TYPE_REFERENCE_KINDS and rules.requires_declared_types
        is_value_name = rules.separates_values and reference.kind != "type"
        resolve = self._resolver.resolve_dotted_name if is_type_name else self.evaluate
        first_name = _FIRST_NAME.match(chain)
        if first_name is None or local_names.is_line_dependent(scope, first_name[0]):
            return self._select_space(resolve(file, scope, chain, reference.line), reference, rules)
        scope = local_names.find_outermost_scope(scope, first_name[0])
        key = scope, chain, is_type_name, is_value_name
        if key not in local_names.chain_memo:
            local_names.chain_memo[key] = self._select_space(
                resolve(file, scope, chain, reference.line), reference, rules
            )
        return local_names.chain_memo[key]

    def find_used_receiver(self, reference: Reference) -> Referent | None:
        """Return the function or type that has the last names of a chain as members which no declaration tells.

        Args:
            reference: A reference in the file that is being linked, without a referent in the repository.
        """
        chain = reference.chain if _DOTTED_NAME.fullmatch(reference.chain) else ""
        while chain := chain.rpartition(".")[0]:
            receiver = self.resolve_reference(reference._replace(kind="read", chain=chain))
            if receiver is not None and receiver.kind == "definition":
                value = self._resolver.infer_value(receiver) or receiver
                is_function = value.kind == "definition" and self._resolver.get_definition(value).kind in CALLABLE_KINDS
                has_members = is_function and bool(self._resolver.get_rules(value.file).calling_members)
                return value if has_members or self._resolver.is_type(value) else None
            if receiver is not None and receiver.kind != "external":
                return None
        return None

    def _select_space(self, referent: Referent | None, reference: Reference, rules: "LanguageRules") -> Referent | None:
        """Return the referent in the declaration space of the reference."""
        if referent is None or not rules.separates_values:
            return referent
        is_type = reference.kind == "type" or (reference.kind == "new" and rules.has_companions)
        return (to_type_space if is_type else to_value_space)(self._resolver, referent)

    def evaluate(self, file: int, scope: int, chain: str, line: int) -> Referent | None:
        """Return the referent of a chain in a scope; None if it is unknown."""
        steps = _STEP.findall(chain)
        if not steps or steps[0] == "?":
            return None
        rules = self._resolver.get_rules(file)
        if rules.has_super_constructor_call and len(steps) == 1 and steps[0] in rules.super_names:
            return self._find_super_constructor(file, scope)
        referent, remaining_steps = self._resolve_first_steps(file, scope, steps, line)
        if referent is None or not remaining_steps:
            return referent
        if rules.separates_modules:
            referent = self._prefer_module(referent, file, steps[0], remaining_steps[0])
        if self._resolver.is_evaluating:
            return self._follow_steps(file, referent, remaining_steps)
        if referent.kind == "external" and not rules.has_extension_methods:
            return referent  # members of external referents are external
        step_memo = self._resolver.local_names.step_memo
        key = referent, tuple(remaining_steps)
        if key not in step_memo:
            step_memo[key] = self._follow_steps(file, referent, remaining_steps)
        return step_memo[key]

    def _follow_steps(self, file: int, referent: Referent | None, steps: Sequence[str]) -> Referent | None:
        """Return the referent of further steps from a referent."""
        rules = self._resolver.get_rules(file)
        owner: Referent | None = None  # receiver of the last name
        name = ""
        for step in steps:
            if referent is None:
                return None
            if rules.separates_values:
                referent = to_value_space(self._resolver, referent)
            if step == "()":
                referent = self._evaluate_call(referent, owner)
            elif step in _VALUE_STEPS:
                referent = self._instantiate(referent) if step == "{}" else self._evaluate_element(referent)
            elif step in CLOSURE_STEPS:
                referent = rules.find_closure_value(self._resolver, referent, step)
            elif step in rules.self_names and self._resolver.is_type(referent):  # Outer.this
                referent = referent.replace_kind("instance").replace_resolver("self", RESOLVER_PRECISION["self"])
            else:
                if rules.separates_modules and owner is not None and owner.kind == "module":
                    referent = self._prefer_module(referent, owner.file, name, step)
                owner, name, referent = referent, step, self._find_member_or_extension(file, referent, step)
        return referent

    def _find_member_or_extension(self, file: int, owner: Referent, name: str) -> Referent | None:
        rules = self._resolver.get_rules(file)
        member = self._resolver.find_member(owner, name)
        if rules.has_extension_methods and (member is None or member.kind == "external"):
            return rules.find_extension_method(self._resolver, file, owner, name) or member
        return member

    def _prefer_module(self, referent: Referent, file: int, name: str, step: str) -> Referent:
        """Return the module of a name if the referent is a function before a step: a function has no members."""
        is_function = referent.kind == "definition" and self._resolver.get_definition(referent).kind == "function"
        module = (
            self._resolver.get_rules(file).resolve_module(file, name) if is_function and step.isidentifier() else None
        )
        return module if module is not None and module.kind == "module" else referent

    def _resolve_first_steps(
        self, file: int, scope: int, steps: Sequence[str], line: int
    ) -> tuple[Referent | None, Sequence[str]]:
        """Return the referent of the leading steps of a chain, and the remaining steps."""
        rules = self._resolver.get_rules(file)
        if steps[0] == IMPLIED_OWNER:
            return rules.find_implied_member(self._resolver, file, steps[1] if len(steps) > 1 else ""), steps[2:]
        if steps[0] in rules.super_names and len(steps) > 1:
            if rules.has_object_scope:
                return self._find_overridden(file, scope, steps[1]), steps[2:]
            return self._resolver.resolve_super(file, scope), steps[2 if steps[1] == "()" else 1 :]
        if rules.requires_declared_types and "{}" in steps and "()" not in (type_steps := steps[: steps.index("{}")]):
            return self._resolver.resolve_dotted_name(file, scope, ".".join(type_steps), line), steps[len(type_steps) :]
        return self._resolve_first_name(file, scope, steps[0], line), steps[1:]

    def _evaluate_call(self, function: Referent, owner: Referent | None) -> Referent | None:
        """Return the result of a call.

        Args:
            function: The called referent.
            owner: The receiver of which it is a member; None if it is not a member.
        """
        resolver = self._resolver
        is_data = function.kind == "definition" and resolver.get_definition(function).kind in DATA_KINDS
        value = resolver.infer_value(function) if is_data else function
        if value is None or (is_data and resolver.get_rules(function.file).has_object_scope):
            return value  # an attribute is read by a call
        if owner is None or not self._is_fluent(value):
            return resolver.infer_call(value)
        receiver = resolver.infer_value(owner)
        return receiver.replace_kind("instance") if receiver is not None and resolver.is_type(receiver) else receiver

    def _is_fluent(self, method: Referent) -> bool:
        """Return whether a method returns its receiver, whatever subtype that has."""
        if method.kind != "definition" or self._resolver.get_definition(method).kind != "method":
            return False
        rules = self._resolver.get_rules(method.file)
        returned = self._resolver.get_definition(method).returns
        if (
            rules.has_extension_methods and returned == self._resolver.get_definition(method).parameters
        ):  # ``T Foo<T>(this T it)``
            return bool(returned) and (method.index, returned) in self._program.read_interface(method.file).bindings
        return (
            returned.removeprefix("=") in rules.self_names
            or returned.removeprefix("=").removesuffix("{}") in rules.self_type_names
            if returned.startswith("=")
            else returned in rules.self_type_names
        )

    def _resolve_first_name(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        rules = self._resolver.get_rules(file)
        if (
            rules.has_receiver_functions
            and name in rules.self_names
            and (receiver := self._resolver.find_receiver(file, scope, line)) is not None
        ):
            return receiver
        if name in rules.self_names and (own_type := self._resolver.find_enclosing_type(file, scope)) is not None:
            is_type_level = rules.is_type_level(file, scope) and name == rules.self_names[0]
            receiver = own_type if is_type_level else own_type.replace_kind("instance")
            resolver_name = "string" if name.endswith("?") else "self"
            return receiver.replace_resolver(resolver_name, RESOLVER_PRECISION[resolver_name])
        if name in rules.self_type_names and (own_type := self._resolver.find_enclosing_type(file, scope)) is not None:
            return own_type.replace_resolver("self", RESOLVER_PRECISION["self"])
        if self._resolver.is_evaluating or self._resolver.local_names.is_line_dependent(scope, name):
            return self._resolver.resolve_name(file, scope, name, line)
        name_memo = self._resolver.local_names.name_memo
        if (scope, name) not in name_memo:
            name_memo[scope, name] = self._resolver.resolve_name(file, scope, name, line)
        return name_memo[scope, name]

    def _find_overridden(self, file: int, scope: int, name: str) -> Referent | None:
        """Return the method that ``super`` calls in a method of a name: that of the nearest ancestor."""
        own_type = self._resolver.find_enclosing_type(file, scope)
        if own_type is None:
            return None
        lookup_name = to_type_level(name) if self._resolver.get_rules(file).is_type_level(file, scope) else name
        for ancestor in self._resolver.find_ancestors(own_type.file, own_type.index)[1:]:
            if ancestor.kind != "definition":
                return Referent("external", name=name)
            if (member := self._resolver.find_own_member(ancestor.file, ancestor.index, lookup_name)) is not None:
                return member.replace_resolver("inherited", RESOLVER_PRECISION["inherited"] * ancestor.confidence)
        return None

    def _find_super_constructor(self, file: int, scope: int) -> Referent | None:
        """Return the constructor that ``super(...)`` calls; None if no ancestor declares one."""
        super_instance = self._resolver.resolve_super(file, scope)
        if super_instance is None or super_instance.kind != "instance":
            return super_instance
        constructors = (
            self._resolver.find_member(super_instance, name)
            for name in self._resolver.get_rules(file).constructor_names
        )
        return next((constructor for constructor in constructors if constructor is not None), None)

    def _instantiate(self, referent: Referent) -> Referent | None:
        if referent.kind != "definition":
            return referent if referent.kind == "external" else None
        if self._resolver.get_rules(referent.file).separates_values:
            referent = to_type_space(self._resolver, referent)  # a constant instantiates the type of its name
        if self._resolver.is_type(referent) or self._resolver.get_rules(referent.file).is_instantiable(
            self._resolver.get_definition(referent)
        ):
            return referent.replace_kind("instance").replace_resolver("constructor", RESOLVER_PRECISION["constructor"])
        return None

    def _evaluate_element(self, referent: Referent) -> Referent | None:
        holder = self._resolver.infer_value(referent)
        if holder is None:
            return None
        if holder.kind == "elements":
            return holder.replace_kind("instance") if holder.index >= 0 else Referent("external")
        if holder.kind == "definition":
            return self._apply_type_arguments(holder)
        if holder.kind == "instance":
            return self._evaluate_instance_element(holder)
        return holder if holder.kind == "external" else None

    def _apply_type_arguments(self, holder: Referent) -> Referent | None:
        """Return a generic function, or the result of an object with type arguments: ``Codec[Book]``."""
        if self._resolver.get_definition(holder).kind in CALLABLE_KINDS:
            return holder
        return self._resolver.infer_call(holder) if self._resolver.get_rules(holder.file).has_companions else None

    def _evaluate_instance_element(self, holder: Referent) -> Referent | None:
        """Return the element of an instance: of an alias of a collection, a pointer, or a type with methods for it."""
        aliased_type = self._resolver.resolve_alias(holder, self._resolver.get_definition(holder))
        if aliased_type is not None and aliased_type.kind == "elements":
            return self._evaluate_element(aliased_type)
        if self._resolver.get_rules(holder.file).indexes_pointers:
            is_container = any(self._resolver.find_member(holder, name) is not None for name in ("operator[]", "begin"))
            return self._resolver.infer_method_call(holder, "operator[]") if is_container else holder
        return self._resolver.infer_method_call(holder, "__getitem__") or self._evaluate_next(
            self._resolver.infer_method_call(holder, "__iter__")
        )

    def _evaluate_next(self, iterator: Referent | None) -> Referent | None:
        if iterator is None:
            return None
        return (
            self._evaluate_element(iterator)
            if iterator.kind == "elements"
            else self._resolver.infer_method_call(iterator, "__next__")
        )
