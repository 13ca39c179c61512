"""No regular expression of the package can be kept busy by a text made for it, or by a line of slashes."""

import importlib
import pkgutil
import re
import signal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import coderag

LENGTH = 200  # characters; what takes exponential time never ends, what takes quadratic time is not noticed
LIMIT_S = 5.0  # of CPU, for one search
UNITS = (
    " ", "\n", "\t", "\r\n", "\n ", " \n", "\n\n", "/", "//", "// a\n", "/a", "a/", "#", "#!\n", "#!a ", "#[", "a", "A", "Aa",
    "a.", "a::", "a->", "a ", "a,", "a-", "a_", "a:", "a=", "a@", "a\\", "a(", "a b ", "0", "0.", "1-", ".", "..", ":", "(",
    "()", "[", "[]", "[[", "{", "{}", "<", "<a ", "</a>", "<?", "<?a?>", "<!--", "/*", "*/", "*", "**", "`", "``", '"', '\\"',
    "\\", "'", "$", "@", "!", "?", "=", "->", "=>", "&", "; ", "|", "~~~", "```", "- ", "- a\n", "> ", "\n> ", "é", "http://a",
    "www.", '"a" ', "%", "[a](", "![", "---\n", "===\n", "how do get ", "import ", "module ", "at a\n", "a:1-",
)  # fmt: skip


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(coderag.__path__, "coderag."):
        if found.name.endswith(("__main__", ".migrations.env")):  # Alembic alone can load the latter
            continue
        try:
            yield importlib.import_module(found.name)
        except ImportError:  # a package that is not installed here
            continue


def patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(owner, re.Pattern):  # ``re.compile(...).fullmatch``
        yield owner
    elif isinstance(value, (tuple, list, frozenset)):
        for inner in value:
            yield from patterns_in(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from patterns_in(inner)


def all_patterns() -> dict[re.Pattern[Any], str]:
    found: dict[re.Pattern[Any], str] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                found.setdefault(pattern, f"{module.__name__}.{name}")
    return found


def too_slow(*_: object) -> None:
    raise TimeoutError


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of CPU time")
def test_no_text_keeps_a_pattern_busy():
    patterns = all_patterns()
    assert len(patterns) > 300
    slow = []
    earlier = signal.signal(signal.SIGPROF, too_slow)
    try:
        for pattern, name in patterns.items():
            for unit in UNITS:
                text = unit * (LENGTH // len(unit)) + "\0"
                signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
                try:
                    pattern.search(text if isinstance(pattern.pattern, str) else text.encode())
                except TimeoutError:
                    slow.append(f"{name}: {unit!r}")
                    break
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, earlier)
    assert slow == []
