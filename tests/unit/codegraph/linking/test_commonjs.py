"""Edges of CommonJS modules and constructor functions."""

import pytest

from tests.support.programs import Program, build, link, triples

_CALLER = """const made = require("./lib");
function main() {{ {body} }}
"""


@pytest.mark.parametrize(
    ("library", "body", "targets"),
    [
        ("module.exports = function openDoor(a) { return a; };", "made();", {"openDoor"}),
        ("exports = module.exports = function openDoor() {};", "made();", {"openDoor"}),
        ("module.exports = exports = function openDoor() {};", "made();", {"openDoor"}),
        ("module.exports = async function openDoor() {};", "made();", {"openDoor"}),
        ("module.exports = function* openDoor() {};", "made();", {"openDoor"}),
        ("module.exports = class Door { shut() {} };", "new made().shut();", {"Door", "Door.shut"}),
        ("const Gate = module.exports = class Door { shut() {} };", "new made().shut();", {"Gate", "Gate.shut"}),
        ("var Gate = exports = module.exports = function Door() {};", "new made();", {"Gate"}),
        ("module.exports = exports = openDoor; function openDoor() {}", "made();", {"openDoor"}),
        ("module.exports = Gate = function () {};", "made();", {"Gate"}),
        ("module.exports = exports.open = function () {};", "made();", {"open"}),
        ("module.exports = function () {};", "made();", {"exports"}),
        ("module.exports = class { shut() {} };", "new made().shut();", {"exports", "exports.shut"}),
        ("var gate = module.exports = {}; gate.shut = function shut() {};", "made.shut();", {"gate.shut"}),
        ("module.exports.open = async function openDoor() {};", "made.open();", {"open"}),
        ("exports.open = exports.unlock = function () {};", "made.unlock();", {"open"}),
        ("module.exports = { open: (width) => width };", "made.open(1);", {"module.exports.open"}),
        (
            "function Door() {}\nDoor.prototype = { constructor: Door, shut: function () {} };\nmodule.exports = Door;",
            "new made().shut();",
            {"Door", "Door.shut"},
        ),
    ],
)
def test_require_resolves_to_what_a_module_assigns_to_its_exports(library: str, body: str, targets: set[str]) -> None:
    edges = triples({"lib.js": library, "app.js": _CALLER.format(body=body)}, "calls", "instantiates")
    assert {target for source, _, target in edges if source == "app.js:main"} == {f"lib.js:{name}" for name in targets}


@pytest.mark.parametrize(
    ("library", "body", "targets"),
    [
        ("export = class Door { shut() {} };", "new made().shut();", {"Door", "Door.shut"}),
        ("export = function openDoor(width: number) { return width; };", "made(1);", {"openDoor"}),
        ("export = class { shut() {} };", "new made().shut();", {"export", "export.shut"}),
    ],
)
def test_export_assignments_declare_what_they_export(library: str, body: str, targets: set[str]) -> None:
    program = {
        "lib.ts": library,
        "app.ts": f'import made = require("./lib");\nfunction main() {{ {body} }}\n',
    }
    edges = triples(program, "calls", "instantiates")
    assert {target for source, _, target in edges if source == "app.ts:main"} == {f"lib.ts:{name}" for name in targets}


def test_a_name_of_its_own_is_known_in_the_function_alone() -> None:
    program = {
        "far.js": "module.exports = function load() {};",
        "near.js": (
            'const load = require("./far");\n'
            "exports.fetch = function load(again) { if (again) load(); };\n"
            "exports.run = function () { load(); };\n"
        ),
    }
    calls = {(edge.source, edge.target, edge.line) for edge in link(program) if edge.relation == "calls"}
    assert calls == {("near.js:fetch", "near.js:fetch", 2), ("near.js:run", "far.js:load", 3)}


def test_both_names_of_a_function_are_one_declaration() -> None:
    nodes = build({"lib.js": "exports.open = exports.unlock = function turnKey() {};"}).nodes.to_pylist()
    names = [(node["name"], node["qualified_name"]) for node in nodes if node["kind"] == "function"]
    assert names == [("open", "open"), ("unlock", "open"), ("turnKey", "open")]


_PROTOTYPES: Program = {
    "shape.js": """function Shape() { this.reset(); }
Shape.prototype.reset = function () {};
Shape.prototype.area = function area() { return 0; };
module.exports = Shape;
""",
    "square.js": """const util = require("util");
const Shape = require("./shape");
module.exports = Square;
function Square() { Shape.call(this); }
{inheritance}
Square.prototype.area = function () { return Shape.prototype.area.call(this) + this.side(); };
Object.assign(Square.prototype, { side() { return 1; }, turn: function () { this.reset(); } });
""",
    "app.js": """const Square = require("./square");
const square = new Square();
function main() { square.reset(); square.turn(); }
""",
}


@pytest.mark.parametrize(
    "inheritance",
    [
        "util.inherits(Square, Shape);",
        "Square.prototype = Object.create(Shape.prototype);",
        "Square.prototype = new Shape();",
        "Object.setPrototypeOf(Square.prototype, Shape.prototype);",
        "Square.prototype.__proto__ = Shape.prototype;",
    ],
)
def test_constructor_functions_inherit_through_their_prototypes(inheritance: str) -> None:
    program = {path: text.replace("{inheritance}", inheritance) for path, text in _PROTOTYPES.items()}
    edges = triples(program)
    assert {
        ("square.js:Square", "inherits", "shape.js:Shape"),
        ("square.js:Square.area", "overrides", "shape.js:Shape.area"),
        ("square.js:Square.area", "calls", "square.js:Square.side"),
        ("square.js:Square.turn", "calls", "shape.js:Shape.reset"),
        ("shape.js:Shape", "calls", "shape.js:Shape.reset"),
        ("app.js:main", "calls", "shape.js:Shape.reset"),
        ("app.js:main", "calls", "square.js:Square.turn"),
    } <= edges


def test_a_prototype_object_shares_the_receiver_of_its_constructor() -> None:
    program = {
        "tree.js": (
            "function Tree() {}\n"
            "Tree.prototype = { climb: function () { this.fall(); } };\n"
            "Tree.prototype.fall = function () {};\n"
        )
    }
    assert ("tree.js:Tree.climb", "calls", "tree.js:Tree.fall") in triples(program)


def test_a_function_that_makes_a_mixin_is_not_a_base() -> None:
    program = {"mix.js": "function mixed() {}\nclass Box extends mixed() {}\n"}
    assert triples(program, "inherits", "implements") == set()
