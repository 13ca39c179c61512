"""Detection of the human language of a question: seven languages, and English around anything foreign."""

import pytest

from coderag.question.human_language import detect_language, load_function_words

QUESTIONS = [
    ("de", "Wo wird das Passwort gehasht?"),
    ("de", "Wie wird eine abgelaufene Sitzung erneuert"),
    ("de", "wo ist TokenBucket"),
    ("de", "Tests für Ledger"),
    ("de", "Wiederholungsversuch Wartezeit berechnen"),
    ("de", "Zeitüberschreitung"),
    ("fr", "Où est-ce que le mot de passe est haché ?"),
    ("fr", "Quelle fonction ferme la connexion quand le client ne répond plus"),
    ("es", "¿Dónde se renueva la sesión caducada?"),
    ("es", "qué función cierra la conexión"),
    ("pt", "Onde a senha é transformada em hash?"),
    ("pt", "Como o servidor decide quais conexões fechar"),
    ("ru", "Где хешируется пароль?"),
    ("ru", "кто вызывает parse_request"),
    ("zh", "密码是在哪里哈希的？"),
    ("zh", "密碼在哪裡雜湊"),
    ("zh", "parse_request 被谁调用"),
    ("ja", "パスワードはどこでハッシュ化されますか"),
    ("ja", "セッションの有効期限を延ばす関数"),
]

ENGLISH = [
    "where are passwords hashed",
    "retry limiter",
    "naïve Bayes classifier training",
    "what does the Müller adapter cache",
    "façade of the Café module",
    "how is a résumé parsed",
    "which function prints „Datei nicht gefunden“",
    'what logs "соединение закрыто"',
    "where is 数据 decoded from the header",
    "what prints ошибка",
    "why does `wo ist die Datei` fail in the tests",
    "read /srv/benutzer/einstellungen/wert.toml",
    "die on error",
    "pre-commit autoupdate",
    "publish on ci",
    "update the immer middleware",
    "comment parser",
    "plus sign in a url",
    "for (int i = 0; i < n; i++) { sum += des[i]; }",
    "UnzulaessigerWert",
    "é",
]


@pytest.mark.parametrize(("language", "query"), QUESTIONS)
def test_a_question_is_in_its_language(language, query):
    assert detect_language(query) == language


@pytest.mark.parametrize("query", ENGLISH)
def test_foreign_names_and_quotes_leave_a_question_english(query):
    assert detect_language(query) == "en"


def test_code_in_a_question_does_not_decide_its_language():
    code = "```\nwhere is the value that you should use and why does it not work\n```"
    assert detect_language(f"Warum schlägt das fehl?\n{code}") == "de"


@pytest.mark.parametrize("query", ["a" * 64_000, "/a" * 32_000, "'" * 64_000, "é " * 20_000, "的" * 20_000])
def test_any_text_has_a_language(query):
    assert detect_language(query) in {"en", "zh"}


def test_words_that_are_english_too_are_function_words_of_a_language():
    languages = ("de", "fr", "es", "pt")
    known = frozenset().union(*map(load_function_words, languages))
    assert load_function_words("ambiguous") <= known
    assert not known & load_function_words("en")
