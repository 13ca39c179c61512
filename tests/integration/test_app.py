"""The public Python API over a small repository in several languages."""

import asyncio
import hashlib
import shlex
import shutil
from pathlib import Path, PurePosixPath

import pytest

from coderag import (
    Answer,
    AssembledContext,
    CodeRAG,
    CodeRAGError,
    Filters,
    IndexReport,
    IndexStatus,
    SearchHit,
    Settings,
)
from coderag.errors import ConfigurationError, IndexNotFoundError, IngestionError, InvalidQueryError, UnknownNameError
from coderag.schema.graph import GraphNeighbour
from coderag.text.token_counts import count_tokens

REPOSITORIES = Path(__file__).parents[1] / "fixtures" / "repos"
HASHING = '''"""Passwords."""


def hash_password(text, salt):
    """Return the salted hash of a password."""
    return digest(text + salt)


def digest(text):
    return text[::-1]
'''
LOGIN = '''from auth.passwords import hash_password


class Session:
    """A user who is logged in."""

    def login(self, user, password):
        """Open the session if the password is right."""
        return hash_password(password, user.salt) == user.hash


def test_login():
    assert Session().login(None, "")
'''


def make_repository(root):
    for language in ("python", "go", "typescript"):
        shutil.copytree(REPOSITORIES / language, root / language, ignore=shutil.ignore_patterns("expected.json"))
    (root / "auth").mkdir()
    (root / "auth" / "passwords.py").write_text(HASHING)
    (root / "auth" / "session.py").write_text(LOGIN)
    (root / "README.md").write_text("# Shop\n\nHow to log in: give your password.\n")
    return root


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    """An indexed repository that no test changes."""
    rag = CodeRAG(make_repository(tmp_path_factory.mktemp("app") / "shop"))
    rag.index()
    return rag


@pytest.fixture
def own(tmp_path):
    """A repository of the test's own, not indexed yet."""
    (tmp_path / "a.py").write_text("def hash_password(text):\n    return text\n")
    return CodeRAG(tmp_path)


def on_disk(rag, path, start, end):
    return "\n".join((rag.root / path).read_text(encoding="utf-8").split("\n")[start - 1 : end])


# index and status


def test_indexing_reports_what_it_did(own):
    report = own.index()
    assert isinstance(report, IndexReport)
    assert (report.generation, report.added, report.chunks, report.files) == (1, 1, 1, {"indexed": 1})


def test_indexing_tells_its_progress(own):
    steps = []
    own.index(progress=steps.append)
    assert steps[0].stage == "scan"
    assert (steps[-1].stage, steps[-1].done, steps[-1].total) == ("commit", 1, 1)


def test_the_status_of_a_fresh_index(rag):
    status = rag.status()
    assert isinstance(status, IndexStatus)
    assert status.fresh
    assert (status.root, status.directory) == (str(rag.root), str(rag.root / ".coderag"))
    assert status.languages["python"] == 5
    assert status.outcomes == {"indexed": status.files}
    assert status.embedding.startswith("embedded/")
    assert min(status.chunks, status.symbols, status.lines) > 20


def test_the_status_says_what_differs_on_disk(own):
    (own.root / "b.py").write_text("x = 1\n")
    own.index()
    (own.root / "a.py").write_text("def other(): ...\n")
    (own.root / "b.py").unlink()
    (own.root / "c.py").write_text("y = 1\n")
    status = own.status()
    assert (status.added, status.changed, status.removed) == (["c.py"], ["a.py"], ["b.py"])
    assert not status.fresh
    own.index()
    assert own.status().fresh


# search


def test_a_search_returns_hits_best_first(rag):
    hits = rag.search("how are passwords hashed")
    assert all(isinstance(hit, SearchHit) for hit in hits)
    best = hits[0]
    assert (best.path, best.qualified_name, best.kind) == (
        PurePosixPath("auth/passwords.py"),
        "hash_password",
        "function",
    )
    assert (best.language, best.role, best.summary) == ("python", "source", "Return the salted hash of a password.")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert best.signals
    assert best.channels


def test_the_text_of_a_hit_is_that_of_its_lines(rag):
    hits = rag.search("password session cart", top_k=20)
    assert len(hits) > 1
    for hit in hits:
        assert hit.text.rstrip("\n") == on_disk(rag, hit.path, hit.start_line, hit.end_line).rstrip("\n")


@pytest.mark.parametrize("top_k", [1, 3])
def test_at_most_top_k_hits(rag, top_k):
    assert len(rag.search("password", top_k=top_k)) == top_k


def test_the_default_number_of_hits_is_that_of_the_settings(rag):
    assert len(rag.search("function returns value", top_k=200)) > 10
    assert len(rag.search("function returns value")) <= rag.settings.search.top_k


@pytest.mark.parametrize("top_k", [0, -1, 201])
def test_a_number_of_hits_out_of_range_is_refused(rag, top_k):
    with pytest.raises(InvalidQueryError, match="top_k"):
        rag.search("x", top_k=top_k)


@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        (Filters(languages=("go",)), lambda hit: hit.language == "go"),
        (Filters(languages=("go", "typescript")), lambda hit: hit.language in ("go", "typescript")),
        (Filters(kinds=("class",)), lambda hit: hit.kind == "class"),
        (Filters(paths=("auth",)), lambda hit: hit.path.parts[0] == "auth"),
        (Filters(paths=("**/*.ts", "*.md")), lambda hit: hit.path.suffix in (".ts", ".md")),
        (Filters(roles=("docs",)), lambda hit: str(hit.path) == "README.md"),
        (Filters(languages=("python",), paths=("auth",)), lambda hit: hit.path.parts[0] == "auth"),
    ],
)
def test_filters_decide_what_may_be_a_hit(rag, filters, holds):
    hits = rag.search("password user item store", top_k=50, filters=filters)
    assert hits
    assert all(holds(hit) for hit in hits)


def test_a_filter_that_nothing_meets_is_told(rag):
    with pytest.raises(InvalidQueryError, match="cobol") as caught:
        rag.search("x", filters=Filters(languages=("cobol",)))
    assert "python" in caught.value.hint


def test_a_chinese_question_is_answered(tmp_path):
    (tmp_path / "config.py").write_text("def load(path):\n    # 读取并解析配置文件\n    return open(path)\n")
    (tmp_path / "other.py").write_text("def other():\n    # 关闭连接\n    return 1\n")
    rag = CodeRAG(tmp_path)
    rag.index()
    assert str(rag.search("如何解析配置文件")[0].path) == "config.py"


def test_a_question_about_nothing_here_is_no_error(rag):
    assert isinstance(rag.search("zyzzyva quux"), list)


# definition and graph


def test_a_definition_is_found_by_name(rag):
    (hit,) = rag.definition("Session.login")
    assert (str(hit.path), hit.start_line, hit.end_line, hit.kind) == ("auth/session.py", 7, 9, "method")
    assert rag.definition("login")[0].qualified_name == "Session.login"


def test_what_is_not_declared_has_no_definition(rag):
    assert rag.definition("nothing_like_it") == []


def test_callers_and_callees_name_each_other(rag):
    callers = rag.callers("hash_password")
    assert all(isinstance(caller, GraphNeighbour) for caller in callers)
    assert [
        (caller.path, caller.qualified_name, caller.relation) for caller in callers if caller.confidence >= 0.5
    ] == [("auth/session.py", "Session.login", "caller")]
    assert "hash_password(" in on_disk(rag, callers[0].path, callers[0].line, callers[0].line)
    assert ("auth/passwords.py", "digest") in [(one.path, one.qualified_name) for one in rag.callees("hash_password")]


def test_impact_reaches_callers_of_callers(rag):
    assert {"hash_password", "Session.login"} <= {one.qualified_name for one in rag.impact("digest")}


@pytest.mark.parametrize("question", ["callers", "callees", "impact"])
def test_the_graph_of_an_unknown_name_says_what_is_called_alike(rag, question):
    with pytest.raises(UnknownNameError, match="hash_pasword") as caught:
        getattr(rag, question)("hash_pasword")
    assert "hash_password" in caught.value.hint


# context and ask


@pytest.mark.parametrize("token_budget", [300, 8_000])
def test_a_context_keeps_to_its_budget(rag, token_budget):
    context = rag.context("how does login work", token_budget=token_budget)
    assert isinstance(context, AssembledContext)
    assert context.tokens == count_tokens(context.text) <= token_budget
    assert context.token_budget == token_budget
    assert "login" in context.text


def test_a_context_names_the_places_of_its_items(rag):
    context = rag.context("how does login work")
    items = [item for section in context.sections for item in section.items]
    assert "auth/session.py" in {item.path for item in items}
    for item in items:
        assert item.path in context.text


def test_what_does_not_fit_is_listed(rag):
    small = rag.context("password session cart store user", token_budget=200)
    assert small.omitted
    assert all(omission.fetch for omission in small.omitted)


def test_the_call_of_an_omission_shows_exactly_its_lines(rag):
    omission = rag.context("password session cart store user", token_budget=200).omitted[0]
    place = shlex.split(omission.fetch)[-1]
    shown = rag.read([place])
    lines = (rag.root / omission.path).read_text().split("\n")[omission.start_line - 1 : omission.end_line]
    text = "\n".join(item.text for section in shown.sections for item in section.items)
    assert [line for line in text.split("\n") if line.strip()] == [line for line in lines if line.strip()]
    assert shown.omitted == []


@pytest.mark.parametrize("place", ["auth/session.py:9000-9001", "none.py:1-2", "auth/session.py:0", ""])
def test_lines_that_are_not_there_are_refused(rag, place):
    with pytest.raises(InvalidQueryError):
        rag.read([place])


def test_a_session_brings_something_new_each_time(rag):
    first = rag.context("password hashing", token_budget=400, session="test-one")
    second = rag.context("password hashing", token_budget=400, session="test-one")
    other = rag.context("password hashing", token_budget=400, shown=first.shown)
    assert second.shown_before
    assert not _shown_whole(first) & _shown_whole(second)
    assert other.text == second.text
    assert rag.forget("test-one")
    assert rag.context("password hashing", token_budget=400, session="test-one").text == first.text
    assert rag.forget("test-one")


def _shown_whole(context):
    return {
        (item.path, item.start_line) for section in context.sections for item in section.items if item.detail == "full"
    }


@pytest.mark.parametrize("text_format", ["markdown", "xml", "json"])
def test_a_context_is_written_in_the_format_that_is_asked_for(rag, text_format):
    context = rag.context("how does login work", token_budget=600, format=text_format)
    beginnings = {"markdown": "# Context: how", "xml": "<context question=", "json": '{"question":'}
    assert context.text.startswith(beginnings[text_format])
    assert context.tokens == count_tokens(context.text) <= 600


@pytest.mark.parametrize("token_budget", [0, 199, 1_000_001])
def test_a_budget_out_of_range_is_refused(rag, token_budget):
    with pytest.raises(InvalidQueryError, match="token_budget"):
        rag.context("x", token_budget=token_budget)


def test_an_answer_has_citations_that_hold_on_disk(rag):
    answer = rag.ask("how does login work")
    assert isinstance(answer, Answer)
    assert answer.generator == "extractive"
    assert answer.verified == answer.total == len(answer.citations) > 0
    for citation in answer.citations:
        assert citation.verified
        assert len((rag.root / citation.path).read_text().split("\n")) >= citation.end_line
        assert citation.location in answer.text
    assert answer.hits
    assert "auth/session.py" in {citation.path for citation in answer.citations}


def test_the_hash_of_a_citation_is_that_of_its_lines(rag):
    citation = next(one for one in rag.ask("hash_password").citations if one.path == "auth/passwords.py")
    lines = (
        (rag.root / citation.path).read_bytes().splitlines(keepends=True)[citation.start_line - 1 : citation.end_line]
    )
    hashes = {hashlib.sha256(text).hexdigest() for text in (b"".join(lines), b"".join(lines).rstrip(b"\n"))}
    assert citation.hash in hashes


def test_lines_that_have_changed_are_cited_as_they_are_now(own):
    own.index()
    (own.root / "a.py").write_text("# moved down\n\ndef hash_password(text):\n    pass\n")
    answer = own.ask("hash_password")
    assert answer.verified == answer.total > 0
    assert "a.py:3" in answer.text


async def test_asking_within_a_running_event_loop(rag):
    assert rag.ask("how does login work").total > 0


async def test_asking_without_blocking_the_loop(rag):
    answers = await asyncio.gather(rag.aask("how does login work"), rag.aask("hash_password"))
    assert [answer.query for answer in answers] == ["how does login work", "hash_password"]


# Generations


def test_an_open_repository_sees_the_next_generation(own):
    own.index()
    reader = CodeRAG(own.root)
    assert [hit.qualified_name for hit in reader.search("hash_password")] == ["hash_password"]
    (own.root / "b.py").write_text("def hash_password_twice(text):\n    return text\n")
    own.index()
    assert "hash_password_twice" in {hit.qualified_name for hit in reader.search("hash_password_twice")}
    assert reader.definition("hash_password_twice")


def test_an_open_repository_sees_an_index_that_was_deleted_and_made_again(own):
    own.index()
    reader = CodeRAG(own.root)
    assert reader.definition("hash_password")
    shutil.rmtree(own.root / ".coderag")
    (own.root / "a.py").write_text("def another_name(text):\n    return text\n")
    own.index()
    assert reader.definition("another_name")
    assert not reader.definition("hash_password")


def test_an_index_that_was_deleted_is_not_found(own):
    own.index()
    own.search("hash_password")
    shutil.rmtree(own.root / ".coderag")
    with pytest.raises(IndexNotFoundError):
        own.search("hash_password")


def test_two_objects_may_take_turns_indexing(own):
    other = CodeRAG(own.root)
    own.index()
    (own.root / "b.py").write_text("def b(): ...\n")
    assert other.index().generation == 2
    assert own.index().generation == 2
    assert own.definition("b")


# Opening


@pytest.mark.parametrize("call", ["search", "context", "ask", "definition", "callers", "callees", "impact"])
def test_before_indexing_every_question_says_what_to_do(own, call):
    with pytest.raises(IndexNotFoundError) as caught:
        getattr(own, call)("hash_password")
    assert "coderag index" in caught.value.hint


def test_before_indexing_the_status_says_what_to_do(own):
    with pytest.raises(IndexNotFoundError):
        own.status()


@pytest.mark.parametrize("content", [None, ("logo.png", b"\x89PNG\0"), ("empty.py", b"")])
def test_a_repository_without_code_can_be_asked(tmp_path, content):
    if content:
        (tmp_path / content[0]).write_bytes(content[1])
    rag = CodeRAG(tmp_path)
    rag.index()
    assert [hit.text for hit in rag.search("password")] in ([], [""])
    assert rag.context("password").tokens >= 0
    assert rag.ask("where is the password").verified == rag.ask("where is the password").total
    assert rag.definition("password") == []
    assert rag.status().fresh


def test_settings_may_be_given_whole_or_in_parts(tmp_path):
    (tmp_path / ".coderag.yaml").write_text("search: {top_k: 4}")
    assert CodeRAG(tmp_path).settings.search.top_k == 4
    assert CodeRAG(tmp_path, search={"top_k": 2}).settings.search.top_k == 2
    assert CodeRAG(tmp_path, settings=Settings()).settings.search.top_k == 10
    with pytest.raises(ConfigurationError):
        CodeRAG(tmp_path, settings=Settings(), search={"top_k": 2})


def test_the_index_may_live_elsewhere(tmp_path, home):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("def f(): ...\n")
    rag = CodeRAG(tmp_path / "repo", storage={"directory": "~/indexes/repo"})
    rag.index()
    assert not (tmp_path / "repo" / ".coderag").exists()
    assert rag.status().directory == str(home / "indexes" / "repo")


def test_what_cannot_be_opened_is_an_error_of_coderag(tmp_path):
    with pytest.raises(IngestionError, match="no such directory"):
        CodeRAG(tmp_path / "nowhere")
    assert issubclass(IngestionError, CodeRAGError)
