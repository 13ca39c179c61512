"""Results as JSON."""

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import numpy as np
import pytest

from coderag.interfaces.json_values import encode_json


@dataclass(frozen=True, slots=True)
class Place:
    path: PurePosixPath
    lines: tuple[int, int]

    @property
    def location(self) -> str:
        return "not a field"


@pytest.mark.parametrize("name", ["a.py", "caf\udce9.py"])
def test_a_dataclass_is_an_object_of_exactly_its_fields(name):
    told = json.loads(encode_json(Place(PurePosixPath("src") / name, (1, 2))))
    assert told == {"path": f"src/{name}".replace("\udce9", "\\udce9"), "lines": [1, 2]}


@pytest.mark.parametrize("name", ["a", "\udce9"])
def test_mappings_and_numbers_of_numpy_are_plain(name):
    value = MappingProxyType({name: np.float32(0.5), "b": np.int64(2), "c": frozenset({1}), "d": Path("x")})
    assert list(json.loads(encode_json(value)).values()) == [0.5, 2, [1], "x"]


def test_a_number_that_is_none_is_null():
    assert encode_json([float("nan"), float("inf")]) == b"[null,null]"


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError):
        encode_json({"a": object()})
