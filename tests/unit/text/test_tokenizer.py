import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.text import tokenizer
from coderag.text.tokenizer import (
    STOP_WORDS,
    expand_token,
    extract_content_words,
    make_compound_term,
    split_identifier,
    split_raw_tokens,
    stem,
    tokenize_path,
    tokenize_query,
    tokenize_text,
)


def test_module_doctests_pass():
    result = doctest.testmod(tokenizer)
    assert result.attempted >= 2
    assert result.failed == 0


# Parts of identifiers


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("parseHTTPRequest", ["parse", "http", "request"]),
        ("HTTPServer", ["http", "server"]),
        ("max_file_size", ["max", "file", "size"]),
        ("MAX_FILE_SIZE", ["max", "file", "size"]),
        ("__init__", ["init"]),
        ("getURLPath2", ["get", "url", "path", "2"]),
        ("utf8", ["utf", "8"]),
        ("A", ["a"]),
        ("___", []),
        ("größeBerechnen", ["grösse", "berechnen"]),
        ("ÜberschriftGroß", ["überschrift", "gross"]),
        ("解析配置", ["解析", "析配", "配置"]),
        ("解", ["解"]),
        ("parse解析File", ["parse", "解析", "file"]),
        ("ユーザー", ["ユー", "ーザ", "ザー"]),
    ],
)
def test_an_identifier_is_split_into_words(raw, parts):
    assert list(split_identifier(raw)) == parts


@pytest.mark.parametrize("spelling", ["max_size", "maxSize", "MaxSize", "MAX_SIZE", "_max_size"])
def test_all_spellings_of_a_compound_share_its_terms(spelling):
    assert expand_token(spelling) == ("=maxsize", "max", "size")


def test_a_single_word_is_its_stem_alone():
    assert expand_token("hashing") == expand_token("Hashed") == ("hash",)


def test_short_words_are_not_stemmed():
    assert stem("bus") == "bus"


@pytest.mark.parametrize("year", ["1984", "8080", "7"])
def test_short_numbers_are_terms(year):
    assert expand_token(year) == (year,)


def test_long_numbers_are_data():
    assert expand_token("12345") == ()


def test_numbers_in_an_identifier_are_only_in_the_compound_term():
    assert expand_token("sha_256") == ("=sha256", "sha")


def test_overlong_token_has_no_compound_term_and_few_parts():
    terms = expand_token("aB" * 100)
    assert 0 < len(terms) <= 24
    assert not any(term.startswith("=") for term in terms)


def test_compatibility_characters_equal_their_plain_ones():
    assert expand_token("ｆｕｌｌ＿ｗｉｄｔｈ".replace("＿", "_")) == expand_token("full_width")
    assert make_compound_term("ﬁle_ﬁnder") == make_compound_term("file_finder")


# Texts and questions


def test_terms_of_a_text_come_in_order_and_repeated():
    assert tokenize_text("open file; open door") == ["open", "file", "open", "door"]


def test_stop_words_are_dropped_from_queries_but_not_texts():
    assert tokenize_query("where is the session opened") == ["session", "open"]
    assert "where" in tokenize_text("where is the session opened")


def test_query_of_stop_words_only_retains_them():
    assert extract_content_words("what is this") == ["what", "is", "this"]


def test_chinese_query_matches_chinese_comment():
    assert set(tokenize_query("解析配置")) & set(tokenize_text("# 读取并解析文件"))


def test_stop_words_are_in_lower_case():
    assert {word.lower() for word in STOP_WORDS} == STOP_WORDS


# Paths


def test_path_terms_have_stem_twice_and_last_two_folders_once():
    assert tokenize_path("repo/src/auth/session_store.py") == [
        "=sessionstore", "session", "store", "=sessionstore", "session", "store", "src", "auth",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "terms"), [("Makefile", ["makefil"] * 2), (".gitignore", []), ("a/.env.local", ["env"] * 2 + ["a"])]
)
def test_paths_without_folder_or_ending(path, terms):
    assert tokenize_path(path) == terms


# For every text


@given(st.text(max_size=300))
def test_any_text_yields_nonempty_terms(text):
    terms = tokenize_text(text)
    assert all(isinstance(term, str) and term.strip("=") for term in terms)
    tokenize_query(text)


@given(st.text(max_size=300))
def test_non_ascii_words_are_case_insensitive(text):
    for raw in split_raw_tokens(text):
        if raw.isascii() and raw.isalpha():
            assert expand_token(raw.lower()) == expand_token(raw.capitalize())


@given(
    st.text(alphabet=st.characters(codec="utf-8", categories=["Lu", "Ll", "Lo", "Nd", "Pc"]), min_size=1, max_size=64)
)
def test_every_name_matches_itself(name):
    """What is asked for by a name in a text has the terms of the name in it."""
    assert tokenize_text(f"def {name}():") == [*tokenize_text("def"), *tokenize_text(name)]


@given(st.text(max_size=60), st.text(max_size=60))
def test_terms_of_concatenated_texts_are_concatenated(first, second):
    assert tokenize_text(f"{first} {second}") == tokenize_text(first) + tokenize_text(second)
