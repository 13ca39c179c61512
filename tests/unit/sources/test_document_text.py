"""Conversion of files to Markdown: structure, encodings, and files that are damaged, encrypted or made to burst."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.errors import SourceError
from coderag.sources import document_text
from coderag.sources.document_text import can_convert, convert_document, convert_html
from tests.unit.sources.office_files import build_docx, build_package, build_pdf, build_pptx

pytest.importorskip("mammoth", reason="the extra sources is not installed")


def test_word_file_keeps_headings_and_identifiers() -> None:
    text = convert_document(build_docx("Retry policy", "Call retry_after_s twice.", "Then *stop*."), "Policy.DOCX")
    assert text == "# Retry policy\n\nCall retry_after_s twice.\n\nThen *stop*."


def test_word_comments_follow_the_text() -> None:
    text = convert_document(build_docx("Policy", comment="Why so long?"), "Policy.docx")
    assert text.startswith("# Policy")
    assert "Comment [AB1]" in text
    assert "Why so long?" in text


def test_slides_have_headings_bullets_notes_tables_charts_and_diagrams() -> None:
    assert convert_document(build_pptx(), "deck.pptx") == (
        "## Slide 1: Retry policy\n\n- Back off\n  - Double the wait\n\n### Notes\n\nAgreed in March.\n\n"
        "## Slide 2\n\n| Status | Wait |\n| --- | --- |\n| 429 | a\\|b |\n\n"
        "- Series: Requests\n- Categories: May, June\n\n- Plan\n- Build"
    )


def test_pdf_has_a_heading_for_each_page_with_text() -> None:
    assert convert_document(build_pdf("First words", "", "Last words"), "a.pdf") == (
        "## Page 1\n\nFirst words\n\n## Page 3\n\nLast words"
    )


def test_pdf_that_opens_without_a_password_is_read() -> None:
    assert "First words" in convert_document(build_pdf("First words", password=""), "a.pdf")


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (lambda: build_pdf("First words", password="word"), "a.pdf", "a.pdf is encrypted"),
        (lambda: build_pdf(""), "a.pdf", "no text; it may be a scan"),
        (lambda: build_pdf("First words")[:300], "a.pdf", "a.pdf is damaged"),
        (lambda: b"", "a.pdf", "a.pdf is damaged"),
        (lambda: b"", "a.docx", "a.docx is damaged"),
        (lambda: build_docx("Retry")[:-40], "a.docx", "a.docx is damaged"),
        (lambda: build_package({"a.txt": "x"}), "a.docx", "a.docx is damaged"),
        (lambda: build_package({"a.txt": "x"}), "a.pptx", "a.pptx is damaged"),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "a.pptx", "encrypted, or in the format before"),
        (lambda: bytes(2_000), "a.md", "a.md is not text"),
    ],
)
def test_unreadable_file_is_an_error_with_the_reason(data: object, name: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        convert_document(data(), name)  # type: ignore[operator]


def test_package_that_unpacks_to_too_much_is_refused_before_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "_MAX_XML_BYTES", 1_000_000)
    bomb = build_package({"word/document.xml": b" " * 2_000_000})
    assert len(bomb) < 10_000
    for name in ("a.docx", "a.pptx"):
        with pytest.raises(SourceError, match="unpacks to 2,000,000 bytes"):
            convert_document(bomb, name)


def test_package_with_entities_is_refused() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 100}">' for n in range(9))
    data = build_docx("&e8;", prolog=f"<!DOCTYPE d [{entities}]>")
    with pytest.raises(SourceError, match="declares a document type"):
        convert_document(data, "a.docx")


def test_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(SourceError, match=r"a\.md has 11 bytes; 10 are read at most"):
        convert_document(b"x" * 11, "a.md")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_text_is_decoded_and_stays_as_it_is(encoding: str) -> None:
    text = "# Überblick\n\nFür größere Läufe `a_b` benutzen, außer bei Änderungen.\n"
    assert convert_document(text.encode(encoding), "a.md") == text


def test_html_loses_scripts_and_embedded_images_only() -> None:
    html = (
        "<title>t</title><style>p {}</style><script>alert(1)</script><h2>Flow of get_user_name</h2>"
        '<p>See <a href="https://a.example/x_y">it</a> <img src="data:image/png;base64,AAAA" alt="diagram"></p>'
        "<table><tr><th>A</th></tr><tr><td>1</td></tr></table><pre>x  = 1</pre>"
    )
    text = convert_html(html)
    assert "## Flow of get_user_name" in text
    assert "[it](https://a.example/x_y) diagram" in text
    assert "| A |" in text
    assert "x  = 1" in text
    assert "alert" not in text
    assert "base64" not in text


def test_deeply_nested_html_keeps_its_text() -> None:
    assert "kernel" in convert_html("<div>" * 5_000 + "kernel" + "</div>" * 5_000)


@given(st.binary(max_size=300), st.sampled_from(["a.docx", "a.pptx", "a.pdf", "a.html", "a.txt"]))
@settings(max_examples=40, deadline=None)
def test_any_bytes_convert_or_are_refused(data: bytes, name: str) -> None:
    try:
        assert isinstance(convert_document(data, name), str)
    except SourceError as error:
        assert name in str(error)


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mammoth", None)
    with pytest.raises(SourceError, match="mammoth is not installed") as caught:
        convert_document(build_docx("Retry"), "a.docx")
    assert caught.value.hint == "Install coderag-engine[sources]."


@pytest.mark.parametrize("name", ["a.docx", "b.PDF", "notes.md", "x.aspx.html", "main.go", "page.txt"])
def test_documents_and_text_can_be_converted(name: str) -> None:
    assert can_convert(name)


@pytest.mark.parametrize("name", ["a.png", "b.mp4", "c.xlsx", "archive.zip", "noextension"])
def test_other_files_cannot_be_converted(name: str) -> None:
    assert not can_convert(name)
