"""PHP: namespaces by declaration, whatever the folders; Composer's autoloading decides between equal declarations."""

import posixpath
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final

from coderag.codegraph.linking.import_paths import ImportResolver
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition, Import

_ROOT: Final = "\\"  # first part of a name that starts at the global namespace
_POSSIBLE_ROOT: Final = "\\?"  # the same for a string that may be the name of a function
_OWN_NAMESPACE: Final = "namespace"  # first part of a name that starts at the file's namespace
_FILE_SUFFIXES: Final = (".php", ".inc", ".phtml", ".phpt", ".html", ".tpl")
_ENUM_METHODS: Final = {"cases": "elements", "from": "", "tryFrom": ""}


class PhpRules(LanguageRules):
    """Rules of PHP.

    Names of variables begin with ``$``, so that they never refer to declarations. A called name has its number of arguments,
    which tells functions from classes, and methods from properties; it selects no overload.
    """

    languages = ("php",)
    self_names = ("$this",)
    self_type_names = ("self", "static", "$this")
    super_names = ("parent",)
    factory_methods = ()
    constructor_names = ("__construct",)
    has_implicit_receiver = False
    requires_qualified_members = True
    requires_declared_types = True
    overloads_by_arity = True
    separates_methods = True
    collection_types = read_names("php", "collection_types")
    common_methods: ClassVar[frozenset[str]] = read_names("php", "common_methods")
    unique_method_confidence = 0.4  # untyped values have methods of any name

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file of a required path, or the class, function, constant or namespace of a qualified name."""
        if "/" in module or module.endswith(_FILE_SUFFIXES):
            return self._resolve_path(file, module)
        name = module.strip(_ROOT).replace(_ROOT, ".")
        namespace, _, last_name = name.rpartition(".")
        referent = self._find_in_namespace(file, namespace, last_name)
        if referent is None or referent.kind == "package":
            referent = self._find_in_namespace(file, namespace, f"{last_name}/") or referent
        return referent or Referent("external", name=module.strip(_ROOT))

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import; a function if the local name is called."""
        called = import_.name.partition("/")[1:]
        if not called[0]:
            return self.resolve_module(file, import_.module)
        namespace, _, name = import_.module.strip(_ROOT).replace(_ROOT, ".").rpartition(".")
        return self._find_in_namespace(file, namespace, f"{name}{''.join(called)}")

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a declaration of a namespace, or a namespace inside it."""
        referent = self._find_in_namespace(-1, package, name)
        if referent is not None or "/" in name:
            return referent
        return Referent("external", name=f"{package}.{name}".lstrip("."))

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of a file's namespaces; a function or constant may be global, a class may not."""
        if name in (_ROOT, _POSSIBLE_ROOT):
            is_possible = name == _POSSIBLE_ROOT
            return Referent("package", file, resolver="string" if is_possible else "package")
        if name.startswith("$"):
            return None
        namespaces = self._get_own_namespaces(file)
        if name == _OWN_NAMESPACE:
            return Referent("package", file, name=namespaces[0])
        for namespace in namespaces:
            if (referent := self._find_in_namespace(file, namespace, name)) is not None:
                return referent.replace_resolver("package", RESOLVER_PRECISION["package"])
        if "" not in namespaces:
            referent = self._find_in_namespace(file, "", name)
            if referent is not None and referent.kind == "definition" and not self._is_type(referent):
                return referent.replace_resolver("package", RESOLVER_PRECISION["package"])
        return None if "/" in name else Referent("external", name=name)

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the base of the anonymous class around a method."""
        if not definition.owner:
            return ()
        owner_type = resolver.resolve_type_text(file, definition.parent, definition.owner, definition.start_line)
        return [(owner_type.file, owner_type.index)] if owner_type is not None and owner_type.kind == "instance" else ()

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return a method that every enum has."""
        method, is_called, _ = name.partition("/")
        if is_called and method in _ENUM_METHODS and self.program.get_definition(file, index).kind == "enum":
            return Referent("supplier", file, index, _ENUM_METHODS[method])
        return None

    def order_bases(self, bases: Sequence[Referent]) -> Sequence[Referent]:
        """Return the bases of a type in the order of method lookup: traits first."""
        return sorted(bases, key=lambda base: base.kind != "definition" or not self._is_trait(base))

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one."""
        return "private" not in definition.modifiers.split() or definition.name == "__construct"

    def extract_package_name(self, name: str) -> str:
        """Return the qualified name as written."""
        return name

    def _is_type(self, referent: Referent) -> bool:
        return self.program.get_definition(referent.file, referent.index).kind in TYPE_KINDS

    def _is_trait(self, referent: Referent) -> bool:
        return self.program.get_definition(referent.file, referent.index).kind == "trait"

    def _find_in_namespace(self, file: int, namespace: str, name: str) -> Referent | None:
        """Return the function of a called name; else the class, constant or namespace of a name in a namespace."""
        bare_name, is_called, _ = name.partition("/")
        self.program.record_key(f"name:php:{bare_name}")
        declarations = self._get_declarations(namespace, bare_name, bool(is_called))
        if declarations:
            declaration = self._select_declaration(file, namespace, bare_name, declarations)
            return Referent("definition", *declaration, "", "package")
        nested_namespace = f"{namespace}.{bare_name}".lstrip(".")
        self.program.record_key(f"namespace:php:{nested_namespace}")
        if is_called or nested_namespace not in self._namespaces:
            return None
        return Referent("package", max(file, self._any_file), name=nested_namespace)

    def _select_declaration(
        self, file: int, namespace: str, name: str, declarations: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        """Return the declaration that Composer would load; else the nearest to a file."""
        if len(declarations) == 1:
            return declarations[0]
        own = [declaration for declaration in declarations if declaration[0] == file]
        loaded = own or self._find_autoloaded(f"{namespace}.{name}".lstrip("."), declarations)
        return select_nearest(self.program, file, loaded or declarations)

    def _find_autoloaded(self, name: str, declarations: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
        """Return the declarations in the file that autoloading maps a class to, by the longest namespace with a folder."""
        written_name = name.replace(".", _ROOT)
        for namespace, folder in self._namespace_folders:
            if written_name.startswith(namespace):
                tail = written_name[len(namespace) :].replace(_ROOT, "/")
                path = posixpath.normpath(posixpath.join(folder, f"{tail}.php"))
                if matches := [entry for entry in declarations if self.program.rows[entry[0]].path == path]:
                    return matches
        return ()

    def _get_declarations(self, namespace: str, name: str, is_called: bool) -> Sequence[tuple[int, int]]:
        """Return the functions, or the classes (else constants), of a name in a namespace."""
        key = namespace, name, is_called
        if key not in self._declarations_by_name:
            declared = [
                (self.program.peek(file).definitions[index].kind, (file, index))
                for file, index in self.program.find_declarations(name, self.languages)
                if self._find_namespace(file, index) == namespace
            ]
            groups = (("function",),) if is_called else (TYPE_KINDS, ("constant",))
            selected = ([entry for kind, entry in declared if kind in kinds] for kinds in groups)
            self._declarations_by_name[key] = next(filter(None, selected), [])
        return self._declarations_by_name[key]

    def _find_namespace(self, file: int, index: int) -> str | None:
        """Return the namespace of a declaration; None if it is a member, or nested in a function."""
        interface = self.program.peek(file)
        parent = interface.definitions[index].parent
        if parent == MODULE:
            return interface.facts.package
        owner = interface.definitions[parent]
        return owner.qualified_name if owner.kind == "namespace" else None

    def _get_own_namespaces(self, file: int) -> Sequence[str]:
        """Return the namespaces of a file, its namespace blocks included."""
        return self.program.memoize("php namespaces", file, lambda: self._list_own_namespaces(file))

    def _list_own_namespaces(self, file: int) -> Sequence[str]:
        facts = self.program.read_interface(file).facts
        blocks = [definition.qualified_name for definition in facts.definitions if definition.kind == "namespace"]
        return blocks or [facts.package]

    def _resolve_path(self, file: int, path: str) -> Referent | None:
        """Return the file of a path in ``require``: relative to the file or to a root, or its suffix is unique."""
        for part in path.split("/"):
            self.program.record_key(f"module:{part.partition('.')[0]}")
        folder = posixpath.dirname(self.program.rows[file].path)
        for candidate in (posixpath.join(folder, path.lstrip("/")), path.lstrip("/")):
            if (target := self.program.file_by_path.get(posixpath.normpath(candidate))) is not None:
                return Referent("module", target)
        if ".." in path:
            path = posixpath.normpath(f"/{path.lstrip('/')}").lstrip("/")
        files = self._import_resolver.resolve(file, path)
        return Referent("module", files[0]) if len(files) == 1 else None

    @cached_property
    def _import_resolver(self) -> ImportResolver:
        return ImportResolver([row.path for row in self.program.rows])

    @cached_property
    def _declarations_by_name(self) -> dict[tuple[str, str, bool], list[tuple[int, int]]]:
        return {}

    @cached_property
    def _any_file(self) -> int:
        return next(file for file, row in enumerate(self.program.rows) if row.language in self.languages)

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """Declared namespaces and their enclosing namespaces."""
        namespaces: set[str] = set()
        for row in self.program.rows:
            if row.language in self.languages:
                for namespace in {row.package, *row.namespaces} - {"*"}:
                    parts = namespace.split(".")
                    namespaces.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return frozenset(namespaces - {""})

    @cached_property
    def _namespace_folders(self) -> list[tuple[str, str]]:
        """Namespaces and their folders from ``composer.json``, longest namespace first."""
        namespace_folders = []
        for path, settings in self.program.settings.items():
            for section in ("autoload", "autoload-dev"):
                prefixes = settings.get(section, {}).get("psr-4")
                for namespace, folders in prefixes.items() if isinstance(prefixes, Mapping) else ():
                    names = folders if isinstance(folders, list) else [folders]
                    namespace_folders += [
                        (namespace, posixpath.join(posixpath.dirname(path), str(name))) for name in names
                    ]
        return sorted(namespace_folders, key=lambda entry: (-len(entry[0]), entry))
