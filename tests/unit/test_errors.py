import inspect
import pickle
import re

import pytest

from coderag import errors
from coderag.errors import CodeRAGError, find_error_class

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, CodeRAGError)]


def drawn_tree():
    """Return each class with its base, as the module's docstring draws them."""
    bases, parents = {}, {}
    for line in errors.__doc__.splitlines():
        if match := re.match(r"^    ([│ ├└─]*)(\w+Error)\b", line):
            depth = len(match[1]) // 4
            parents[depth] = match[2]
            bases[match[2]] = parents.get(depth - 1, "Exception")
    return bases


def test_the_docstring_draws_the_tree_as_it_is():
    assert drawn_tree() == {kind.__name__: kind.__base__.__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_carries_its_message_and_its_hint(kind):
    error = kind("it failed", hint="Do this.")
    assert (str(error), error.hint) == ("it failed", "Do this.")
    assert kind("it failed").hint == ""


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_survives_the_way_to_another_process(kind):
    copy = pickle.loads(pickle.dumps(kind("it failed", hint="Do this.")))
    assert (type(copy), str(copy), copy.hint) == (kind, "it failed", "Do this.")


def test_only_what_may_pass_is_retryable():
    assert {kind.__name__ for kind in CLASSES if kind.retryable} == {
        "DatabaseUnavailableError",
        "GitUnavailableError",
        "IndexLockedError",
        "ModelUnavailableError",
        "ObjectStorageUnavailableError",
        "ProviderUnavailableError",
        "PublishConflictError",
        "QuotaExceededError",
        "ServiceBusyError",
        "SourceUnavailableError",
    }


def test_a_class_is_found_by_its_name() -> None:
    assert [find_error_class(kind.__name__) for kind in CLASSES] == CLASSES


@pytest.mark.parametrize("name", ["", "Sequence", "TYPE_CHECKING", "error_class", "KeyError"])
def test_a_name_of_no_error_of_ours_has_no_class(name: str) -> None:
    assert find_error_class(name) is None
