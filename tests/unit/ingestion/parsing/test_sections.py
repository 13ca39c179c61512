import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.parsing.sections import (
    find_asciidoc_headings,
    find_markdown_headings,
    find_rst_headings,
    lay_out_sections,
)
from coderag.ingestion.parsing.trees import find_line_starts


def headings(find, text):
    return [(heading.line, heading.level, heading.title) for heading in find(text.encode().split(b"\n"))]


def sections(text, language="markdown", max_tokens=800, min_tokens=0):
    data = text.encode()
    return [
        (data[span.start : span.end].decode(), span)
        for span in lay_out_sections(
            data, find_line_starts(data), language, max_tokens=max_tokens, min_tokens=min_tokens
        )
    ]


def test_markdown_headings_have_a_level_and_a_plain_title():
    text = "# One\n\nText\n\nTwo\n===\n\nThree\n---\n\n#### [Four](x.md) `code` ####\n\n#no heading\n- item\n---\n"
    assert headings(find_markdown_headings, text) == [
        (0, 1, "One"),
        (4, 1, "Two"),
        (7, 2, "Three"),
        (10, 4, "Four code"),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_comment_in_fenced_code_is_not_a_heading(fence):
    assert headings(find_markdown_headings, f"# A\n{fence}sh\n# not one\n{fence}\n# B\n") == [(0, 1, "A"), (4, 1, "B")]


def test_front_matter_is_not_a_heading():
    assert headings(find_markdown_headings, "---\ntitle: x\n---\n# A\n") == [(3, 1, "A")]


def test_rst_levels_follow_the_order_of_underlines():
    text = "=====\nTitle\n=====\n\nOne\n===\n\nDeep\n----\n\nTwo\n===\n\n.. code::\n\n    ---\n"
    assert headings(find_rst_headings, text) == [(0, 1, "Title"), (4, 2, "One"), (7, 3, "Deep"), (10, 2, "Two")]


def test_asciidoc_headings_have_a_level_and_a_plain_title():
    text = "= One\n\n== Two `x` ==\n\n## Three\n\nFour\n~~~~\n\n=no heading\n\ntoo long a line\n-----\n"
    assert headings(find_asciidoc_headings, text) == [(0, 1, "One"), (2, 2, "Two x"), (4, 2, "Three"), (6, 3, "Four")]


@pytest.mark.parametrize("block", ["----", "....", "====", "|===", "////", "--", "```"])
def test_asciidoc_block_content_is_not_a_heading(block):
    opening = "```sh" if block == "```" else block
    assert headings(find_asciidoc_headings, f"= A\n\n{opening}\n== not one\n{block}\n\n== B\n") == [
        (0, 1, "A"),
        (6, 2, "B"),
    ]


def test_asciidoc_anchor_belongs_to_the_heading_below():
    assert headings(find_asciidoc_headings, "= A\n\n[[b]]\n[.lead]\n== B\n\n[discrete]\n== C\n") == [
        (0, 1, "A"),
        (2, 2, "B"),
    ]


def test_section_name_joins_its_headings():
    section_list = sections("# Guide\n\nHello.\n\n## Install\n\npip\n\n### Linux\n\napt\n\n## Use\n\nrun\n")
    assert [(span.qualified_name, span.name, span.parent) for _, span in section_list] == [
        ("Guide", "Guide", ""),
        ("Guide > Install", "Install", "Guide"),
        ("Guide > Install > Linux", "Linux", "Guide > Install"),
        ("Guide > Use", "Use", "Guide"),
    ]
    assert {span.kind for _, span in section_list} == {"section"}


def test_tiny_sections_are_merged_and_keep_their_headings_as_symbols():
    section_list = sections("# Guide\n\n## Install\n\npip\n\n## Use\n\nrun\n", min_tokens=50)
    assert len(section_list) == 1
    assert [(s["qualified_name"], s["start_line"], s["end_line"]) for s in section_list[0][1].symbols] == [
        ("Guide", 1, 2), ("Guide > Install", 3, 6), ("Guide > Use", 7, 9)
    ]  # fmt: skip


def test_a_large_section_is_cut_at_paragraphs():
    paragraph = "some words about nothing in particular, again and again\n" * 4
    section_list = sections("# A\n\n" + "\n".join([paragraph] * 12), max_tokens=120)
    assert len(section_list) > 3
    assert {span.name for _, span in section_list} == {"A"}
    assert all(text.endswith("\n\n") for text, _ in section_list[:-1])


def test_text_before_the_first_heading_is_named_after_the_file():
    section_list = sections("Hello\n\n# A\n\ntext\n")
    assert [span.name for _, span in section_list] == ["", "A"]


@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "Title", "=====", "---", "", "text", "```", "    code", "- item", "\r", "* * *", "~~~~"]
        )
    ).map("\n".join)
    | st.text(),
    st.sampled_from(["markdown", "rst", "asciidoc"]),
    st.integers(16, 60),
    st.integers(0, 40),
)
def test_sections_cover_the_text(text, language, max_tokens, min_tokens):
    assert "".join(part for part, _ in sections(text, language, max_tokens, min_tokens)) == text
