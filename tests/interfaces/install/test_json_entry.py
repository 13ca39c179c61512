"""Editing JSON texts with comments: what is ours comes and goes, everything else stays to the character."""

import json
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coderag.errors import ConfigurationError
from coderag.interfaces.install.json_entry import read_entry, remove_entry, set_entry
from coderag.interfaces.install.json_text import parse_json

KEYS = ("mcpServers", "coderag")
ENTRY = {"command": "/opt/coderag", "args": ["mcp"]}
OURS = '"coderag": {"command": "/opt/coderag", "args": ["mcp"]}'


def test_an_empty_text_becomes_a_whole_configuration() -> None:
    for text in ("", "\n", " \n\n"):
        assert json.loads(set_entry(text, KEYS, ENTRY)) == {"mcpServers": {"coderag": ENTRY}}


def test_others_entries_stay_as_they_are_written() -> None:
    text = '{\n    "mcpServers": {\n        "a": { "command":"x" }\n    },\n    "theme" : "dark"\n}\n'
    edited = set_entry(text, KEYS, ENTRY)
    assert edited.startswith(
        '{\n    "mcpServers": {\n        "a": { "command":"x" },\n        "coderag": {\n            "command"'
    )
    assert edited.endswith('        }\n    },\n    "theme" : "dark"\n}\n')
    assert remove_entry(edited, KEYS) == text


def test_comments_and_trailing_commas_stay() -> None:
    text = '{\n  // all of mine\n  "mcpServers": {\n    "a": {}, // the first\n    /* none yet */\n  },\n}\n'
    edited = set_entry(text, KEYS, ENTRY)
    for kept in ("// all of mine", '"a": {}, // the first\n', "/* none yet */"):
        assert kept in edited
    assert read_entry(edited, KEYS) == ENTRY
    assert remove_entry(edited, KEYS) == text


def test_a_comment_behind_the_last_entry_stays_behind_it() -> None:
    text = '{\n  "mcpServers": {\n    "a": {} // about a\n  }\n}\n'
    edited = set_entry(text, KEYS, ENTRY)
    assert '"a": {}, // about a\n    "coderag"' in edited
    assert read_entry(edited, KEYS) == ENTRY


def test_a_text_on_one_line_stays_on_one_line() -> None:
    assert set_entry('{"a": 1}', KEYS, ENTRY) == f'{{"a": 1, "mcpServers": {{{OURS}}}}}'


def test_line_ends_of_windows_stay() -> None:
    edited = set_entry('{\r\n  "a": 1\r\n}\r\n', KEYS, ENTRY)
    assert edited.count("\n") == edited.count("\r\n")


def test_tabs_stay() -> None:
    assert '\n\t"mcpServers": {\n\t\t"coderag": {\n\t\t\t"command"' in set_entry('{\n\t"a": 1\n}', KEYS, ENTRY)


@pytest.mark.parametrize("text", ["{}", "{ }", "{\n}", "{\n  // nothing\n}", "{ /* nothing */ }", '{"mcpServers": {}}'])
def test_an_object_with_nothing_in_it_is_filled(text) -> None:
    assert read_entry(set_entry(text, KEYS, ENTRY), KEYS) == ENTRY


def test_an_entry_of_our_name_is_replaced_in_its_place() -> None:
    text = '{"mcpServers": {"coderag": {"command": "old"}, "b": {}}}'
    assert set_entry(text, KEYS, ENTRY) == f'{{"mcpServers": {{{OURS.replace(": [", ": [")}, "b": {{}}}}}}'.replace(
        OURS, '"coderag": ' + json.dumps(ENTRY)
    )


def test_text_that_looks_like_our_entry_within_strings_and_comments_is_left_alone() -> None:
    text = '{\n  "note": "\\"mcpServers\\": {\\"coderag\\": 1} // no",\n  // "coderag": {}\n  "x": [{"coderag": 2}]\n}'
    edited = set_entry(text, KEYS, ENTRY)
    assert parse_json(edited).data["x"] == [{"coderag": 2}]
    assert remove_entry(edited, KEYS).startswith(text.removesuffix("\n}"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{\n  'a': 1\n}", "line 2: not valid JSON: a name in double quotes"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: not valid JSON: a comma is missing"),
        ('{\n  "a": tru\n}', "line 2: not valid JSON: 'tru' is not a value"),
        ('{\n  "a": "x\n}', "line 2: not valid JSON: a string does not end"),
        ('{"a": 1', "line 1: not valid JSON"),
        ('{"a": 1} x', "line 1: not valid JSON: something follows"),
        ("{ /* a", "line 1: not valid JSON: a comment does not end"),
        ("[]", "line 1: not an object"),
        ('{"a": 1,\n "a": 2}', "line 2: not valid JSON: 'a' is given twice"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("{" + '"a": {' * 300, "nested too deeply"),
    ],
)
def test_what_is_not_valid_is_refused_with_its_line(text, told) -> None:
    with pytest.raises(ConfigurationError) as caught:
        set_entry(text, KEYS, ENTRY)
    assert told in str(caught.value)


# Any configuration

names = st.sampled_from(["mcpServers", "coderag", "a", "b", 'q"uote', "ünï", "//", "x"])
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.text(string.printable, max_size=8), st.just("/* no */"))
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
servers = st.dictionaries(names.filter(lambda name: name != "coderag"), values, max_size=3)
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // remark\n", " /* note */ ", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> tuple[dict[str, object], str]:
    """Return data without an entry of ours and some text that has it, with comments wherever they may be."""
    data = draw(st.dictionaries(names, values, max_size=4))
    if draw(st.booleans()):
        data["mcpServers"] = draw(servers)
    else:
        data.pop("mcpServers", None)

    def write(value: object) -> str:
        if not isinstance(value, (dict, list)):
            return json.dumps(value)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        items = (
            [f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}{write(one)}" for key, one in value.items()]
            if isinstance(value, dict)
            else [write(one) for one in value]
        )
        text = opening
        for position, item in enumerate(items):
            is_last = position == len(items) - 1
            comma = "," if not is_last or draw(st.booleans()) else ""
            text += f"{draw(blanks)}{item}{draw(blanks)}{comma}{draw(blanks)}"
        return text + (draw(blanks) if not items else "") + closing

    return data, f"{draw(blanks)}{write(data)}{draw(blanks)}"


def significant(text: str) -> str:
    return "".join(text.split())


@given(texts())
@example(({"a": 1}, '{"a": 1 // x\n}'))
@example(({"a": 1}, '{"a": 1 // x\n,}'))
def test_in_any_text_our_entry_is_added_and_all_else_stays(case) -> None:
    data, text = case
    edited = set_entry(text, KEYS, ENTRY)
    expected = {**data, "mcpServers": {**data.get("mcpServers", {}), "coderag": ENTRY}}
    assert parse_json(edited).data == expected
    assert parse_json(set_entry(edited, KEYS, ENTRY)).data == expected
    rest = iter(significant(edited))
    assert all(character in rest for character in significant(text)), "something of the text is gone"


@given(texts())
def test_in_any_text_our_entry_is_taken_out_again(case) -> None:
    data, text = case
    back = remove_entry(set_entry(text, KEYS, ENTRY), KEYS)
    assert parse_json(back).data == {"mcpServers": {}, **data}
    comments = [part for part in ("// remark", "/* note */") for _ in range(text.count(part))]
    assert sum(back.count(part) for part in set(comments)) == len(comments)
