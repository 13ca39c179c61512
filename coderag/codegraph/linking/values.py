"""What variables hold, what calls give, and what has a type as written."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coderag.codegraph.linking.meanings import CALLABLE, DATA, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.type_text import TypeText, parse_type
from coderag.schema.facts import Binding, Definition

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver


class Values:
    """Finds what values are.

    Args:
        resolver: Answers all else.
    """

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._program = resolver.program

    def value(self, meaning: Meaning) -> Meaning | None:
        """Return what a variable, field or property holds; anything else is itself."""
        if meaning.kind != "definition":
            return meaning
        definition = self._resolver.definition(meaning)
        if definition.kind in DATA:
            bound = self._program.interface(meaning.file).bindings.get((definition.parent, definition.name))
            if not bound:
                return None
            key = ("bound", meaning.file, definition.parent, definition.name)
            found = self._resolver.once(key, lambda: self.first_known(meaning.file, bound))
            return found and found.by(found.resolver, meaning.confidence)
        if definition.kind in CALLABLE and self._resolver.rules_of(meaning.file).is_property(definition):
            return self.called(meaning)
        return meaning

    def first_known(self, file: int, bindings: Sequence[Binding]) -> Meaning | None:
        """Return what a name holds that is bound several times: the first that says so, annotations before values."""
        for one in sorted(bindings, key=lambda binding: not binding.type):
            if (found := self.bound(file, one)) is not None:
                return found
        return None

    def bound(self, file: int, one: Binding, *, is_local: bool = False) -> Meaning | None:
        """Return what a binding's name means; None if that is not known."""
        if one.type:
            found = self.instance(file, one.scope, one.type, one.line)
            if found is not None:
                return found.by("annotation", SURENESS["annotation"])
        if not one.value:
            return None
        found = self._resolver.once(
            ("value", file, one.scope, one.value, one.line),
            lambda: self._evaluate_any(file, one.scope, one.value, one.line),
            is_local=is_local,
        )
        if found is None:
            return None
        made = one.value.endswith(("()", "{}")) and found.kind == "instance"
        return found.by("constructor" if made else "value", SURENESS["constructor" if made else "value"])

    def _evaluate_any(self, file: int, scope: int, chains: str, line: int) -> Meaning | None:
        known = [
            found
            for chain in chains.split("|")
            if (found := self._resolver.evaluate(file, scope, chain, line)) is not None
        ]
        inside = [found for found in known if found.kind != "external"]
        found = next(iter(inside or known), None)
        if found is not None and found.kind == "definition" and self._resolver.definition(found).kind in DATA:
            return self.value(found) or found  # of a variable, what that one holds
        return found

    def called(self, function: Meaning) -> Meaning | None:  # noqa: PLR0911  # one case a kind
        """Return what a call gives."""
        if function.kind == "external":
            return function
        if function.kind == "supplier":
            return Meaning(
                "elements" if function.name else "instance",
                function.file,
                function.index,
                "",
                "return",
                function.confidence,
            )
        if function.kind == "instance":
            return self.called_method(function, "__call__")
        if function.kind != "definition":
            return None
        definition = self._resolver.definition(function)
        if definition.kind in TYPES:
            return function.of_kind("instance").by("constructor", SURENESS["constructor"])
        if definition.kind not in CALLABLE or not definition.returns:
            return None
        found = self._resolver.once(
            ("returns", function.file, function.index), lambda: self._returned(function, definition)
        )
        return found and found.by("return", SURENESS["return"] * function.confidence)

    def called_method(self, owner: Meaning, name: str) -> Meaning | None:
        """Return what a call of a method gives; None if it has none that is known."""
        method = self._resolver.member(owner, name)
        return self.called(method) if method is not None and method.kind == "definition" else None

    def _returned(self, function: Meaning, definition: Definition) -> Meaning | None:
        if definition.returns.startswith("="):
            chains = definition.returns[1:]
            return self._evaluate_any(function.file, function.index, chains, definition.end_line)
        return self.instance(function.file, function.index, definition.returns, definition.start_line)

    def instance(self, file: int, scope: int, text: str, line: int) -> Meaning | None:
        """Return an instance of a type as written; of several alternatives, less surely, one in the repository."""
        alternatives = parse_type(text)
        known = [found for one in alternatives if (found := self._instance(file, scope, one, line)) is not None]
        inside = [found for found in known if found.kind != "external"]
        found = next(iter(inside or known), None)
        if found is not None and len({(one.file, one.index) for one in known}) > 1:
            return found.by(found.resolver, SURENESS["union"])
        return found

    def _instance(  # noqa: PLR0911  # one case a form
        self, file: int, scope: int, text: TypeText, line: int
    ) -> Meaning | None:
        rules = self._resolver.rules_of(file)
        if text.name.startswith("("):
            return Meaning("tuple", file, scope, text.name)
        if rules.types_are_declared and (found := self._declared_instance(file, scope, text, line)) is not None:
            return found
        last, arguments = text.name.rpartition(".")[2], text.arguments
        if not text.name or (arguments and last in rules.collections):
            return self._elements(file, scope, arguments[-1:], line)
        if arguments and last in rules.collections_of_first:
            return self._elements(file, scope, arguments[:1], line)
        if arguments and last in rules.wrappers:
            return self._instance(file, scope, arguments[0], line)
        if arguments and last in rules.type_of:
            return self._type_of(file, scope, arguments[0], line)
        if text.name in rules.type_names and (own := self._resolver.own_type(file, scope)) is not None:
            return own.of_kind("instance")
        if rules.types_are_declared:
            return Meaning("external", name=text.name)
        found = self._resolver.named(file, scope, text.name, line)
        return found if found is not None and found.kind == "external" else self._instance_of(found)

    def _declared_instance(self, file: int, scope: int, text: TypeText, line: int) -> Meaning | None:
        """Return an instance of a type of the repository, where a declared one comes before what the language has."""
        if not text.name:
            return None
        counts = self._resolver.rules_of(file).counts_type_arguments and text.arguments
        name = f"{text.name}`{len(text.arguments)}" if counts else text.name
        return self._instance_of(self._resolver.named(file, scope, name, line))

    def _elements(self, file: int, scope: int, element: Sequence[TypeText], line: int) -> Meaning:
        """Return a collection, whose elements are of a type if that is told."""
        one = self._instance(file, scope, element[0], line) if element else None
        return one.of_kind("elements") if one is not None and one.kind == "instance" else Meaning("elements")

    def _type_of(self, file: int, scope: int, text: TypeText, line: int) -> Meaning | None:
        """Return the type itself that a value is: of ``type[Foo]``, or of ``typeof foo`` what that means."""
        instance = self._instance(file, scope, text, line)
        if instance is None:
            return self._resolver.named(file, scope, text.name, line)
        return instance.of_kind("definition") if instance.kind == "instance" else None

    def _instance_of(self, found: Meaning | None) -> Meaning | None:
        """Return an instance of what is meant, if that is a type."""
        if found is None or not self._resolver.is_type(found):
            return None
        return self._unaliased(found).of_kind("instance")

    def _unaliased(self, found: Meaning) -> Meaning:
        """Return the type that a declared alias stands for, if its text says so."""
        definition = self._resolver.definition(found)
        if definition.kind == "type_alias":
            real = self.aliased(found, definition)
            if real is not None and real.kind == "instance":
                return real
        return found

    def aliased(self, found: Meaning, definition: Definition) -> Meaning | None:
        """Return an instance of the type that an alias is declared as."""
        if definition.kind != "type_alias" or not definition.returns:
            return None
        return self._resolver.once(
            ("aliased", found.file, found.index),
            lambda: self.instance(found.file, definition.parent, definition.returns, definition.start_line),
        )
