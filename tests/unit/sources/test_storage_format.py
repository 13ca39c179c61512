"""Confluence's storage format as Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.sources.confluence.storage_format import PagePlace, PageText, convert_storage

PLACE = PagePlace("https://wiki.example.org", "DOCS", "12")


def convert(storage: str) -> PageText:
    return convert_storage(storage, PLACE)


def macro(name: str, body: str = "", **parameters: str) -> str:
    values = "".join(f'<ac:parameter ac:name="{key}">{value}</ac:parameter>' for key, value in parameters.items())
    return f'<ac:structured-macro ac:name="{name}">{values}{body}</ac:structured-macro>'


def rich(body: str) -> str:
    return f"<ac:rich-text-body>{body}</ac:rich-text-body>"


def plain(body: str) -> str:
    return f"<ac:plain-text-body><![CDATA[{body}]]></ac:plain-text-body>"


@pytest.mark.parametrize(
    ("storage", "markdown"),
    [
        ("<h2>Set <em>up</em></h2><p>a_b *c* &amp; d</p>", "## Set *up*\n\na_b *c* & d"),
        (macro("code", plain("if a < b:\n    c[0] &gt; 1"), language="python"), "```python\nif a < b:\n    c[0] &gt; 1\n```"),
        (macro("code", plain("x"), title="a.py"), "**a.py**\n\n```\nx\n```"),
        (macro("code", plain("a]]]]><![CDATA[>b")), "```\na]]>b\n```"),
        (macro("noformat", plain("```\ninner\n```")), "````\n```\ninner\n```\n````"),
        (macro("info", rich("<p>Mind</p>")), "> **Info**\n>\n> Mind"),
        (macro("warning", rich("<p>Hot</p>"), title="Stop"), "> **Warning: Stop**\n>\n> Hot"),
        (macro("panel", rich("<p>In</p>")), "> In"),
        (macro("note", rich(macro("code", plain("ls")))), "> **Note**\n>\n> ```\n> ls\n> ```"),
        (macro("expand", rich("<ul><li>a<ul><li>b</li></ul></li></ul>"), title="More"), "**More**\n\n- a\n  - b"),
        (macro("vendor-thing", rich("<p>kept</p>"), size="3"), "kept"),
        (macro("toc") + "<p>text</p>" + macro("anchor"), "text"),
        ("<p>" + macro("status", title="IN PROGRESS", colour="Red") + "</p>", "`IN PROGRESS`"),
        (
            macro("include", '<ac:parameter ac:name=""><ac:link><ri:page ri:content-title="A b"/></ac:link></ac:parameter>'),
            "Includes [A b](https://wiki.example.org/display/DOCS/A+b)",
        ),
        (
            '<p><ac:link ac:anchor="s1"><ri:page ri:content-title="A" ri:space-key="OPS"/>'
            "<ac:plain-text-link-body><![CDATA[the <A>]]></ac:plain-text-link-body></ac:link></p>",
            "[the <A>](https://wiki.example.org/display/OPS/A#s1)",
        ),
        ('<p>by <ac:link><ri:user ri:account-id="557:a"/></ac:link></p>', "by @557:a"),
        ('<p><ac:link><ri:user ri:username="ann"/></ac:link></p>', "@ann"),
        ('<p>to <ac:link ac:anchor="here"/></p>', "to here"),
        (
            '<ac:image ac:alt="Plan"><ri:attachment ri:filename="a b.png"/></ac:image>',
            "![Plan](https://wiki.example.org/download/attachments/12/a%20b.png)",
        ),
        ('<ac:image><ri:url ri:value="https://e.org/x.png"/></ac:image>', "![](https://e.org/x.png)"),
        (
            "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status>"
            '<ac:task-body><span>do <time datetime="2026-01-02"/></span></ac:task-body></ac:task>'
            "<ac:task><ac:task-status>incomplete</ac:task-status><ac:task-body>later</ac:task-body></ac:task></ac:task-list>",
            "- [x] do 2026-01-02\n- [ ] later",
        ),
        (
            "<table><tbody><tr><th>k</th><th>v</th></tr><tr><td><p>a|b</p><p>c</p></td><td>" + macro("code", plain("x|y"))
            + "</td></tr></tbody></table>",
            "| k | v |\n| --- | --- |\n| a\\|b c | `x\\|y` |",
        ),
        (
            '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-content><p>once</p></ac:adf-content></ac:adf-node>'
            "<ac:adf-fallback><p>once</p></ac:adf-fallback></ac:adf-extension>",
            "once",
        ),
        ("<ac:layout><ac:layout-section><ac:layout-cell><p>cell</p></ac:layout-cell></ac:layout-section></ac:layout>", "cell"),
        ('<p><ac:placeholder>Type here</ac:placeholder>x <ac:emoticon ac:name="tick" ac:emoji-fallback="✓"/></p>', "x ✓"),
        ('<p><a href=" JavaScript:alert(1)">click</a></p>', "click"),
        ("<p>unclosed <b>bold", "unclosed **bold**"),
    ],
)  # fmt: skip
def test_storage_format_becomes_markdown(storage: str, markdown: str) -> None:
    assert convert(storage).text == markdown


def test_links_and_tickets_are_listed_once_in_order() -> None:
    link = '<a href="https://e.org/{0}">{0}</a>'
    page = convert(
        f"<p>{link.format(2)}{link.format(1)}{link.format(2)}<a href='#x'>here</a></p>"
        + macro("jira", key="PROJ-4") + macro("jira", key="PROJ-2") + macro("jira", jqlQuery="project = A"),
    )  # fmt: skip
    assert page.links == ("https://e.org/2", "https://e.org/1")
    assert page.tickets == ("PROJ-4", "PROJ-2")
    assert "PROJ-4" in page.text
    assert "`project = A`" in page.text


def test_text_nested_beyond_recursion_is_kept() -> None:
    assert convert("<div>" * 3000 + "deep" + "</div>" * 3000).text == "deep"


@given(st.text(alphabet="<>/ac:riu\"='[]!CDATA pk&;\n|`", max_size=120))
def test_any_markup_converts(storage: str) -> None:
    convert(storage)


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=60))
def test_code_is_kept_to_the_letter(code: str) -> None:
    escaped = code.replace("]]>", "]]]]><![CDATA[>")
    assert code.strip("\n") in convert(macro("code", plain(escaped))).text
