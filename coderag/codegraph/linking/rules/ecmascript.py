"""JavaScript and TypeScript: ECMAScript and CommonJS modules, prototypes, objects with methods."""

from collections.abc import Sequence
from typing import Final

from coderag.codegraph.linking.program import MODULE, FileInterface, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.rules import ecmascript_names as names
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.ecmascript_modules import EcmaScriptModules, get_package_name
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import ANONYMOUS_MODIFIER, Definition, Import

_WHOLE_EXPORT: Final = "="  # name of the export of ``module.exports = ...`` and ``export = ...``
_COMMONJS_OBJECT: Final = "module.exports"
_PROTOTYPE_SUFFIX: Final = ".prototype"
_ELEMENT_METHODS: Final = frozenset({"find", "findLast", "pop", "shift", "at", "get"})
_COLLECTION_METHODS: Final = read_names("ecmascript", "collection_methods")
_COMPONENT_LANGUAGES: Final = frozenset({"vue", "svelte", "astro"})
_OBJECT_KINDS: Final = frozenset({"variable", "constant", "function", "class"})


class EcmaScriptRules(LanguageRules):
    """Rules of JavaScript and TypeScript, also in components of Vue, Svelte and Astro."""

    languages = ("javascript", "typescript", "tsx", "vue", "svelte", "astro")
    self_names = ("this",)
    self_type_names = ("this",)
    super_names = ("super",)
    constructor_names = ("constructor",)
    builtins = names.BUILTINS
    wrapper_types = names.WRAPPER_TYPES
    collection_types = names.COLLECTION_TYPES
    metatypes = frozenset({"typeof"})
    has_implicit_receiver = False
    has_block_scope = True
    has_super_constructor_call = True
    separates_values = True
    reexports_bind_names = False
    unique_method_confidence = 0.4  # right about half of the time: untyped objects have methods of any name
    hidden_kinds = frozenset({"method", "field"})
    calling_members = ("call", "apply")
    common_methods = names.COMMON_METHODS

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._modules = EcmaScriptModules(program)
        self._has_exports_memo: dict[int, bool] = {}

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file of a module name, or an external referent."""
        target_file = self.program.memoize("modules", (file, module), lambda: self._modules.resolve(file, module))
        if target_file is not None:
            return Referent("module", target_file)
        return None if module.startswith(".") else Referent("external", name=module)

    def extract_package_name(self, name: str) -> str:
        """Return the package of a module name."""
        return get_package_name(name)

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import; a whole export, as by ``module.exports = ...``, stands for its module."""
        target = self.resolve_module(file, import_.module) if import_.module else Referent("module", file)
        if target is None or target.kind != "module" or import_.name == "*":
            is_module_import = target is None or import_.name in ("", "*")
            return target if is_module_import else Referent("external", name=f"{import_.module}.{import_.name}")
        if not import_.name:
            return self._find_whole_export(resolver, target.file) or target
        if import_.name == "default" and self.is_component(target.file):
            component_class = resolver.resolve_export(target.file, "default")
            return component_class if component_class is not None and resolver.is_type(component_class) else target
        referent = resolver.resolve_export(target.file, import_.name)
        if referent is None and (whole_export := self._find_whole_export(resolver, target.file)) is not None:
            return whole_export if import_.name == "default" else resolver.find_member(whole_export, import_.name)
        if (
            referent is None
            and import_.name == "default"
            and not self._has_exports(target.file, self.program.read_interface(target.file))
        ):
            return target
        return referent

    def _find_whole_export(self, resolver: ResolutionQueries, file: int) -> Referent | None:
        """Return the whole export of a module, if it has one."""
        if (referent := resolver.resolve_export(file, _WHOLE_EXPORT)) is not None:
            return referent
        declarations = self.program.read_interface(file).children.get(MODULE, {})
        definitions = self.program.read_interface(file).definitions
        for index in declarations.get("exports", ()):  # without a name of its own
            if definitions[index].kind in ("function", "class"):
                return Referent("definition", file, index, "", "scope", RESOLVER_PRECISION["scope"])
        for index in declarations.get(_COMMONJS_OBJECT, ()):
            return Referent("definition", file, index, "", "scope", RESOLVER_PRECISION["scope"])
        return None

    def is_component(self, file: int) -> bool:
        """Return whether a file is a component of Vue, Svelte or Astro."""
        return self.program.rows[file].language in _COMPONENT_LANGUAGES

    def is_exported(self, file: int, interface: FileInterface, name: str) -> bool:
        """Return whether a module's own name can be imported: in an ECMAScript module, whether it is exported."""
        if not self._has_exports(file, interface):
            return True
        indices = interface.children.get(MODULE, {}).get(name)
        if indices:
            return any({"export", "exports"} & set(interface.definitions[index].modifiers.split()) for index in indices)
        return (MODULE, name) in interface.bindings

    def _has_exports(self, file: int, interface: FileInterface) -> bool:
        if file not in self._has_exports_memo:
            self._has_exports_memo[file] = any(fact.exported for fact in interface.facts.imports) or any(
                {"export", "exports"} & set(fact.modifiers.split())
                for fact in interface.definitions
                if fact.parent == MODULE
            )
        return self._has_exports_memo[file]

    # Members

    def find_owner_types(
        self,
        resolver: ResolutionQueries,
        file: int,
        definition: Definition,
    ) -> Sequence[tuple[int, int]]:
        """Return the owner of a method outside a class: the enclosing object, or the target of its assignment.

        In a constructor function, that is the function itself.
        """
        interface = self.program.read_interface(file)
        if ANONYMOUS_MODIFIER in definition.modifiers:
            return ()  # ``this`` in an arrow function is that of the code around the object
        if definition.owner:
            return self._find_object(file, definition.parent, definition.owner)
        if definition.kind == "method" and definition.parent != MODULE:
            parent = interface.definitions[definition.parent]
            if parent.kind not in ("variable", "constant"):
                return ()
            constructor_name = parent.name.removesuffix(_PROTOTYPE_SUFFIX)
            constructor = (
                self._find_object(file, parent.parent, constructor_name) if constructor_name != parent.name else ()
            )
            return constructor or [(file, definition.parent)]
        if definition.kind == "function" and definition.name in interface.members_by_owner:
            return self._find_object(file, definition.parent, definition.name)
        return ()

    def _find_object(self, file: int, scope: int, name: str) -> Sequence[tuple[int, int]]:
        """Return the last declaration of a name in a scope that can have members."""
        interface = self.program.read_interface(file)
        indices = interface.children.get(scope, {}).get(name, ())
        return [(file, index) for index in indices if interface.definitions[index].kind in _OBJECT_KINDS][-1:]

    def find_out_of_line_members(
        self,
        resolver: ResolutionQueries,
        file: int,
        index: int,
        name: str,
    ) -> Sequence[tuple[int, int]]:
        """Return the members assigned to a function, class or object, or to its prototype."""
        interface = self.program.read_interface(file)
        definition = interface.definitions[index]
        members = [
            (file, member_index)
            for member_index in interface.members_by_owner.get(definition.name, {}).get(name, ())
            if interface.definitions[member_index].parent == definition.parent
        ]
        for prototype in interface.children.get(definition.parent, {}).get(f"{definition.name}{_PROTOTYPE_SUFFIX}", ()):
            members += [(file, member_index) for member_index in interface.children.get(prototype, {}).get(name, ())]
        return members[-1:]

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a method of an array, set or map that returns an element, or an array of elements."""
        if name in _ELEMENT_METHODS or name in _COLLECTION_METHODS:
            item_kind = "" if name in _ELEMENT_METHODS else "elements"
            return Referent("supplier", owner.file, owner.index, item_kind, "return", owner.confidence)
        return None

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return the prototype of a class or constructor function, which has the members of its instances."""
        return Referent("instance", file, index) if name == "prototype" else None

    def can_be_base(self, owner: Definition, base: Definition) -> bool:
        """Return whether a declaration is a constructor function from which another one inherits."""
        return base.kind == "function" and owner.kind == "function"

    def is_instantiable(self, definition: Definition) -> bool:
        """Return whether a declaration is a constructor function."""
        return definition.kind == "function"

    def has_members(self, definition: Definition) -> bool:
        """Return whether a value has members of its own: an object or a constructor function."""
        return definition.kind in _OBJECT_KINDS

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is a getter."""
        return "get" in definition.modifiers.split()
