import pytest

from coderag.question.analysis import analyze
from coderag.question.hints import ELSEWHERE_FACTOR, hint_factors
from tests.support.corpora import make_corpus

FILES = {
    "src/auth.py": "def login():\n    return 1\n",
    "web/auth.ts": "export function login() {\n  return 1;\n}\n",
    "tests/test_auth.py": "def test_login():\n    assert login()\n",
}


@pytest.mark.parametrize(
    ("question", "languages"),
    [
        ("how is login done in the TypeScript code", ["typescript"]),
        ("where are tokens parsed in the Go files", ["go"]),
        ("retries in the c++ implementation", ["cpp"]),
        ("how does it go in the end", []),
        ("where do we go from the code", []),
        ("write python strings to a file", []),
    ],
)
def test_a_language_is_asked_for_in_so_many_words(question, languages):
    assert analyze(question)["languages"] == languages


@pytest.mark.parametrize(
    ("question", "roles"),
    [
        ("how is a server faked in the tests", ["test"]),
        ("how is login shown in the examples", ["example"]),
        ("which ports are opened in the configuration files", ["config"]),
        ("is there a test that login fails twice", ["test"]),
        ("test: login fails twice", ["test"]),
        ("tests that login is refused", ["test"]),
        ("guide: how to log in", ["docs"]),
        ("how are tests discovered", []),
        ("how does the tester latest build run", []),
    ],
)
def test_a_role_is_asked_for(question, roles):
    assert analyze(question)["roles"] == roles


@pytest.mark.parametrize(
    ("question", "preferred"),
    [
        ("login in the TypeScript code", {"web/auth.ts"}),
        ("login in the Rust code", set(FILES)),
        ("login", set(FILES)),
    ],
)
def test_what_is_in_other_languages_steps_back(question, preferred):
    corpus = make_corpus(FILES)
    factors = dict(zip(corpus.paths, hint_factors(corpus, analyze(question)).tolist(), strict=True))
    assert {path for path, factor in factors.items() if factor == 1} == preferred
    assert all(factor == pytest.approx(ELSEWHERE_FACTOR) for path, factor in factors.items() if path not in preferred)


@pytest.mark.parametrize(
    ("question", "preferred"),
    [
        ("how is the branch symbol configured", {"docs/branch.md"}),
        ("branch symbol", {"docs/branch.md"}),
        ("wie wird das Symbol konfiguriert", {"docs/branch.md", "docs/de/branch.md", "docs/zh-CN/branch.md"}),
        ("如何配置分支符号", {"docs/branch.md", "docs/de/branch.md", "docs/zh-CN/branch.md"}),
        ("symbol in docs/de/branch.md", {"docs/branch.md", "docs/de/branch.md", "docs/zh-CN/branch.md"}),
    ],
)
def test_translations_step_back_behind_the_document_unless_the_question_is_in_another_language(question, preferred):
    text = "# Branch\n\nThe symbol of the branch.\n"
    corpus = make_corpus(
        {"docs/branch.md": text, "docs/de/branch.md": text + "Das.\n", "docs/zh-CN/branch.md": text + "分支\n"}
    )
    factors = dict(zip(corpus.paths, hint_factors(corpus, analyze(question)).tolist(), strict=True))
    assert {path for path, factor in factors.items() if factor == 1} == preferred
