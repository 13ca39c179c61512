"""Edges of Lua programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_GAME = {
    "game/vector.lua": """local Vector = {}
Vector.__index = Vector

Vector.origin = { x = 0, y = 0 }

function Vector.new(x, y)
  return setmetatable({ x = x, y = y }, Vector)
end

function Vector:length()
  return self:dot(self)
end

function Vector:dot(other)
  return other.x
end

Vector.scale = function(vector, factor) return vector end

return Vector
""",
    "game/tools.lua": """local function clamp(value) return value end
local function round(value) return clamp(value) end

local function secret() return 1 end

return { clamp = clamp, nearest = round, describe = function() return secret() end }
""",
    "game/world/init.lua": """local M = { size = 4, reset = function() return 0 end }

function M.step(world)
  M.reset()
  return world
end

return M
""",
    "main.lua": """local Vector = require("game.vector")
local tools = require "game.tools"
local step = require("game.world").step

local function run()
  local here = Vector.new(1, 2)
  here:length()
  Vector.scale(here, 2)
  tools.clamp(3)
  tools.nearest(4)
  step(nil)
  pcall(tools.describe)
  require("game.world").reset()
  return Vector.origin
end

run()
""",
}


def _collect(relation: str, program: Program = _GAME) -> set[tuple[str, str]]:
    return {(source.rpartition("/")[2], target.rpartition("/")[2]) for source, _, target in triples(program, relation)}


def test_calls_follow_required_modules_and_their_tables() -> None:
    """The members of a module are those of the table that its file returns; a metatable is a class."""
    assert _collect("calls") == {
        ("main.lua", "main.lua:run"),
        ("main.lua:run", "vector.lua:Vector.new"),
        ("main.lua:run", "vector.lua:Vector.length"),
        ("main.lua:run", "vector.lua:Vector.scale"),
        ("main.lua:run", "tools.lua:clamp"),
        ("main.lua:run", "tools.lua:round"),
        ("main.lua:run", "init.lua:M.step"),
        ("main.lua:run", "init.lua:M.reset"),
        ("vector.lua:Vector.length", "vector.lua:Vector.dot"),
        ("tools.lua:round", "tools.lua:clamp"),
        ("tools.lua:describe", "tools.lua:secret"),
        ("init.lua:M.step", "init.lua:M.reset"),
    }


def test_functions_passed_as_values_are_references() -> None:
    """A function that is passed on, and a field that is read, are uses."""
    assert _collect("references") >= {
        ("main.lua:run", "tools.lua:describe"),
        ("main.lua:run", "vector.lua:Vector.origin"),
        ("tools.lua", "tools.lua:clamp"),
        ("main.lua:step", "init.lua:M.step"),
    }


def test_modules_are_imported() -> None:
    """A folder's ``init.lua`` is its module; the standard library is external, whatever the files are called."""
    program = {**_GAME, "math.lua": "return {}\n", "other.lua": 'local math = require("math")\nmath.floor(1)\n'}
    imports = {(source, target) for source, _, target in triples(program, "imports")}
    assert imports == {
        ("main.lua", "game/vector.lua"),
        ("main.lua", "game/tools.lua"),
        ("main.lua", "game/world/init.lua"),
        ("other.lua", "math"),
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("local m = require('lib')\nm.hidden()\n", id="not returned"),
        pytest.param("helper()\n", id="not required"),
        pytest.param("print(1)\nlocal print = require('lib').open\n", id="used above its declaration"),
        pytest.param("local m = unknown()\nm.open()\n", id="unknown table"),
    ],
)
def test_what_is_out_of_reach_is_never_certain(text: str) -> None:
    """Locals of other files, names declared below and members of unknown tables give no certain call."""
    library = "local M = {}\nlocal function hidden() end\nfunction helper() end\nfunction M.open() end\nreturn M\n"
    assert not triples({"lib.lua": library, "use.lua": text}, "calls")


def test_globals_of_loaded_files_are_visible() -> None:
    """A function without a table is a global of the file that runs its file."""
    program = {
        "lib.lua": "function helper() end\nlocal function own() end\n",
        "use.lua": 'dofile("lib.lua")\nhelper()\nown()\n',
    }
    assert _collect("calls", program) == {("use.lua", "lib.lua:helper")}


def test_prototypes_are_classes() -> None:
    """``setmetatable(object, self)`` makes an instance; a table made from another one has its functions."""
    program = {
        "account.lua": "local Account = { balance = 0 }\nfunction Account:new(o)\n  o = o or {}\n  setmetatable(o, self)\n"
        "  self.__index = self\n  return o\nend\nfunction Account:deposit(v) end\n"
        "local Special = Account:new()\nfunction Special:withdraw(v) self:deposit(-v) end\nreturn Account\n",
        "main.lua": "local Account = require('account')\nlocal function go()\n"
        "  local b = Account:new({})\n  b:deposit(2)\nend\n",
    }
    assert _collect("calls", program) == {
        ("account.lua:Special", "account.lua:Account.new"),
        ("account.lua:Special.withdraw", "account.lua:Account.deposit"),
        ("main.lua:go", "account.lua:Account.new"),
        ("main.lua:go", "account.lua:Account.deposit"),
    }


def test_functions_of_forward_declared_locals_are_called() -> None:
    """A local that gets its function later is that function."""
    program = {
        "a.lua": "local visit, leave\nfunction visit(n) return leave(n) end\nleave = function(n) return n end\nvisit(1)\n"
    }
    assert _collect("calls", program) == {("a.lua", "a.lua:visit"), ("a.lua:visit", "a.lua:leave")}


def test_classes_of_libraries_inherit() -> None:
    """``class("Name", Base)`` and ``Base:extend()`` declare bases, whose methods are found through ``self``."""
    program = {
        "base.lua": 'local Base = class("Base")\nfunction Base:save() end\nreturn Base\n',
        "child.lua": 'local Base = require("base")\nlocal Child = class("Child", Base)\n'
        "function Child:go() self:save() end\nreturn Child\n",
    }
    assert ("child.lua:Child.go", "calls", "base.lua:Base.save") in triples(program, "calls")


def test_incremental_build_equals_a_full_one() -> None:
    """A module with another returned table reaches the files that require it."""
    after = {**_GAME, "game/tools.lua": _GAME["game/tools.lua"].replace("nearest = round", "nearest = secret")}
    graph = build(_GAME)
    assert_same_graph(build(after, graph, _GAME), build(after))
    assert link(after) != link(_GAME)
    tables = "local A = {}\nlocal B = {}\nfunction A.f() end\nfunction B.f() end\nreturn "
    use = "local m = require('m')\nm.f()\n"
    first, second = ({"m.lua": f"{tables}{name}\n", "u.lua": use} for name in "AB")
    assert_same_graph(build(second, build(first), first), build(second))


def test_locals_of_blocks_hide_those_of_the_file() -> None:
    """A local with any value hides the file's variable of its name."""
    program = {"a.lua": "local size = 1\nlocal function go()\n  local size = 20\n  return size\nend\ngo()\n"}
    assert not triples(program, "references")
