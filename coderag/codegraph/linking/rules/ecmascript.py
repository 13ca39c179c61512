"""JavaScript and TypeScript: ECMAScript and CommonJS modules, prototypes, objects with methods."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import MODULE, Interface, Program
from coderag.codegraph.linking.rules import ecmascript_names as names
from coderag.codegraph.linking.rules.base import Rules
from coderag.codegraph.linking.rules.ecmascript_modules import EcmaScriptModules, package_name
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_WHOLE: Final = "="  # the name of what ``module.exports = ...`` and ``export = ...`` export
_OBJECT: Final = "module.exports"
_ELEMENT_OF: Final = frozenset({"find", "findLast", "pop", "shift", "at", "get"})
_ELEMENTS_OF: Final = frozenset(
    {"filter", "slice", "concat", "reverse", "sort", "splice", "toSorted", "toReversed", "values"}
)
_HOLDERS: Final = frozenset({"variable", "constant", "function", "class"})


class EcmaScriptRules(Rules):
    """JavaScript and TypeScript, also in components of Vue, Svelte and Astro."""

    languages = ("javascript", "typescript", "tsx", "vue", "svelte", "astro")
    instance_names = ("this",)
    type_names = ("this",)
    base_names = ("super",)
    constructors = ("constructor",)
    builtins = names.BUILTINS
    wrappers = names.WRAPPERS
    collections = names.COLLECTIONS
    type_of = frozenset({"typeof"})
    members_in_scope = False
    blocks_are_scopes = True
    base_is_constructor = True
    values_apart = True
    passing_on_binds = False
    unique = 0.4  # right about half of the time: objects without types have methods of any name
    hidden_kinds = frozenset({"method", "field"})
    common_methods = names.COMMON_METHODS

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._modules = EcmaScriptModules(program)
        self._is_module: dict[int, bool] = {}

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the file that a module name means, or what is external."""
        found = self.program.remembered("modules", (file, module), lambda: self._modules.find(file, module))
        if found is not None:
            return Meaning("module", found)
        return None if module.startswith(".") else Meaning("external", name=module)

    def package_of(self, name: str) -> str:
        """Return the package of a module name."""
        return package_name(name)

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return what an import brings; where ``module.exports`` is something itself, that is the module."""
        target = self.module(file, one.module) if one.module else Meaning("module", file)
        if target is None or target.kind != "module" or one.name == "*":
            is_whole = target is None or one.name in ("", "*")
            return target if is_whole else Meaning("external", name=f"{one.module}.{one.name}")
        if not one.name:
            return self._whole(resolver, target.file) or target
        found = resolver.exported(target.file, one.name)
        if found is None and (whole := self._whole(resolver, target.file)) is not None:
            return whole if one.name == "default" else resolver.member(whole, one.name)
        if (
            found is None
            and one.name == "default"
            and not self._has_exports(target.file, self.program.interface(target.file))
        ):
            return target
        return found

    def _whole(self, resolver: "Resolver", file: int) -> Meaning | None:
        """Return what a module exports as a whole, if it does."""
        if (found := resolver.exported(file, _WHOLE)) is not None:
            return found
        declared = self.program.interface(file).children.get(MODULE, {})
        definitions = self.program.interface(file).definitions
        for index in declared.get("exports", ()):
            if definitions[index].kind in ("function", "class"):
                return Meaning("definition", file, index, "", "scope", SURENESS["scope"])
        for index in declared.get(_OBJECT, ()):
            return Meaning("definition", file, index, "", "scope", SURENESS["scope"])
        return None

    def shows(self, file: int, interface: Interface, name: str) -> bool:
        """Return whether a module's own name can be imported: in an ECMAScript module, what it exports."""
        if not self._has_exports(file, interface):
            return True
        declared = interface.children.get(MODULE, {}).get(name)
        if declared:
            return any(
                {"export", "exports"} & set(interface.definitions[index].modifiers.split()) for index in declared
            )
        return (MODULE, name) in interface.bindings

    def _has_exports(self, file: int, interface: Interface) -> bool:
        if file not in self._is_module:
            self._is_module[file] = any(one.exported for one in interface.facts.imports) or any(
                {"export", "exports"} & set(one.modifiers.split())
                for one in interface.definitions
                if one.parent == MODULE
            )
        return self._is_module[file]

    # Members

    def owner_types(
        self,
        resolver: "Resolver",  # a method that others need it for
        file: int,
        definition: Definition,
    ) -> Sequence[tuple[int, int]]:
        """Return what a method belongs to that is in no class: the object around it, or what it was assigned to."""
        interface = self.program.interface(file)
        if definition.owner:
            declared = interface.children.get(definition.parent, {}).get(definition.owner, ())
            return [(file, index) for index in declared if interface.definitions[index].kind in _HOLDERS][-1:]
        if definition.kind == "method" and definition.parent != MODULE:
            is_object = interface.definitions[definition.parent].kind in ("variable", "constant")
            return [(file, definition.parent)] if is_object else ()
        return ()

    def outside_members(
        self,
        resolver: "Resolver",  # a method that others need it for
        file: int,
        index: int,
        name: str,
    ) -> Sequence[tuple[int, int]]:
        """Return what was assigned to a function, class or object, or to its prototype."""
        interface = self.program.interface(file)
        one = interface.definitions[index]
        found = [
            (file, other)
            for other in interface.owned.get(one.name, {}).get(name, ())
            if interface.definitions[other].parent == one.parent
        ]
        for prototype in interface.children.get(one.parent, {}).get(f"{one.name}.prototype", ()):
            found += [(file, other) for other in interface.children.get(prototype, {}).get(name, ())]
        return found[-1:]

    def member_of_elements(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a method of an array, set or map that gives an element, or an array of them."""
        if name in _ELEMENT_OF or name in _ELEMENTS_OF:
            given = "" if name in _ELEMENT_OF else "elements"
            return Meaning("supplier", owner.file, owner.index, given, "return", owner.confidence)
        return None

    def makes_instances(self, definition: Definition) -> bool:
        """Return whether something is a function: a class of old."""
        return definition.kind == "function"

    def has_members(self, definition: Definition) -> bool:
        """Return whether a value has members of its own: an object, or a function that is a class of old."""
        return definition.kind in _HOLDERS

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is a getter."""
        return "get" in definition.modifiers.split()
