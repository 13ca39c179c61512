"""The lexicon: its table, inflected forms, compounds, and texts without spaces."""

from importlib import resources

import pytest

from coderag.question.lexicon import LEXICON_LANGUAGES, fold_text, load_lexicon

ROWS = [
    line.split(" | ")
    for line in (resources.files("coderag.question") / "lexicon.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_has_words_of_every_language_once(row):
    assert len(row) == 1 + len(LEXICON_LANGUAGES)
    for cell in row:
        words = cell.split()
        assert words
        assert len(words) == len(set(words))


def test_no_two_rows_have_the_same_english_words():
    english = [row[0] for row in ROWS]
    assert len(english) == len(set(english))


def translate(language, word):
    return [english[0] for english in load_lexicon(language).translate_word(fold_text(word, language))]


@pytest.mark.parametrize(
    ("language", "word", "english"),
    [
        ("de", "Verbindungen", ["connection"]),
        ("de", "gelöscht", ["delete"]),
        ("de", "gespeicherten", ["save"]),
        ("de", "Schluessel", ["key"]),
        ("fr", "connexions", ["connection"]),
        ("fr", "créées", ["create"]),
        ("es", "contraseñas", ["password"]),
        ("es", "conexión", ["connection"]),
        ("pt", "conexões", ["connection"]),
        ("pt", "removidos", ["delete"]),
        ("ru", "соединениями", ["connection"]),
        ("ru", "удаляется", ["delete"]),
    ],
)
def test_inflected_forms_are_found(language, word, english):
    assert translate(language, word)[:1] == english


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("Verbindungsabbruch", ["disconnect"]),  # a word of its own
        ("Nachrichtenwarteschlange", ["message", "queue"]),
        ("Benutzerverzeichnispfad", ["user", "directory", "path"]),
        ("Kennwortschlüssel", ["password", "key"]),
        ("Obstkorbgröße", ["size"]),  # its end says what it is
        ("Zqxwv", []),
    ],
)
def test_german_compounds_are_split_at_known_words(word, english):
    assert translate("de", word) == english


@pytest.mark.parametrize(
    ("language", "text", "english"),
    [
        ("zh", "数据库连接池", ["database", "connection-pool"]),
        ("zh", "連接池", ["connection-pool"]),  # traditional characters
        ("ja", "データベース接続", ["database", "connection"]),
    ],
)
def test_texts_without_spaces_are_cut_into_the_longest_words(language, text, english):
    segments = load_lexicon(language).segment(fold_text(text, language), frozenset())
    assert [words[0] for _, words in segments if words] == english


def test_a_character_beside_an_unknown_one_is_no_word():
    assert [words for _, words in load_lexicon("zh").segment("包鑫", frozenset())] == [None, None]
    assert [words for _, words in load_lexicon("zh").segment("包", frozenset())] != [None]
