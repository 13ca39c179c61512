"""Type inference: values of variables, results of calls, and types as written."""

from collections.abc import Sequence

from coderag.codegraph.linking.declaration_spaces import to_type_space
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.resolution import Resolution
from coderag.codegraph.linking.type_expressions import TypeExpression, parse_type
from coderag.schema.facts import Binding, Definition


class TypeInference:
    """Infers the values of expressions.

    Args:
        resolver: Answers all other queries.
    """

    def __init__(self, resolver: Resolution) -> None:
        self._resolver = resolver
        self._program = resolver.program

    def infer_value(self, referent: Referent) -> Referent | None:
        """Return the value of a variable, field or property; any other referent is returned as it is."""
        if referent.kind == "supplier" and self._resolver.get_rules(referent.file).has_object_scope:
            return self.infer_call(referent)  # a call without parentheses
        if referent.kind != "definition":
            return referent
        definition = self._resolver.get_definition(referent)
        if definition.kind in DATA_KINDS:
            bindings = self._program.read_interface(referent.file).bindings.get((definition.parent, definition.name))
            if not bindings:
                return None
            key = ("bound", referent.file, definition.parent, definition.name)
            inferred = self._resolver.memoize(key, lambda: self.infer_first_binding(referent.file, bindings))
            return inferred and inferred.replace_resolver(inferred.resolver, referent.confidence)
        if definition.kind in CALLABLE_KINDS and self._resolver.get_rules(referent.file).is_property(definition):
            return self.infer_call(referent)
        return referent

    def infer_first_binding(self, file: int, bindings: Sequence[Binding]) -> Referent | None:
        """Return the value of a name with several bindings: the first known one, annotations before values."""
        for binding in sorted(bindings, key=lambda candidate: not candidate.type):
            if (inferred := self.infer_binding(file, binding)) is not None:
                return inferred
        return None

    def infer_binding(self, file: int, binding: Binding, *, is_local: bool = False) -> Referent | None:
        """Return the value of a binding; None if it is unknown."""
        if binding.type:
            inferred = self.resolve_type_text(file, binding.scope, binding.type, binding.line)
            if inferred is not None:
                return inferred.replace_resolver("annotation", RESOLVER_PRECISION["annotation"])
        if not binding.value:
            return None
        inferred = self._resolver.memoize(
            ("value", file, binding.scope, binding.value, binding.line),
            lambda: self._evaluate_alternatives(file, binding.scope, binding.value, binding.line),
            is_local=is_local,
        )
        if inferred is None:
            return None
        is_constructed = binding.value.endswith(("()", "{}")) and inferred.kind == "instance"
        return inferred.replace_resolver(
            "constructor" if is_constructed else "value",
            RESOLVER_PRECISION["constructor" if is_constructed else "value"],
        )

    def _evaluate_alternatives(self, file: int, scope: int, chains: str, line: int) -> Referent | None:
        resolved = [
            referent
            for chain in chains.split("|")
            if (referent := self._resolver.evaluate(file, scope, chain, line)) is not None
        ]
        internal = [referent for referent in resolved if referent.kind != "external"]
        referent = next(iter(internal or resolved), None)
        if referent is not None and referent.kind == "definition" and self._has_value(referent):
            return self.infer_value(referent) or referent  # the value of the other variable
        if referent is not None and self._resolver.get_rules(file).has_object_scope:
            return self.infer_value(referent)  # the result of a call without parentheses
        return referent

    def _has_value(self, referent: Referent) -> bool:
        definition = self._resolver.get_definition(referent)
        if definition.kind in CALLABLE_KINDS:
            return self._resolver.get_rules(referent.file).is_property(definition)
        return definition.kind in DATA_KINDS

    def infer_call(self, function: Referent) -> Referent | None:  # noqa: PLR0911  # one case a kind
        """Return the result of a call."""
        if function.kind == "external":
            return function
        if function.kind == "supplier":
            return Referent(
                "elements" if function.name else "instance",
                function.file,
                function.index,
                "",
                "return",
                function.confidence,
            )
        if function.kind == "instance":
            rules = self._resolver.get_rules(function.file)
            result = self.infer_method_call(function, rules.call_method)
            return function if result is None and rules.has_argument_lists else result
        if function.kind != "definition":
            return None
        definition = self._resolver.get_definition(function)
        if definition.kind in TYPE_KINDS:
            if (
                applied := self._resolver.get_rules(function.file).find_applied_member(self._resolver, function)
            ) is not None:
                return self.infer_call(applied)
            companion = to_type_space(self._resolver, function)
            return companion.replace_kind("instance").replace_resolver("constructor", RESOLVER_PRECISION["constructor"])
        if definition.kind not in CALLABLE_KINDS or not definition.returns:
            return None
        inferred = self._resolver.memoize(
            ("returns", function.file, function.index), lambda: self._infer_return(function, definition)
        )
        return inferred and inferred.replace_resolver("return", RESOLVER_PRECISION["return"] * function.confidence)

    def infer_method_call(self, owner: Referent, name: str) -> Referent | None:
        """Return the result of a method call; None if the method is unknown."""
        method = self._resolver.find_member(owner, name)
        return self.infer_call(method) if method is not None and method.kind == "definition" else None

    def _infer_return(self, function: Referent, definition: Definition) -> Referent | None:
        if definition.returns.startswith("="):
            chains = definition.returns[1:]
            return self._evaluate_alternatives(function.file, function.index, chains, definition.end_line)
        return self.resolve_type_text(function.file, function.index, definition.returns, definition.start_line)

    def resolve_type_text(self, file: int, scope: int, text: str, line: int) -> Referent | None:
        """Return an instance of a type as written; of a union the first type in the repository, with less confidence."""
        alternatives = parse_type(text)
        resolved = [
            referent
            for alternative in alternatives
            if (referent := self._resolve_alternative(file, scope, alternative, line)) is not None
        ]
        internal = [referent for referent in resolved if referent.kind != "external"]
        referent = next(iter(internal or resolved), None)
        if referent is not None and len({(alternative.file, alternative.index) for alternative in resolved}) > 1:
            return referent.replace_resolver(referent.resolver, RESOLVER_PRECISION["union"])
        return referent

    def _resolve_alternative(  # noqa: PLR0911  # one case a form
        self, file: int, scope: int, expression: TypeExpression, line: int
    ) -> Referent | None:
        rules = self._resolver.get_rules(file)
        if expression.name.startswith("("):
            return Referent("tuple", file, scope, expression.name)
        if (
            rules.requires_declared_types
            and (referent := self._resolve_declared_type(file, scope, expression, line)) is not None
        ):
            return referent
        last_name, arguments = expression.name.rpartition(".")[2], expression.arguments
        if not expression.name or (arguments and last_name in rules.collection_types):
            return self._resolve_collection(file, scope, arguments[-1:], line)
        if arguments and last_name in rules.first_argument_collections:
            return self._resolve_collection(file, scope, arguments[:1], line)
        if arguments and last_name in rules.wrapper_types:
            return self._resolve_alternative(file, scope, arguments[0], line)
        if arguments and last_name in rules.metatypes:
            return self._resolve_metatype(file, scope, arguments[0], line)
        if (
            expression.name in rules.self_type_names
            and (own_type := self._resolver.find_enclosing_type(file, scope)) is not None
        ):
            return own_type.replace_kind("instance")
        if rules.requires_declared_types:
            return Referent("external", name=expression.name)
        referent = self._resolver.resolve_dotted_name(file, scope, expression.name, line)
        return referent if referent is not None and referent.kind == "external" else self._to_instance(referent)

    def _resolve_declared_type(self, file: int, scope: int, expression: TypeExpression, line: int) -> Referent | None:
        """Return an instance of a type in the repository; used where it has precedence over built-in types."""
        if not expression.name:
            return None
        is_generic = self._resolver.get_rules(file).overloads_types_by_arity and expression.arguments
        name = f"{expression.name}`{len(expression.arguments)}" if is_generic else expression.name
        return self._to_instance(self._resolver.resolve_dotted_name(file, scope, name, line))

    def _resolve_collection(self, file: int, scope: int, element: Sequence[TypeExpression], line: int) -> Referent:
        """Return a collection, with the type of its elements if it is known."""
        element_instance = self._resolve_alternative(file, scope, element[0], line) if element else None
        return (
            element_instance.replace_kind("elements")
            if element_instance is not None and element_instance.kind == "instance"
            else Referent("elements")
        )

    def _resolve_metatype(self, file: int, scope: int, expression: TypeExpression, line: int) -> Referent | None:
        """Return the type itself for ``type[Foo]``, or the referent of ``foo`` for ``typeof foo``."""
        instance = self._resolve_alternative(file, scope, expression, line)
        if instance is None:
            return self._resolver.resolve_dotted_name(file, scope, expression.name, line)
        return instance.replace_kind("definition") if instance.kind == "instance" else None

    def _to_instance(self, referent: Referent | None) -> Referent | None:
        """Return an instance of a referent; None if the referent is not a type."""
        if referent is None or not self._resolver.is_type(referent):
            return None
        return self._expand_alias(referent).replace_kind("instance")

    def _expand_alias(self, referent: Referent) -> Referent:
        """Return the type that a declared alias stands for, as far as its text shows it."""
        definition = self._resolver.get_definition(referent)
        if definition.kind == "type_alias":
            aliased_type = self.resolve_alias(referent, definition)
            if aliased_type is not None and aliased_type.kind == "instance":
                return aliased_type
        return referent

    def resolve_alias(self, referent: Referent, definition: Definition) -> Referent | None:
        """Return an instance of the type that an alias is declared as."""
        if definition.kind != "type_alias" or not definition.returns:
            return None
        return self._resolver.memoize(
            ("aliased", referent.file, referent.index),
            lambda: self.resolve_type_text(referent.file, definition.parent, definition.returns, definition.start_line),
        )
