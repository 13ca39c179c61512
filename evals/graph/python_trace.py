"""Run a Python program and record which call instruction of a repository called which of its functions and classes.

A script for the interpreter of the repository under test (3.12 or newer), so it needs nothing but the standard library and is
run by its path: `python python_trace.py REPOSITORY OUTPUT MODULE [ARGUMENT ...]`.

`sys.monitoring` tells the object that each call instruction is about to call. What is called from C (a key of `sorted`, the
function of a `map` or a `partial`) is therefore never seen, and neither are operators, `with` and properties.
"""

import dis
import functools
import json
import os
import runpy
import sys
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeGuard, cast

TOOL = 4  # one of the two numbers that are kept for no particular kind of tool

_UNNAMED = frozenset({"<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})
_WRAPPERS = (FunctionType, type(functools.cache(len)))
"""What a decorator of the standard library may make of a function, which it then calls `__wrapped__`."""


class Recorder:
    """The calls between functions of one repository.

    Objects are asked for their type only, not with `isinstance`: some pretend to have another and run code of theirs for it.

    Args:
        root: The repository, without symbolic links.
        disable: What to answer for calls that need not be reported again.
    """

    def __init__(self, root: Path, disable: object) -> None:
        self._root = root
        self._disable = disable
        self._paths: dict[str, str | None] = {}
        self._seen: dict[tuple[int, int, int, int], tuple[CodeType, int, object, type | None]] = {}

    def on_call(self, code: CodeType, offset: int, called: object, first: object) -> object:
        """Note one call; from outside the repository none is, and this place of the program is given up.

        Args:
            code: The caller.
            offset: Of the call instruction, in bytes.
            called: What is called; a method looked up on an instance may come as its function.
            first: The first argument, if there is one.
        """
        if self._path(code.co_filename) is None:
            return self._disable
        kind: type = type(called)
        receiver: type | None = None
        if kind is MethodType:
            method = cast(MethodType, called)
            called, first = method.__func__, method.__self__
        elif object_call := _object_call(kind):
            called, first = object_call, called
        identity: object = called
        if type(called) is FunctionType:
            receiver = _class_of(first)
            if "__wrapped__" not in called.__dict__:
                identity = called.__code__  # of which closures make ever new functions
                if called.__code__.co_name in _UNNAMED:
                    return None
        elif not _is_class(called) and type(called) not in _WRAPPERS:
            return None
        key = (id(code), offset, id(identity), id(receiver))
        if key not in self._seen:
            self._seen[key] = (code, offset, called, receiver)  # which keeps them alive, so that no id comes twice
        return None

    def records(self) -> list[dict[str, Any]]:
        """Return the calls of functions and classes of the repository, each once."""
        found = [self._record(*seen) for seen in list(self._seen.values())]
        return [record for record in found if record is not None]

    def bases(self) -> list[dict[str, Any]]:
        """Return the classes of the repository that this process has made, with their bases there."""
        pending: list[type] = [object]
        classes: dict[int, type] = {}
        while pending:
            current = pending.pop()
            if id(current) not in classes:
                classes[id(current)] = current
                pending.extend(type.__subclasses__(current))
        rows = []
        for each in classes.values():
            source = self._class_target(each)
            if source is not None:
                targets = [self._class_target(base) for base in each.__bases__]
                rows.append({"class": source, "bases": [target for target in targets if target is not None]})
        return rows

    def _record(self, code: CodeType, offset: int, called: object, receiver: type | None) -> dict[str, Any] | None:
        function = _unwrapped(called)
        target = self._target(function)
        if target is None:
            return None
        position = _positions(code)[offset]
        return {
            "path": self._path(code.co_filename),
            "position": position,
            "again": _first_call(code)[position] != offset,
            "target": target,
            "class": _is_class(called),
            "decorated": function is not called,
            "constructor": self._constructor(called) if _is_class(called) else None,
            "overridden": self._overridden(called, receiver),
        }

    def _target(self, called: object) -> dict[str, Any] | None:
        if _is_class(called):
            return self._class_target(called)
        if type(called) is not FunctionType:
            return None
        path = self._path(called.__code__.co_filename)
        line, name = called.__code__.co_firstlineno, getattr(called.__code__, "co_qualname", None)
        return None if path is None else {"path": path, "line": line, "qualified_name": name}

    def _class_target(self, called: type) -> dict[str, Any] | None:
        module = sys.modules.get(str(called.__module__))
        file = getattr(module, "__file__", None)
        path = self._path(file) if isinstance(file, str) else None
        if path is None:
            return None
        line = vars(called).get("__firstlineno__")  # since 3.13
        return {"path": path, "line": line, "qualified_name": called.__qualname__}

    def _constructor(self, called: type) -> dict[str, Any] | None:
        for name in ("__init__", "__new__"):
            owner = next((each for each in called.__mro__ if name in vars(each)), object)
            target = self._target(_function(owner, name))
            if target is not None:
                return target
        return None

    def _overridden(self, called: object, receiver: type | None) -> list[dict[str, Any]]:
        """Return the methods of base classes that the called method overrides."""
        if receiver is None:
            return []
        name = getattr(called, "__name__", "")
        owners = [each for each in receiver.__mro__ if name in vars(each)]
        owner = next((each for each in owners if _function(each, name) is called), None)
        above = [each for each in owners if owner is not None and each in owner.__mro__[1:]]
        targets = [self._target(_unwrapped(_function(each, name))) for each in above]
        return [target for target in targets if target is not None]

    def _path(self, file: str) -> str | None:
        """Return the path in the repository, with slashes; `None` for what is not in it."""
        if file not in self._paths:
            real = Path(os.path.realpath(file))
            inside = real.is_relative_to(self._root) and real.is_file()
            self._paths[file] = real.relative_to(self._root).as_posix() if inside else None
        return self._paths[file]


def _is_class(called: object) -> TypeGuard[type]:
    return issubclass(type(called), type)


def _class_of(receiver: object) -> type:
    return receiver if _is_class(receiver) else type(receiver)


@functools.cache
def _object_call(kind: type) -> FunctionType | None:
    """Return the method that makes objects of a class callable, if it is written in Python; none for classes themselves."""
    found = next((vars(each)["__call__"] for each in kind.__mro__ if "__call__" in vars(each)), None)
    return found if type(found) is FunctionType and not issubclass(kind, type) else None


def _function(owner: type, name: str) -> object:
    """Return what a class has under a name, without `staticmethod` and `classmethod`."""
    found: Any = vars(owner).get(name)
    return found.__func__ if type(found) in (staticmethod, classmethod) else found


def _unwrapped(called: object) -> object:
    """Return the function that decorators of the usual kind were put on."""
    while type(called) in _WRAPPERS and "__wrapped__" in vars(called):
        called = vars(called)["__wrapped__"]
    return called


@functools.cache
def _positions(code: CodeType) -> dict[int, tuple[int | None, ...]]:
    """Return the first and last line, from 1, and the first and last column, in bytes, of each instruction's expression."""
    return {2 * index: (row[0], row[1], row[2], row[3]) for index, row in enumerate(code.co_positions())}


@functools.cache
def _first_call(code: CodeType) -> dict[tuple[int | None, ...], int]:
    """Return the offset of the first call instruction at each position.

    What a decorator's call returns is called at the same position, later.
    """
    calls = [row.offset for row in dis.get_instructions(code) if row.opname.startswith("CALL")]
    return {_positions(code)[offset]: offset for offset in reversed(calls)}


def _main() -> None:
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        sys.exit("python_trace: Python 3.12 or newer is needed, for sys.monitoring")
    root, output, module, *arguments = sys.argv[1:]
    recorder = Recorder(Path(root).resolve(), monitoring.DISABLE)
    monitoring.use_tool_id(TOOL, "coderag")
    monitoring.register_callback(TOOL, monitoring.events.CALL, recorder.on_call)
    monitoring.set_events(TOOL, monitoring.events.CALL)
    sys.argv = [module, *arguments]
    sys.path[0] = str(Path.cwd())  # as `python -m` has it, and not this script's folder
    status: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        status = stop.code
    finally:
        monitoring.set_events(TOOL, 0)
    result = {"status": str(status), "calls": recorder.records(), "classes": recorder.bases()}
    Path(output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    _main()
