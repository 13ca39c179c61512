import pytest

from coderag.sources.files.markup import build_title, convert_markup, find_title

ASCIIDOC = """\
= Title
// a comment

== Section

[source,ruby]
----
== not a heading
----

.Caption
----
plain
----
"""

RST = """\
=====
Title
=====

Intro
-----

Text with a rule
below.

.. code-block:: python
   :linenos:

   def f():
       return 1

Sub
~~~

Next
----
"""


def test_asciidoc_gets_headings_and_fences() -> None:
    assert convert_markup("a.adoc", ASCIIDOC).splitlines() == [
        "# Title", "", "## Section", "", "```ruby", "== not a heading", "```", "", ".Caption", "```", "plain", "```",
    ]  # fmt: skip


def test_restructured_text_gets_headings_and_fences() -> None:
    assert convert_markup("a.rst", RST).splitlines() == [
        "# Title", "", "## Intro", "", "Text with a rule", "below.", "", "```python", "def f():", "    return 1", "```",
        "### Sub", "", "## Next",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One #\n", "One"),
        ("---\ntitle: x\n# y\n---\n\nIntro\n\n## Two\n", "Two"),
        ("```\n# no\n```\nThree\n=====\n", "Three"),
        ("no heading\n", ""),
        ("", ""),
    ],
)
def test_title_is_the_first_heading(text: str, title: str) -> None:
    assert find_title(text) == title


def test_markdown_stays_as_it_is() -> None:
    assert convert_markup("a.md", RST) == RST


@pytest.mark.parametrize(
    "text", ["----", "[source]", "== ", ".. code::", "===\n===", "\n\n----\n", "a\n=", "..\n..\n.."]
)
def test_unfinished_markup_is_converted_without_error(text: str) -> None:
    for name in ("a.rst", "a.adoc"):
        assert isinstance(convert_markup(name, text), str)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Guide\n\n## First\n\n## Second\n", "Guide"),
        ("# 1.1\n\nText\n\n# 1.0\n", "a-b: 1.1"),
        ("- Feature: x\n\n## Summary\n\n## Motivation\n", "a-b: Summary"),
        ("## Guide\n\n### First\n", "Guide"),
        ("Text\n", "a-b.md"),
        ("# Guide\n\n```\n# comment\n```\n", "Guide"),
    ],
)
def test_first_heading_with_equals_stands_behind_the_name_of_the_file(text: str, title: str) -> None:
    assert build_title("docs/a-b.md", text) == title
