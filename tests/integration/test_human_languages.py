"""Questions in other human languages than English: what is found, and what results say about them."""

import pytest

from coderag import CodeRAG

FILES = {
    "shop/session.py": (
        '"""Sessions."""\n\n\ndef delete_expired_sessions(store, now):\n    """Remove sessions whose time is over."""\n'
        "    for key in [key for key, ends in store.items() if ends < now]:\n        del store[key]\n"
    ),
    "shop/password.py": 'def hash_password(password, salt):\n    """Return a salted digest."""\n    return salt + password\n',
    "shop/upload.py": 'def check_file_size(upload, limit):\n    """Refuse large files."""\n    return upload.size <= limit\n',
    "shop/mail.py": 'def send_mail(recipient, text):\n    """Send a message."""\n    return hash_password(text, recipient)\n',
    "docs/README.de.md": "# Laden\n\nAbgelaufene Sitzungen werden nachts gelöscht.\n",
}
QUESTIONS = [
    ("German", "Wo werden abgelaufene Sitzungen gelöscht?", "delete_expired_sessions"),
    ("German", "Wo wird geprüft, ob eine hochgeladene Datei zu groß ist?", "check_file_size"),
    ("French", "Où supprime-t-on les sessions expirées ?", "delete_expired_sessions"),
    ("Spanish", "¿Dónde se comprueba el tamaño de un archivo subido?", "check_file_size"),
    ("Portuguese", "Onde as sessões expiradas são removidas?", "delete_expired_sessions"),
    ("Russian", "Где удаляются истёкшие сессии?", "delete_expired_sessions"),
    ("Chinese", "过期的会话是在哪里删除的？", "delete_expired_sessions"),
    ("Chinese", "上傳的檔案大小在哪裡檢查", "check_file_size"),
    ("Japanese", "期限切れのセッションはどこで削除されますか", "delete_expired_sessions"),
]


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("languages")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(("language", "query", "name"), QUESTIONS)
def test_a_question_finds_the_declaration_and_says_how_it_was_read(rag, language, query, name):
    hits = rag.search(query)
    assert hits[0].qualified_name == name
    assert hits.evidence != "not_found"
    (note,) = (note for note in hits.notes if note.startswith("the question is in"))
    assert note.startswith(f"the question is in {language}, searched for: ")


def test_contexts_and_answers_say_how_a_question_was_read(rag):
    query = "Wo werden abgelaufene Sitzungen gelöscht?"
    note = "the question is in German, searched for: expire session delete remove"
    context, answer = rag.context(query), rag.ask(query)
    assert list(context.notes) == [note]
    assert list(answer.notes) == [note]
    assert answer.query == context.query == query
    assert "delete_expired_sessions" in context.text
    assert "delete_expired_sessions" in answer.text


def test_english_results_have_no_such_note(rag):
    query = "where are expired sessions deleted"
    assert not rag.search(query).notes
    assert not rag.context(query).notes
    assert not rag.ask(query).notes


def test_a_name_in_a_foreign_question_is_looked_up(rag):
    answer = rag.ask("Wer ruft hash_password auf?")
    assert answer.intent == "find_usage"
    assert "send_mail" in answer.text


def test_words_that_are_not_understood_are_listed_and_absent_code_is_no_certainty(rag):
    hits = rag.search("Wo wird der Wobbelfix für das Planetengetriebe kalibriert?")
    assert hits.evidence == "weak"
    assert "not understood: Wobbelfix, Planetengetriebe, kalibriert" in hits.notes[0]


def test_translations_of_documents_do_not_step_back_behind_a_question_in_their_language(rag):
    assert "docs/README.de.md" in {str(hit.path) for hit in rag.search("Wann werden abgelaufene Sitzungen gelöscht?")}
