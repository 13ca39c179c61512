"""Java: packages and what they declare, whatever the folders; names in a package's files are known to each other."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.rules.base import Rules, words
from coderag.codegraph.linking.rules.nearness import nearest
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_ELEMENT_OF: Final = words(
    """
    get getFirst getLast next previous peek peekFirst peekLast poll pollFirst pollLast element pop
    removeFirst removeLast take orElse orElseGet orElseThrow getOrDefault getValue floor ceiling higher
    lower first last putIfAbsent computeIfAbsent join call apply cast newInstance
    """
)
_ELEMENTS_OF: Final = words(
    """
    stream parallelStream iterator listIterator filter sorted distinct limit skip values subList
    toList findFirst findAny takeWhile dropWhile descendingIterator reversed headSet tailSet
    """
)


class JavaRules(Rules):
    """Java."""

    languages = ("java",)
    instance_names = ("this",)
    base_names = ("super",)
    counts_arguments = True
    methods_apart = True
    package_before_stars = True
    inherits_types = True
    types_are_declared = True
    builtins = words(
        """
        Object String CharSequence StringBuilder StringBuffer Number Integer Long Short Byte Double
        Float Boolean Character Void Math StrictMath System Runtime Thread ThreadLocal Runnable Class
        ClassLoader Iterable Comparable Cloneable AutoCloseable Enum Record Process ProcessBuilder
        Package Throwable Exception Error RuntimeException IllegalArgumentException
        IllegalStateException NullPointerException UnsupportedOperationException
        IndexOutOfBoundsException ClassCastException ArithmeticException NumberFormatException
        InterruptedException ClassNotFoundException CloneNotSupportedException AssertionError
        StackOverflowError OutOfMemoryError Override Deprecated SuppressWarnings FunctionalInterface
        SafeVarargs StackTraceElement ReflectiveOperationException SecurityException
        ArrayIndexOutOfBoundsException
        """
    )
    collections = words(
        """
        List ArrayList LinkedList Set HashSet LinkedHashSet TreeSet SortedSet NavigableSet Collection
        Iterable Iterator ListIterator Queue Deque ArrayDeque PriorityQueue BlockingQueue
        ConcurrentLinkedQueue LinkedBlockingQueue CopyOnWriteArrayList Vector Stack Map HashMap
        LinkedHashMap TreeMap SortedMap NavigableMap ConcurrentMap ConcurrentHashMap WeakHashMap
        EnumMap EnumSet Entry Optional Stream Supplier Callable Future CompletableFuture ThreadLocal
        AtomicReference WeakReference SoftReference Function BiFunction Class ImmutableList
        ImmutableSet ImmutableMap ImmutableCollection ServiceLoader
        """
    )
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_OF
        | _ELEMENTS_OF
        | words(
            """
            add addAll put putAll remove clear contains containsKey size isEmpty length set close open
            read write flush run start stop equals hashCode toString compareTo compare getClass name
            ordinal valueOf append accept test map flatMap collect forEach reduce keySet entrySet getKey
            hasNext isPresent of format split trim substring indexOf replace matches group find getName
            getMessage getCause print println invoke build builder create getType accumulate execute
            submit wait notify notifyAll clone copy reset init charAt toArray sort count min max lock
            unlock
            """
        )
    )

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the package of a name, or the type of a qualified one; the name says which, whatever the folder."""
        self.program.note(f"namespace:java:{module}")
        if module in self._packages:
            return Meaning("package", file, name=module)
        package, _, name = module.rpartition(".")
        if package:
            owner = self.module(file, package)
            if owner is not None and owner.kind == "package":
                return self._top_level(file, package, name) or Meaning("external", name=module)
            if owner is not None and owner.kind == "definition":
                inside = self.program.interface(owner.file).children.get(owner.index, {}).get(name, ())
                return Meaning("definition", owner.file, inside[0]) if inside else Meaning("external", name=module)
        return Meaning("external", name=module)

    def member_of_package(self, resolver: "Resolver", package: str, name: str) -> Meaning | None:
        """Return a type of a package, or a package inside it."""
        return self._in_package(-1, package, name)

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return a type of a file's own package, or the first part of a qualified name."""
        if "/" in name:
            return None
        package = self.program.interface(file).facts.package
        found = self._top_level(file, package, name)
        if found is not None:
            return found.by("package", SURENESS["package"])
        self.program.note(f"namespace:java:{name}")
        return Meaning("package", file, name=name) if name in self._packages else None

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return what an import brings: a type, or a static member of one, which may be a method."""
        found = self.module(file, one.module)
        if found is None or one.name in ("", "*"):
            return found
        if found.kind == "package":
            return self._in_package(file, found.name, one.name)
        if found.kind != "definition":
            return Meaning("external", name=f"{one.module}.{one.name}")
        return resolver.member(found, one.name) or (None if "/" in one.name else resolver.member(found, f"{one.name}/"))

    def owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the type that the body without a name is of in which a method stands."""
        if not definition.owner:
            return ()
        found = resolver.instance(file, definition.parent, definition.owner, definition.start_line)
        return [(found.file, found.index)] if found is not None and found.kind == "instance" else ()

    def implicit_member(self, resolver: "Resolver", file: int, index: int, name: str) -> Meaning | None:
        """Return an accessor of a record, or what every enum has."""
        interface = self.program.interface(file)
        if name in ("values/0", "valueOf/1") and interface.definitions[index].kind == "enum":
            return Meaning("supplier", file, index, "elements" if name == "values/0" else "")
        component = name.removesuffix("/0")
        if (
            component == name
            or (index, component) not in interface.bindings
            or component in interface.children.get(index, {})
        ):
            return None
        found = resolver.own_member(file, index, component)
        if found is None or found.kind not in ("instance", "elements"):
            return found
        return Meaning("supplier", found.file, found.index, "elements" if found.kind == "elements" else "")

    def member_of_elements(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a method of a standard collection that gives an element, or as many of them."""
        method = name.partition("/")[0]
        if method in _ELEMENT_OF or method in _ELEMENTS_OF:
            return Meaning(
                "supplier",
                owner.file,
                owner.index,
                "" if method in _ELEMENT_OF else "elements",
                "return",
                owner.confidence,
            )
        return None

    def may_override(self, definition: Definition) -> bool:
        """Return whether a method may override another one."""
        return not {"static", "private"} & set(definition.modifiers.split())

    def package_of(self, name: str) -> str:
        """Return the package of a qualified name: what comes before the first part that begins with a capital."""
        parts = name.split(".")
        first_type = next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))
        return ".".join(parts[:first_type]) or name

    def _in_package(self, file: int, package: str, name: str) -> Meaning | None:
        if (found := self._top_level(file, package, name)) is not None:
            return found
        inner = f"{package}.{name}"
        self.program.note(f"namespace:java:{inner}")
        if inner in self._packages:
            return Meaning("package", self._any_file, name=inner)
        return Meaning("external", name=inner) if file >= 0 else None

    def _top_level(self, file: int, package: str, name: str) -> Meaning | None:
        """Return the type of a package; of several, in modules of their own, the one nearest to a file."""
        self.program.note(f"name:java:{name}")
        found = self._types(package, name)
        if not found:
            return None
        return Meaning("definition", *nearest(self.program, file, found))

    def _types(self, package: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the types of a package at the top of its files that have a name."""
        key = package, name
        if key not in self._known_types:
            files = dict.fromkeys(file for file, _ in self.program.named(name, self.languages))
            self._known_types[key] = [
                (file, declared[0])
                for file in files
                if self.program.rows[file].package == package
                and (declared := self.program.peek(file).children.get(MODULE, {}).get(name))
            ]
        return self._known_types[key]

    @cached_property
    def _known_types(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        return {}

    @cached_property
    def _any_file(self) -> int:
        return next(file for file, row in enumerate(self.program.rows) if row.language in self.languages)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The declared packages, and those around them."""
        found: set[str] = set()
        for package in {row.package for row in self.program.rows if row.language in self.languages}:
            parts = package.split(".")
            found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return frozenset(found - {""})
