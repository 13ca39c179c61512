"""The streams' small parts."""

import io
import json
import sys
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType

import numpy as np
import pytest

from coderag.interfaces.cli.options import KindOption, RoleOption
from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line, set_encodings
from coderag.interfaces.json_values import to_mapping
from coderag.schema.answers import Citation


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("größe 中文 🙂", "größe 中文 🙂"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\rb"),
        ("    return x\r", "    return x"),
        ("\x1b]8;;x\x07", "\\x1b]8;;x\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\udcff", "\\udcff"),
    ],
)
def test_harmful_characters_are_spelt_out(text, shown) -> None:
    assert escape_controls(text) == shown


def test_what_is_one_line_stays_one() -> None:
    assert escape_line("we\nird.py\x1b") == "we\\nird.py\\x1b"
    assert escape_line("a.py\r") == "a.py\\r"


def test_json_takes_what_results_are_made_of(capsys) -> None:
    citation = Citation("a.py", 1, 2, "h", verified=True)
    Output(as_json=True).write_json(
        {"path": PurePosixPath("a/b"), "windows": PureWindowsPath("a\\b")},
        numbers=(np.float32(0.5), np.int64(3)),
        view=MappingProxyType({"x": 1}),
        some={"y"},
        cited=[citation],
    )
    assert json.loads(capsys.readouterr().out) == {
        "path": "a/b",
        "windows": "a/b",
        "numbers": [0.5, 3],
        "view": {"x": 1},
        "some": ["y"],
        "cited": [
            {
                "path": "a.py", "start_line": 1, "end_line": 2, "hash": "h", "verified": True, "reason": "",
                "moved_from": None, "kind": "file", "item": "", "revision": "", "url": "",
                }
        ],
    }  # fmt: skip


def test_what_has_no_place_in_json_is_a_fault() -> None:
    with pytest.raises(TypeError, match="object has no keys"):
        to_mapping(object())


def test_streams_that_are_not_there_are_replaced(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    set_encodings()
    with sys.stdout:
        sys.stdout.write("nowhere")


def test_an_encoding_that_lacks_a_character_shows_a_question_mark(monkeypatch) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    set_encodings()
    Output().write("größe")
    assert written.getvalue() == b"gr??e\n"


@pytest.mark.parametrize(("option", "start", "values"), [(KindOption, "str", ["struct"]), (RoleOption, "t", ["test"])])
def test_values_are_completed_in_the_shell(option, start, values) -> None:
    assert option.__metadata__[0].autocompletion(start) == values
