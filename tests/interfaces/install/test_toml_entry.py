"""Editing TOML texts: one table comes and goes, everything else stays to the character."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import ConfigurationError
from coderag.interfaces.install.toml_entry import read_entry, remove_entry, set_entry

KEYS = ("mcp_servers", "coderag")
ENTRY = {"command": "C:\\Tools\\coderag.exe", "args": ["mcp"]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "o3" # best\n',
        'model = "o3"',
        '[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.other.env]\nKEY = "v"\n',
        "[mcp_servers]\n",
        '[profiles.coderag]\nx = [\n  "[mcp_servers.coderag]",\n]\n',
        'text = """\n[mcp_servers.coderag]\n"""\n',
        "a = 1\r\n\r\n[b]\r\nc = 2\r\n",
    ],
)
def test_the_table_is_added_at_the_end_and_taken_out_again(text) -> None:
    edited = set_entry(text, KEYS, ENTRY)
    assert edited.startswith(text.rstrip("\r\n"))
    assert read_entry(edited, KEYS) == ENTRY
    assert remove_entry(edited, KEYS).rstrip("\r\n") == text.rstrip("\r\n")


def test_line_ends_of_windows_stay() -> None:
    edited = set_entry("a = 1\r\n", KEYS, ENTRY)
    assert edited.count("\n") == edited.count("\r\n")


@pytest.mark.parametrize(
    "header", ["[mcp_servers.coderag]", '[mcp_servers."coderag"]', "[ mcp_servers . 'coderag' ] # ours"]
)
def test_a_table_of_our_name_is_replaced_and_those_below_it_stay(header) -> None:
    text = f'a = 1\n\n{header}\ncommand = "old"\nargs = [\n  "x",\n]\n\n# other\n[mcp_servers.coderag.env]\nK = "v"\n'
    edited = set_entry(text, KEYS, ENTRY)
    assert read_entry(edited, KEYS) == {**ENTRY, "env": {"K": "v"}}
    assert "\n\n# other\n[mcp_servers.coderag.env]\n" in edited
    assert remove_entry(edited, KEYS) == "a = 1\n\n# other\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }\n',
        'mcp_servers.coderag.command = "x"\n',
        "[mcp_servers]\ncoderag = 1\n",
    ],
)
def test_a_form_that_is_not_edited_is_refused(text) -> None:
    with pytest.raises(ConfigurationError, match="form that is not edited") as caught:
        set_entry(text, KEYS, ENTRY)
    assert "--print" in caught.value.hint


def test_what_is_not_valid_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError, match="line 2: not valid TOML"):
        set_entry("a = 1\nb =\n", KEYS, ENTRY)


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_any_path_of_a_command_is_written_so_that_it_is_read_again(path) -> None:
    text = set_entry("", KEYS, {"command": path, "args": ["mcp"]})
    assert tomllib.loads(text)["mcp_servers"]["coderag"]["command"] == path
