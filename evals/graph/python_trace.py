"""Run a Python program and record the calls between functions and classes of a repository.

A script for the interpreter of the repository under test (3.12 or newer). It needs only the standard library and is run by its
path: `python python_trace.py REPOSITORY OUTPUT MODULE [ARGUMENT ...]`.

`sys.monitoring` passes the object that each call instruction is about to call. Calls from C (of a key of `sorted`, the
function of a `map` or a `partial`) are therefore invisible, and so are operators, `with` and properties.
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

MONITORING_TOOL_ID = 4  # one of the two ids that are not reserved for a kind of tool

_ANONYMOUS_NAMES = frozenset({"<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})
_WRAPPERS = (FunctionType, type(functools.cache(len)))
"""Types of the standard library's decorated functions, which have the function as `__wrapped__`."""


class CallRecorder:
    """Calls between functions of one repository.

    Only the type of an object is used, not `isinstance`: proxies pretend to have another type and run code for it.

    Args:
        root: The repository, without symbolic links.
        disable: Return value for call instructions that need no further reports.
    """

    def __init__(self, root: Path, disable: object) -> None:
        self._root = root
        self._disable = disable
        self._paths: dict[str, str | None] = {}
        self._calls: dict[tuple[int, int, int, int], tuple[CodeType, int, object, type | None]] = {}

    def record_call(self, code: CodeType, offset: int, callee: object, first_argument: object) -> object:
        """Record one call; a call instruction outside the repository is disabled.

        Args:
            code: The caller.
            offset: Offset of the call instruction, in bytes.
            callee: The called object; a method looked up on an instance may be passed as its function.
            first_argument: The first argument, if there is one.
        """
        if self._get_relative_path(code.co_filename) is None:
            return self._disable
        kind: type = type(callee)
        receiver: type | None = None
        if kind is MethodType:
            method = cast(MethodType, callee)
            callee, first_argument = method.__func__, method.__self__
        elif call_method := _find_call_method(kind):
            callee, first_argument = call_method, callee
        identity: object = callee
        if type(callee) is FunctionType:
            receiver = _get_class(first_argument)
            if "__wrapped__" not in callee.__dict__:
                identity = callee.__code__  # shared by all closures of one function
                if callee.__code__.co_name in _ANONYMOUS_NAMES:
                    return None
        elif not _is_class(callee) and type(callee) not in _WRAPPERS:
            return None
        key = (id(code), offset, id(identity), id(receiver))
        if key not in self._calls:
            self._calls[key] = (code, offset, callee, receiver)  # keeps the objects alive, so that ids stay unique
        return None

    def build_records(self) -> list[dict[str, Any]]:
        """Return the calls of functions and classes of the repository, each once."""
        records = [self._build_record(*call) for call in list(self._calls.values())]
        return [record for record in records if record is not None]

    def build_bases(self) -> list[dict[str, Any]]:
        """Return the classes of the repository that exist in this process, with their bases in the repository."""
        pending: list[type] = [object]
        classes: dict[int, type] = {}
        while pending:
            current = pending.pop()
            if id(current) not in classes:
                classes[id(current)] = current
                pending.extend(type.__subclasses__(current))
        rows = []
        for declared_class in classes.values():
            source = self._find_class_target(declared_class)
            if source is not None:
                targets = [self._find_class_target(base) for base in declared_class.__bases__]
                rows.append({"class": source, "bases": [target for target in targets if target is not None]})
        return rows

    def _build_record(
        self, code: CodeType, offset: int, callee: object, receiver: type | None
    ) -> dict[str, Any] | None:
        function = _unwrap(callee)
        target = self._find_target(function)
        if target is None:
            return None
        position = _get_positions(code)[offset]
        return {
            "path": self._get_relative_path(code.co_filename),
            "position": position,
            "again": _find_first_calls(code)[position] != offset,
            "target": target,
            "class": _is_class(callee),
            "decorated": function is not callee,
            "constructor": self._find_constructor(callee) if _is_class(callee) else None,
            "overridden": self._find_overridden(callee, receiver),
        }

    def _find_target(self, callee: object) -> dict[str, Any] | None:
        if _is_class(callee):
            return self._find_class_target(callee)
        if type(callee) is not FunctionType:
            return None
        path = self._get_relative_path(callee.__code__.co_filename)
        line, name = callee.__code__.co_firstlineno, getattr(callee.__code__, "co_qualname", None)
        return None if path is None else {"path": path, "line": line, "qualified_name": name}

    def _find_class_target(self, callee: type) -> dict[str, Any] | None:
        module = sys.modules.get(str(callee.__module__))
        file = getattr(module, "__file__", None)
        path = self._get_relative_path(file) if isinstance(file, str) else None
        if path is None:
            return None
        line = vars(callee).get("__firstlineno__")  # since 3.13
        return {"path": path, "line": line, "qualified_name": callee.__qualname__}

    def _find_constructor(self, callee: type) -> dict[str, Any] | None:
        for name in ("__init__", "__new__"):
            owner = next((ancestor for ancestor in callee.__mro__ if name in vars(ancestor)), object)
            target = self._find_target(_get_function(owner, name))
            if target is not None:
                return target
        return None

    def _find_overridden(self, callee: object, receiver: type | None) -> list[dict[str, Any]]:
        """Return the methods of base classes that the called method overrides."""
        if receiver is None:
            return []
        name = getattr(callee, "__name__", "")
        owners = [ancestor for ancestor in receiver.__mro__ if name in vars(ancestor)]
        owner = next((ancestor for ancestor in owners if _get_function(ancestor, name) is callee), None)
        overridden_owners = [ancestor for ancestor in owners if owner is not None and ancestor in owner.__mro__[1:]]
        targets = [self._find_target(_unwrap(_get_function(ancestor, name))) for ancestor in overridden_owners]
        return [target for target in targets if target is not None]

    def _get_relative_path(self, file: str) -> str | None:
        """Return the path in the repository, with slashes; None for a file outside of it."""
        if file not in self._paths:
            real_path = Path(os.path.realpath(file))
            is_inside = real_path.is_relative_to(self._root) and real_path.is_file()
            self._paths[file] = real_path.relative_to(self._root).as_posix() if is_inside else None
        return self._paths[file]


def _is_class(callee: object) -> TypeGuard[type]:
    return issubclass(type(callee), type)


def _get_class(receiver: object) -> type:
    return receiver if _is_class(receiver) else type(receiver)


@functools.cache
def _find_call_method(kind: type) -> FunctionType | None:
    """Return the Python method that makes objects of a class callable; None for metaclasses."""
    method = next((vars(ancestor)["__call__"] for ancestor in kind.__mro__ if "__call__" in vars(ancestor)), None)
    return method if type(method) is FunctionType and not issubclass(kind, type) else None


def _get_function(owner: type, name: str) -> object:
    """Return an attribute of a class, without `staticmethod` and `classmethod`."""
    attribute: Any = vars(owner).get(name)
    return attribute.__func__ if type(attribute) in (staticmethod, classmethod) else attribute


def _unwrap(callee: object) -> object:
    """Return the function below decorators of the standard library."""
    while type(callee) in _WRAPPERS and "__wrapped__" in vars(callee):
        callee = vars(callee)["__wrapped__"]
    return callee


@functools.cache
def _get_positions(code: CodeType) -> dict[int, tuple[int | None, ...]]:
    """Return the first and last line, from 1, and the first and last column, in bytes, of each instruction's expression."""
    return {2 * index: (row[0], row[1], row[2], row[3]) for index, row in enumerate(code.co_positions())}


@functools.cache
def _find_first_calls(code: CodeType) -> dict[tuple[int | None, ...], int]:
    """Return the offset of the first call instruction at each position.

    The result of a decorator's call is called at the same position, later.
    """
    calls = [row.offset for row in dis.get_instructions(code) if row.opname.startswith("CALL")]
    return {_get_positions(code)[offset]: offset for offset in reversed(calls)}


def _main() -> None:
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        sys.exit("python_trace: needs Python 3.12 or newer for sys.monitoring")
    root, output, module, *arguments = sys.argv[1:]
    recorder = CallRecorder(Path(root).resolve(), monitoring.DISABLE)
    monitoring.use_tool_id(MONITORING_TOOL_ID, "coderag")
    monitoring.register_callback(MONITORING_TOOL_ID, monitoring.events.CALL, recorder.record_call)
    monitoring.set_events(MONITORING_TOOL_ID, monitoring.events.CALL)
    sys.argv = [module, *arguments]
    sys.path[0] = str(Path.cwd())  # as for `python -m`, instead of this script's folder
    status: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        status = stop.code
    finally:
        monitoring.set_events(MONITORING_TOOL_ID, 0)
    result = {"status": str(status), "calls": recorder.build_records(), "classes": recorder.build_bases()}
    Path(output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    _main()
