"""Translation of a question into the words of an index."""

import pytest

from coderag.question.analysis import analyze
from coderag.question.human_language import detect_language
from coderag.question.translation import translate_question, translate_to_english
from coderag.text.tokenizer import expand_token


def translate(query, indexed=None):
    terms = {term for word in (indexed or "").split() for term in expand_token(word)}
    return translate_question(query, detect_language(query), terms.__contains__ if indexed is not None else None)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Wo wird das Passwort eines Benutzers verschlüsselt?", {"password", "user", "encrypt"}),
        ("Où ferme-t-on la connexion quand le délai d'attente est dépassé ?", {"close", "connection", "timeout"}),
        ("¿Dónde se borran los archivos temporales?", {"delete", "file", "temporary"}),
        ("Onde o cache é invalidado?", {"cache", "invalidate"}),
        ("Где проверяется подпись сообщения?", {"check", "message"}),
        ("临时文件是在哪里删除的？", {"temporary", "delete"}),
        ("一時ファイルはどこで削除されますか", {"temporary", "delete"}),
    ],
)
def test_words_of_software_become_english(query, words):
    assert words <= set(translate(query).text.split())


@pytest.mark.parametrize(
    "name",
    [
        "parse_request",
        "HttpClient",
        "Session.login",
        "src/net/pool.py",
        "--max-retries",
        "connect()",
        "`wert`",
        "MAX_SIZE",
    ],
)
@pytest.mark.parametrize(
    "question", ["Wo wird {} beim Öffnen geprüft?", "Где проверяется {}?", "{} 在哪里检查？", "{} はどこで確認"]
)
def test_names_paths_and_options_stay_as_they_are(question, name):
    assert name in translate(question.format(name)).text


def test_a_quoted_text_stays_in_straight_quotation_marks():
    assert '"Verbindung verloren"' in translate("Wer schreibt „Verbindung verloren“ ins Protokoll?").text


def test_the_english_words_that_the_index_has_are_searched_for():
    assert translate("Wo wird das Verzeichnis gelöscht?", "folder remove").text == "folder remove"
    assert translate("Wo wird das Verzeichnis gelöscht?", "directory folder delete").text == "directory folder delete"


def test_further_english_words_of_the_index_are_terms_as_well():
    translation = translate("Wo wird die Berechtigung gesetzt?", "permission access mode set")
    assert translation.text == "permission access set"
    assert translation.expanded_terms == list(expand_token("mode"))


def test_words_of_the_question_that_the_index_has_are_terms_as_well():
    assert "文件" in translate("文件在哪里删除", "delete file 文件").expanded_terms


def test_pairs_of_characters_of_the_question_that_the_index_has_are_terms_as_well():
    analysis = analyze("数据库错误", is_indexed={"数据", "据库", "databas"}.__contains__)
    assert {"数据", "据库"} <= set(analysis["expanded_terms"])


def test_words_that_nothing_has_are_listed():
    assert translate("Wo wird der Wobbelfix geladen?", "load").unknown == ["Wobbelfix"]
    assert translate("Wo wird der Wobbelfix geladen?", "load wobbelfix").unknown == []


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("Wann legt der Server den Ordner an?", "create"),
        ("Wie handeln Client und Server den Schlüssel aus, bevor sie senden?", "negotiate"),
        ("Wer räumt die Sitzungen auf?", "clean"),
    ],
)
def test_a_german_prefix_at_the_end_of_a_clause_belongs_to_its_verb(query, word):
    assert word in translate(query).text.split()


def test_an_english_question_is_not_translated():
    query = "where is the file that die_on_error writes"
    assert translate_to_english(query) == query
    analysis = analyze(query)
    assert (analysis["human_language"], analysis["expanded_terms"], analysis["unknown_words"]) == ("en", [], [])


def test_the_analysis_of_a_translated_question_has_english_terms():
    analysis = analyze("Wo werden abgelaufene Sitzungen gelöscht?")
    assert analysis["human_language"] == "de"
    assert {"expir", "session", "delet"} <= set(analysis["terms"])


def test_the_prose_of_a_report_is_translated_and_its_trace_is_not():
    report = (
        "Absturz beim Speichern\n\nBeim Speichern der Datei stürzt das Programm ab.\n\n"
        "Traceback (most recent call last):\n  File \"shop/cart.py\", line 7, in checkout\n    total(cart)\nKeyError: 'price'\n"
    )
    analysis = analyze(report)
    assert analysis["report"] is not None
    assert analysis["human_language"] == "de"
    assert {"crash", "save"} <= set(analysis["terms"])
    assert [frame["name"] for frame in analysis["report"]["frames"]] == ["checkout"]
