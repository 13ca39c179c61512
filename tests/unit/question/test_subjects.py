import pytest

from coderag.question.analysis import analyze
from coderag.question.subjects import CorpusSubjects
from tests.support.corpora import make_corpus

FILES = {
    "src/ui.py": "class Component:\n    def draw(self):\n        return 1\n\n\nclass RetryLoop:\n    pass\n",
    "src/stages.py": (
        "class Stage:\n    def Exec(self):\n        return 1\n\n\ndef login():\n    return 1\n\n\n"
        "def size():\n    return 1\n"
    ),
    "src/web/session.py": "class Session:\n    pass\n\n\ndef session_of():\n    return 1\n",
}


@pytest.fixture(scope="module")
def names():
    return CorpusSubjects(make_corpus(FILES))


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("who implements the Component trait", ["Component"]),
        ("who calls Exec of the Stage interface", ["Stage.Exec"]),
        ("what calls login", ["login"]),
        ("who uses the login function?", ["login"]),
        ("who instantiates a session", ["Session"]),
        ("who uses the retry loop", ["RetryLoop"]),
        ("where is login used", ["login"]),
        ("wer ruft login auf", ["login"]),
        ("谁调用 login", ["login"]),
        ("which tests cover file size limits", []),
    ],
)
def test_what_the_index_has_is_a_name(names, question, subjects):
    assert analyze(question, names=names)["reading"]["subjects"] == subjects


def test_a_name_with_a_slip_is_still_asked_for(names):
    assert analyze("who calls Componnt.draw", names=names)["reading"]["subjects"] == ["Componnt.draw"]
    assert analyze("who uses logni", names=names)["reading"]["subjects"] == ["logni"]


def test_two_names_in_plain_words_are_compared(names):
    reading = analyze("difference between login and size", names=names)["reading"]
    assert reading["ends"] == ["login", "size"]


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ("path from `login` to `size`", ["login", "size"]),
        ("is `size` reachable from `login`", ["login", "size"]),
        ("how does login reach size", ["login", "size"]),
        ("wie kommt man von `login` zu `size`", ["login", "size"]),
    ],
)
def test_a_way_has_its_ends_in_their_order(names, question, ends):
    assert analyze(question, names=names)["reading"]["ends"] == ends


def test_a_folder_is_known_by_its_name(names):
    analysis = analyze("unused functions in web", names=names)
    assert analysis["about_unused"] == "list"
    assert {"kind": "path", "text": "web"} in analysis["entities"]
