import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.config.settings_edit import add_entry, remove_entry
from coderag.errors import ConfigurationError

WIKI = {"system": "confluence", "address": "https://a.example", "spaces": ["A", "B"], "token": "${WIKI_TOKEN}"}
BLOCK = """\
  wiki:
    system: confluence
    address: "https://a.example"
    spaces: ["A", "B"]
    token: "${WIKI_TOKEN}"
"""
FILE = """\
# Mine
version: 1

sources:  # systems
  # first
  docs: {system: files, path: docs}  # near
search:
  top_k: 5  # few
"""


def test_first_entry_is_appended_with_its_section() -> None:
    assert add_entry("version: 1\n", "sources", "wiki", WIKI) == f"version: 1\n\nsources:\n{BLOCK}"


def test_entry_joins_the_others_and_leaves_comments_alone() -> None:
    after = add_entry(FILE, "sources", "wiki", WIKI)

    assert after == FILE.replace("# near\n", f"# near\n{BLOCK}")
    assert remove_entry(after, "sources", "wiki") == FILE


@pytest.mark.parametrize(
    "heading", ["sources:\n", "sources: {}\n", "sources: {}  # none yet\n", "sources:\n  # none yet\n"]
)
def test_empty_section_gets_its_first_entry(heading: str) -> None:
    after = add_entry(f"version: 1\n{heading}search: {{top_k: 5}}\n", "sources", "wiki", WIKI)

    assert yaml.safe_load(after) == {"version": 1, "sources": {"wiki": WIKI}, "search": {"top_k": 5}}
    assert ("# none yet" in after) == ("# none yet" in heading)


def test_flow_section_and_windows_line_ends_are_kept() -> None:
    flow = add_entry("sources: {docs: {system: files, path: docs}}\n", "sources", "wiki", WIKI)
    assert yaml.safe_load(flow)["sources"] == {"docs": {"system": "files", "path": "docs"}, "wiki": WIKI}

    windows = add_entry(FILE.replace("\n", "\r\n"), "sources", "wiki", WIKI)
    assert windows.count("\n") == windows.count("\r\n")


def test_key_of_an_existing_entry_is_set() -> None:
    after = add_entry(FILE, "sources", "docs", {"path": "guide", "url": "https://d.example"})

    assert yaml.safe_load(after)["sources"]["docs"] == {"system": "files", "path": "guide", "url": "https://d.example"}
    assert "# near" in after


def test_removing_the_only_entry_leaves_an_empty_section() -> None:
    after = remove_entry(add_entry("version: 1\n", "sources", "wiki", WIKI), "sources", "wiki")

    assert yaml.safe_load(after) == {"version": 1, "sources": None}
    assert remove_entry(after, "sources", "wiki") == after


@pytest.mark.parametrize("text", ["sources: [1]\n", "- a\n", "sources: &x {a: {b: 1}}\nother: *x\n{"])
def test_layout_that_cannot_be_edited_is_refused_with_the_lines(text: str) -> None:
    with pytest.raises(ConfigurationError, match="nothing was changed") as caught:
        add_entry(text, "sources", "wiki", WIKI)
    assert "wiki: {system: confluence" in caught.value.hint


@given(
    names=st.lists(st.sampled_from(["wiki", "docs", "a-b", "x1"]), unique=True, min_size=1, max_size=4),
    value=st.text(max_size=20) | st.booleans() | st.integers() | st.lists(st.text(max_size=5), max_size=3),
)
@settings(max_examples=15)
def test_entries_are_added_and_removed_in_any_order(names: list[str], value: object) -> None:
    text = FILE.replace("  docs: {system: files, path: docs}  # near\n", "")
    for name in names:
        text = add_entry(text, "sources", name, {"system": "files", "path": value})
    assert yaml.safe_load(text)["sources"] == {name: {"system": "files", "path": value} for name in names}
    for name in names[::-1]:
        text = remove_entry(text, "sources", name)
    assert yaml.safe_load(text)["search"] == {"top_k": 5}
    assert "# first" in text
