"""Rich text of Jira as Markdown: the Atlassian Document Format, and wiki markup."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.sources.jira.document_format import convert_document


def node(kind: str, *content: Any, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "attrs": attributes, "content": list(content)}


def text(value: str, *marks: str, href: str = "") -> dict[str, Any]:
    link = [{"type": "link", "attrs": {"href": href}}] if href else []
    return {"type": "text", "text": value, "marks": [{"type": mark} for mark in marks] + link}


def paragraph(*content: Any) -> dict[str, Any]:
    return node("paragraph", *content)


@pytest.mark.parametrize(
    ("block", "markdown"),
    [
        (node("heading", text("Title"), level=3), "### Title"),
        (
            paragraph(text("a "), text("b ", "strong", "em"), text("c", "code"), text("d", "strike")),
            "a ***b*** `c`~~d~~",
        ),
        (paragraph(text("x`y", "code")), "``x`y``"),
        (paragraph(text("docs", href="https://e.org")), "[docs](https://e.org)"),
        (paragraph(text("click", href="javascript:alert(1)")), "click"),
        (paragraph(text("https://e.org", href="https://e.org")), "<https://e.org>"),
        (paragraph(text("a"), node("hardBreak"), text("b")), "a\\\nb"),
        (paragraph(node("mention", id="1", text="@Ann"), text(" "), node("mention", id="557:b")), "@Ann @557:b"),
        (paragraph(node("emoji", shortName=":x:", text="✗"), node("status", text="DONE")), "✗`DONE`"),
        (paragraph(node("date", timestamp="1767312000000"), node("date", timestamp="soon")), "2026-01-02"),
        (paragraph(node("inlineCard", url="https://e.org/1")), "<https://e.org/1>"),
        (node("codeBlock", text("a\n```\nb"), language="sh"), "````sh\na\n```\nb\n````"),
        (node("blockquote", paragraph(text("a")), paragraph(text("b"))), "> a\n>\n> b"),
        (node("panel", paragraph(text("a")), panelType="warning"), "> **Warning**\n>\n> a"),
        (node("expand", paragraph(text("a")), title="More"), "**More**\n\na"),
        (
            node(
                "bulletList",
                node(
                    "listItem",
                    paragraph(text("a")),
                    node("orderedList", node("listItem", paragraph(text("b"))), order=3),
                ),
                node("listItem", paragraph(text("c")), node("codeBlock", text("d"))),
            ),
            "- a\n  3. b\n- c\n\n  ```\n  d\n  ```",
        ),
        (
            node("taskList", node("taskItem", text("a"), state="DONE"), node("taskList", node("taskItem", text("b")))),
            "- [x] a\n  - [ ] b",
        ),
        (
            node(
                "table",
                node("tableRow", node("tableHeader", paragraph(text("h|"))), node("tableHeader", paragraph(text("i")))),
                node("tableRow", node("tableCell", paragraph(text("1")), paragraph(text("2")))),
            ),
            "| h\\| | i |\n| --- | --- |\n| 1 2 |  |",
        ),
        (node("mediaSingle", node("media", alt="plan.png", type="file")), "![plan.png]()"),
        (node("unheardOf", paragraph(text("kept"))), "kept"),
        (node("rule"), "---"),
    ],
)
def test_document_format_becomes_markdown(block: Any, markdown: str) -> None:
    assert convert_document({"type": "doc", "version": 1, "content": [block]}) == markdown


@pytest.mark.parametrize(
    ("wiki", "markdown"),
    [
        ("h2. Steps\ntext", "## Steps\n\ntext"),
        ("*bold* _it_ -gone- +under+ ??cite??", "**bold** *it* ~~gone~~ under *cite*"),
        ("snake_case_name 2*3*4 a-b-c {{x_y_z}}", "snake_case_name 2*3*4 a-b-c `x_y_z`"),
        ("* a\n** b\n# c\n## d\n- e", "- a\n  - b\n1. c\n   1. d\n- e"),
        ("{code:title=a.py|python}\nx = *y*[0]\n{code}", "**a.py**\n\n```python\nx = *y*[0]\n```"),
        ("{code:java}\nint a;\n{code}", "```java\nint a;\n```"),
        ("{noformat}\n```\n*raw*\n{noformat}", "````\n```\n*raw*\n````"),
        ("{quote}said *so*\n* a{quote}after", "> said **so**\n> - a\n\nafter"),
        ("{panel:title=My}body{panel}", "> **My**\n>\n> body"),
        ("bq. quoted", "> quoted"),
        ("||a||b||\n|1|{{x|y}}|\nafter", "| a | b |\n| --- | --- |\n| 1 | `x\\|y` |\n\nafter"),
        ("|1|[t|https://e.org]|", "|  |  |\n| --- | --- |\n| 1 | [t](https://e.org) |"),
        ("[docs|https://e.org/a_b_c] [https://e.org]", "[docs](https://e.org/a_b_c) <https://e.org>"),
        ("[~ann] [^log.txt] list[0] [PROJ-4]", "@ann log.txt list[0] [PROJ-4]"),
        ("!plan.png|thumbnail! wow! ok!", "![plan.png]() wow! ok!"),
        ("{color:red}hot{color} \\*plain\\*", "hot *plain*"),
        ("see https://e.org/a_b_c?x=-1-", "see https://e.org/a_b_c?x=-1-"),
        ("----", "---"),
        ("{code}never closed *x*", "{code}never closed **x**"),
    ],
)
def test_wiki_markup_becomes_markdown(wiki: str, markdown: str) -> None:
    assert convert_document(wiki) == markdown


@pytest.mark.parametrize("value", [None, 5, [], {}, {"type": "doc"}, {"type": "doc", "content": "x"}, ""])
def test_absent_text_is_empty(value: object) -> None:
    assert convert_document(value) == ""


def test_document_nested_beyond_recursion_keeps_its_text() -> None:
    document = text("deep")
    for _ in range(3000):
        document = node("blockquote", document)
    assert convert_document(document) == "deep"


@given(st.text(alphabet="*_-+?{}[]|!~^#h1.\\ \ncodequtepanl:=0a", max_size=120))
def test_any_wiki_markup_converts_without_placeholders(markup: str) -> None:
    assert "\x00" not in convert_document(markup)
