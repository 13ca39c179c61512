import dataclasses
from pathlib import PurePosixPath

import pytest

from coderag.schema import answers, chunks, context, graph, index_plan, indexing, prompts, search
from coderag.schema.answers import Citation
from coderag.schema.indexing import IndexStatus
from coderag.schema.search import Filters, SearchHit

DATACLASSES = [
    value
    for module in (answers, chunks, context, graph, index_plan, indexing, prompts, search)
    for value in vars(module).values()
    if dataclasses.is_dataclass(value) and value.__module__ == module.__name__
]


def hit(**fields):
    empty = {field.name: "" for field in dataclasses.fields(SearchHit) if field.default is dataclasses.MISSING}
    empty.pop("signals", None)
    return SearchHit(**{**empty, "path": PurePosixPath("src/cart.py"), "start_line": 3, "end_line": 9, **fields})


def status(**changes):
    fields = {field.name: () for field in dataclasses.fields(IndexStatus)}
    return IndexStatus(**{**fields, **changes})


def test_places_are_written_as_path_and_lines():
    assert hit().location == "src/cart.py:3-9"
    assert Citation("src/cart.py", 3, 9, hash="", verified=True).location == "src/cart.py:3-9"


@pytest.mark.parametrize("kind", DATACLASSES, ids=lambda kind: kind.__name__)
def test_the_data_that_is_handed_around_cannot_be_changed(kind):
    assert kind.__dataclass_params__.frozen
    assert "__dict__" not in dir(kind)


@pytest.mark.parametrize("field", ["languages", "kinds", "paths", "roles"])
def test_filters_are_true_if_any_is_set(field):
    assert not Filters()
    assert Filters(**{field: ("x",)})


@pytest.mark.parametrize("field", ["added", "changed", "removed"])
def test_an_index_is_fresh_if_nothing_differs(field):
    assert status().fresh
    assert not status(**{field: ["a.py"]}).fresh
