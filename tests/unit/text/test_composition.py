"""Texts whose accents may be characters of their own."""

import unicodedata

import pytest

from coderag.text.composition import ComposedText, compose


def decompose(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("text", ["", "plain", "crème", "한글", "a\nÜber\n"])
def test_both_forms_become_equal(text):
    assert compose(decompose(text)) == compose(text)


@pytest.mark.parametrize("word", ["crème", "brûlée", "한글", "plain", "sel"])
def test_a_span_of_the_composed_text_is_the_word_as_it_was_written(word):
    original = f"a plain line\n{decompose('la crème brûlée')} et sel\ncrème 한글 {decompose('한글')}, fin"
    composed = ComposedText(original)
    start = composed.text.index(word)
    while start >= 0:
        first, last = composed.find_original_span(start, start + len(word))
        assert compose(original[first:last]) == word
        start = composed.text.find(word, start + 1)


def test_a_span_over_lines_and_to_the_end_is_whole():
    original = decompose("é\nü\nö")
    composed = ComposedText(original)
    assert composed.find_original_span(0, len(composed.text)) == (0, len(original))
    assert composed.find_original_span(2, 3) == (3, 5)
