"""Lua: modules by path, whose value is what their file returns; tables with functions as members."""

from collections.abc import Sequence

from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.plain import PlainRules
from coderag.schema.facts import REQUIRED_MARK, Definition, Import

_LIBRARIES = frozenset({"coroutine", "debug", "io", "math", "os", "package", "string", "table", "utf8"})
_RETURNED = "return"
"""Name that the value of a module is bound to."""


class LuaRules(PlainRules):
    """Rules of Lua and Luau."""

    languages = ("lua", "luau")
    self_names = ("self",)
    self_type_names = ()
    super_names = ()
    has_implicit_receiver = False
    has_block_scope = True
    has_ordered_file_scope = True
    declares_before_use = True
    unique_method_confidence = 0.4  # untyped tables have functions of any name

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file of a module; the standard library's modules are never files."""
        if module in _LIBRARIES:
            return Referent("external", name=module)
        return super().resolve_module(file, module.removesuffix(".luau").removesuffix(".lua"))

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the module, or the class that it returns."""
        referent = super().resolve_import(resolver, file, import_)
        if referent is None or referent.kind != "module" or import_.name:
            return referent
        interface = self.program.read_interface(referent.file)
        for binding in interface.bindings.get((MODULE, _RETURNED), ()):
            for index in interface.children.get(MODULE, {}).get(binding.value, ()):
                if interface.definitions[index].kind in TYPE_KINDS:
                    return Referent("definition", referent.file, index)
        return referent

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a required module, or the only global of a name in the imported files."""
        if name.startswith(REQUIRED_MARK):
            return self.resolve_module(file, name[len(REQUIRED_MARK) :].replace("/", "."))
        referents = [
            Referent("definition", other_file, index, "", "import", RESOLVER_PRECISION["import"])
            for other_file in self.find_visible_files(file)
            if (index := self.program.read_interface(other_file).top_level.get(name)) is not None
            and self._is_global(self.program.get_definition(other_file, index))
        ]
        return referents[0] if len(referents) == 1 else None

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return a member of the table that a module returns."""
        interface = self.program.read_interface(file)
        returned = [binding.value for binding in interface.bindings.get((MODULE, _RETURNED), ())]
        if not returned:
            entries = interface.children.get(MODULE, {}).get(name, ())
            methods = [index for index in entries if interface.definitions[index].kind == "method"]
            return Referent("definition", file, methods[0]) if methods else None
        for table in returned:
            for index in interface.members_by_owner.get(table, {}).get(name, ()):
                return Referent("definition", file, index)
            for owner in interface.children.get(MODULE, {}).get(table, ()):
                for index in interface.children.get(owner, {}).get(name, ()):
                    return Referent("definition", file, index)
        return None

    def is_exported(self, file: int, interface: object, name: str) -> bool:
        """Return whether a name of a file is a member of its module: those of the returned table are found elsewhere."""
        return False

    def has_members(self, definition: Definition) -> bool:
        """Return whether a declaration is a table."""
        return definition.kind in DATA_KINDS

    def is_instantiable(self, definition: Definition) -> bool:
        """Return whether a declaration can be a metatable, which stands for a class."""
        return definition.kind in DATA_KINDS

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return the member that a table has from the one that it was made from: ``Base:new()``."""
        table = Referent("definition", file, index)
        value = resolver.infer_value(table)
        if value is None or value.kind != "instance" or (value.file, value.index) == (file, index):
            return None
        return resolver.find_member(value, name)

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the table that a function is a member of."""
        if not definition.owner:
            return ()
        index = self.program.read_interface(file).top_level.get(definition.owner)
        return [] if index is None else [(file, index)]

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a table that statements add to it."""
        interface = self.program.read_interface(file)
        table = interface.definitions[index].qualified_name
        return [(file, member) for member in interface.members_by_owner.get(table, {}).get(name, ())]

    def _is_global(self, definition: Definition) -> bool:
        return definition.kind in CALLABLE_KINDS and not definition.owner and "local" not in definition.modifiers
