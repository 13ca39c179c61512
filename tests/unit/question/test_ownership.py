"""One package reads the wording of questions; everything else reads the analysis."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import coderag

ASKING = re.compile(r"(?:\\b|\(|\||\^|:)(?:who|whom|where|which|why|how|what)(?:\\b|\)|\||\\s|\?)")
"""Words that only questions have, as they stand in a regular expression."""

OTHER_TEXTS = {
    "coderag.answering.evidence.readme",  # headings of a document
    "coderag.answering.generated.missing_statements",  # the reply of a model
    "coderag.answering.injection",  # text of a repository that addresses a model
}


def list_modules() -> list[str]:
    names = (module.name for module in pkgutil.walk_packages(coderag.__path__, "coderag."))
    owned = ("coderag.question.", "coderag.text.", "coderag.evals.")
    # Alembic alone can load the environment of its revisions.
    return [name for name in names if not name.startswith(owned) and not name.endswith(("__main__", ".migrations.env"))]


def find_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value.pattern
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from find_patterns(item)


def test_no_other_module_has_patterns_of_questions():
    offenders = []
    for name in list_modules():
        try:
            module = importlib.import_module(name)
        except ImportError:  # a package that is not installed here
            continue
        patterns = [pattern for value in vars(module).values() for pattern in find_patterns(value)]
        if name not in OTHER_TEXTS and any(ASKING.search(pattern) for pattern in patterns):
            offenders.append(name)
    assert offenders == []


@pytest.mark.parametrize("pattern", [r"\bwhat\s+is\b", r"(?:who|where)", r"^how\b"])
def test_such_patterns_are_recognised(pattern):
    assert ASKING.search(pattern)
