"""A code graph that answers from memory, see `coderag.codegraph.graph.CodeGraph`."""

from collections.abc import Callable

from coderag.errors import AmbiguousNameError, UnknownNameError
from coderag.schema.graph import GraphCycle, GraphDeclaration, GraphNeighbour, Hotspot, OutlineEntry

HOSTILE = 'f\x1b[2J"]; n1 --> n2\n%%<b>&amp;'


def make_neighbour(**changes: object) -> GraphNeighbour:
    values: dict[str, object] = {
        "relation": "caller",
        "path": "src/auth/views.py",
        "line": 31,
        "start_line": 28,
        "end_line": 40,
        "qualified_name": "LoginView.post",
        "kind": "method",
        "resolver": "import",
        "confidence": 0.9,
        "via": "login",
        "evidence": "src/auth/views.py",
        "role": "source",
    }
    return GraphNeighbour(**{**values, **changes})  # type: ignore[arg-type]


CALLERS = [
    make_neighbour(),
    make_neighbour(
        path="src/cli.py",
        evidence="src/cli.py",
        line=7,
        start_line=5,
        end_line=9,
        qualified_name="main",
        kind="function",
    ),
]
UNSURE = make_neighbour(
    path="src/old.py", evidence="src/old.py", line=3, start_line=1, qualified_name="enter", via="perhaps", resolver="name",
    confidence=0.3, kind="function",
)  # fmt: skip
FARTHER = [
    make_neighbour(
        path="src/routes.py", evidence="src/routes.py", line=12, start_line=10, qualified_name="dispatch", depth=2,
        via="LoginView.post", kind="function", resolver="receiver", confidence=0.8,
    ),
    make_neighbour(
        path="src/start.py", evidence="src/start.py", line=2, start_line=1, qualified_name="src/start.py", depth=2,
        via="main", kind="file",
    ),
    make_neighbour(
        path="src/base.py", evidence="src/base.py", line=4, start_line=3, qualified_name="run", depth=2,
        via="View.post", kind="function", confidence=0.6,
    ),
]  # fmt: skip
CALLEES = [
    make_neighbour(
        relation="callee", path="src/auth/passwords.py", line=12, start_line=40, qualified_name="verify",
        evidence="src/auth/session.py", kind="function",
    ),
    make_neighbour(
        relation="callee", path="", line=14, start_line=0, end_line=0, qualified_name="hashlib",
        evidence="src/auth/session.py", kind="external",
    ),
]  # fmt: skip
STEPS = [
    make_neighbour(
        relation="callee", via="main", evidence="src/cli.py", line=7, qualified_name="login", path="src/a.py"
    ),
    make_neighbour(
        relation="callee", via="login", evidence="src/a.py", line=12, qualified_name="verify", path="src/b.py", depth=2
    ),
]


def _import(path: str, via: str, line: int, depth: int) -> GraphNeighbour:
    return make_neighbour(
        relation="imports", path=path, evidence=via, line=line, start_line=1, end_line=9, qualified_name=path, kind="file",
        via=via, depth=depth,
    )  # fmt: skip


CYCLE = GraphCycle(
    ["src/a.py", "src/b.py"], [_import("src/b.py", "src/a.py", 3, 1), _import("src/a.py", "src/b.py", 1, 2)]
)
OUTLINE = [
    OutlineEntry(
        "Session",
        "Session",
        "class",
        3,
        20,
        [
            OutlineEntry("login", "Session.login", "method", 5, 9),
            OutlineEntry("close", "Session.close", "method", 11, 20),
        ],
    ),
    OutlineEntry("open", "open", "function", 23, 30),
]
CANDIDATES = [
    GraphDeclaration("src/a.py::login", "login", "function", "src/a.py", 10, 14),
    GraphDeclaration("src/b.py:98", "login", "function", "src/b.py", 98, 101),
]


class FakeGraph:
    """Behaves as its repository does (see `FakeCodeRAG`), and records the calls.

    Names mean something: ``nobody`` has no neighbours, ``perhaps`` uncertain ones only, ``hostile`` is called by a
    declaration of a hostile name, ``many`` by a hundred, ``twice`` is ambiguous and ``missing`` unknown.
    """

    def __init__(self, begin: Callable[[str, object], None]) -> None:
        self._begin = begin

    def callers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("callers", (name, depth, candidates))
        return self._neighbours(name, [*CALLERS, *(FARTHER if depth > 1 else ())], candidates=candidates)

    def callees(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("callees", (name, depth, candidates))
        return self._neighbours(name, CALLEES, candidates=candidates)

    def imports(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("imports", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def importers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("importers", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def bases(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("bases", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def subclasses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("subclasses", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def implementations(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("implementations", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def overrides(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("overrides", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def overridden(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("overridden", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def impact(self, name: str, depth: int = 3, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("impact", (name, depth, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def references(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("references", (name, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def documents(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("documents", (name, candidates))
        return self._neighbours(name, CALLERS, candidates=candidates)

    def tests(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("tests", (name, candidates))
        found = [make_neighbour(relation="test_for", path="tests/test_a.py", evidence="tests/test_a.py", role="test")]
        return self._neighbours(name, found, candidates=candidates)

    def path(self, start: str, end: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        self._begin("path", (start, end, candidates))
        return self._neighbours(start, STEPS, candidates=candidates)

    def cycles(self, level: str = "files") -> list[GraphCycle]:
        self._begin("cycles", level)
        return [] if level == "symbols" else [CYCLE]

    def hotspots(self, limit: int = 20, kind: str | None = None) -> list[Hotspot]:
        self._begin("hotspots", (limit, kind))
        return [] if kind == "enum" else [Hotspot("src/a.py", 10, 14, "login", "function", 1.0, 12, 3)]

    def find_file(self, name: str) -> str:
        return {"a": "src/a.py"}.get(name, name)

    def outline(self, path: str) -> list[OutlineEntry]:
        self._begin("outline", path)
        return [] if path == "src/empty.py" else OUTLINE

    def _neighbours(self, name: str, found: list[GraphNeighbour], *, candidates: bool = False) -> list[GraphNeighbour]:
        if name == "missing":
            raise UnknownNameError("nothing is named 'missing'", hint="Similar names: mission, missile.")
        if name == "twice":
            raise AmbiguousNameError("'twice' may mean 2 declarations", hint="Say which.", candidates=CANDIDATES)
        if name == "hostile":
            return [make_neighbour(qualified_name=HOSTILE)]
        if name == "many":
            return [make_neighbour(qualified_name=f"f{number}") for number in range(100)]
        sure = [] if name in {"nobody", "perhaps"} else found
        return [*sure, *([UNSURE] if candidates and name != "nobody" else [])]
