import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_code_line,
    format_command,
    format_count,
    format_prose,
    join_words,
)


def spans(text):
    """Return the code spans of a paragraph."""
    inline = [token for token in MarkdownIt().parse(text) if token.type == "inline"]
    return [child.content for token in inline for child in token.children if child.type == "code_inline"]


@pytest.mark.parametrize("text", ["a", "a`b", "``", "`a`", "a\nb", "operator|", "[]T", "a  b", "\x1b[0m"])
def test_code_is_one_span_on_one_line(text):
    (span,) = spans(format_code(text))
    assert "\n" not in format_code(text)
    assert "".join(span.split()) == "".join("".join(sign for sign in text if sign.isprintable()).split())


@given(st.text(max_size=60))
def test_prose_is_only_words_whatever_it_holds(text):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(format_prose(text))
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "code_inline", "text_special"}


def test_a_command_can_be_pasted_whatever_the_name_is():
    assert (
        format_command("callers", "Session.login", "--candidates")
        == "`coderag graph callers Session.login --candidates`"
    )
    assert format_command("callers", "x; rm -rf $HOME") == "`coderag graph callers 'x; rm -rf $HOME'`"


def test_a_long_line_of_code_is_cut():
    assert format_code_line("x" * 200) == f"`{'x' * 120} …`"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Return it. Not that.", "Return it."),
        ("Return it\n\nand more", "Return it"),
        ("# Safety\n\nThe caller must hold the lock. Always.", "The caller must hold the lock."),
        ("これは文です。次の文。", "これは文です。"),
        ("See `a.b` for it. More.", "See `a.b` for it."),
        ("Class Basket @package Shop\\Goods", "Class Basket"),
        ("@param array $goods\n@return void", ""),
        ("<p>A {@link Basket} of <i>goods</i>.", "A `Basket` of goods."),
        ("Use @app.route to add one.", "Use @app.route to add one."),
        ("", ""),
    ],
)
def test_the_first_sentence_is_taken(text, sentence):
    assert extract_first_sentence(text) == sentence


def test_numbers_and_lists_read_as_sentences():
    assert (format_count(1, "file"), format_count(1200, "file"), format_count(2, "class", "classes")) == (
        "1 file",
        "1,200 files",
        "2 classes",
    )
    assert (join_words([]), join_words(["a"]), join_words(["a", "b", "c"], "or")) == ("", "a", "a, b or c")
