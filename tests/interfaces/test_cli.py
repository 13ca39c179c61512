"""Each command over a fake repository."""

import json

import pytest

from coderag.schema.search import Filters
from tests.interfaces.fake_app import FakeCodeRAG, make_hit

HIT_KEYS = [
    "chunk_id", "path", "start_line", "end_line", "kind", "name", "qualified_name", "signature", "summary", "language",
    "role", "score", "text", "signals", "channels", "duplicates",
]  # fmt: skip


def json_of(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


# --- search


def test_search_prints_a_stable_plain_list(coderag) -> None:
    result = coderag("search", "login", "--lines", "2")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout == (
        "src/auth/session.py:10-14  function auth.session.login  0.912\n"
        "    Open a session for a user whose password is right.\n"
        "    10  def login(user: str, password: str) -> Session:\n"
        '    11      """Open a session for a user whose password is right."""\n'
        "src/auth/session.py:98-101  block  0.912\n"
        "     98  def login(user: str, password: str) -> Session:\n"
        '     99      """Open a session for a user whose password is right."""\n'
    )


def test_search_without_lines_shows_the_signature_where_there_is_no_summary(coderag) -> None:
    lines = coderag("search", "login", "--lines", "0").stdout.splitlines()
    assert lines[1].strip() == "Open a session for a user whose password is right."
    assert lines[3].strip() == "def login(user: str, password: str) -> Session"
    assert len(lines) == 4


def test_the_code_shown_starts_where_the_name_stands(coderag, monkeypatch) -> None:
    hit = make_hit(text="@route\ndef relogin(): ...\n\ndef login():\n    pass\n")
    monkeypatch.setattr(FakeCodeRAG, "search", lambda *_, **__: [hit])
    assert coderag("search", "login", "--lines", "1").stdout.splitlines()[-1] == "    13  def login():"


def test_search_json_keys(coderag) -> None:
    result = json_of(coderag("search", "login", "--json"))
    assert list(result) == ["query", "root", "evidence", "confidence", "not_indexed", "notes", "hits"]
    assert [list(hit) for hit in result["hits"]] == [HIT_KEYS, HIT_KEYS]
    assert result["hits"][0]["path"] == "src/auth/session.py"
    assert result["hits"][0]["signals"] == {"definition": 0.5}


def test_words_need_no_quotes(coderag) -> None:
    coderag("ask", "how", "does", "login", "work")
    assert coderag.calls == [("ask", ("how does login work", None, None))]


def test_a_query_may_begin_with_a_dash_after_two(coderag) -> None:
    coderag("search", "--", "--json", "flag")
    assert coderag.calls[0][1][0] == "--json flag"


@pytest.mark.parametrize("command", ["search", "context", "ask"])
def test_a_dash_reads_the_query_from_stdin(coderag, command) -> None:
    coderag(command, "-", stdin=b"\xef\xbb\xbfwhere is \xc3\xa4 \xff\n")
    assert coderag.calls[0][1][0] == "where is ä \N{REPLACEMENT CHARACTER}"


def test_a_query_of_100_kilobytes_arrives_whole(coderag) -> None:
    coderag("search", "-", stdin="x" * 100_000)
    assert len(coderag.calls[0][1][0]) == 100_000


def test_bytes_that_are_no_text_do_not_reach_the_engine(coderag) -> None:
    coderag("search", b"caf\xe9".decode("utf-8", errors="surrogateescape"))
    assert coderag.calls[0][1][0] == "caf\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("arguments", [("search", ""), ("search", " "), ("search", "-"), ("ask", "")])
def test_an_empty_query_is_wrong_usage(coderag, arguments) -> None:
    result = coderag(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: the query is empty\n")


@pytest.mark.parametrize("command", ["search", "context", "ask"])
def test_filters_are_handed_on(coderag, command) -> None:
    coderag(
        command, "x", "-l", "Python", "--language", "rust", "-k", "class", "--kind", "method",
        "-p", "./src", "--path", "lib/**/*.py", "-r", "source", "--role", "test",
    )  # fmt: skip
    expected = Filters(("python", "rust"), ("class", "method"), ("src", "lib/**/*.py"), ("source", "test"))
    assert coderag.calls[0][1][2] == expected
    coderag(command, "x", "--path", "!tests", "--path", "./!odd.py", "--changed-since", "HEAD~3")
    assert coderag.calls[0][1][2] == Filters(paths=("!tests", "./!odd.py"), changed_since="HEAD~3")


def test_kinds_and_roles_are_taken_in_any_case_and_number(coderag) -> None:
    coderag("search", "x", "-k", "Classes", "-k", "Type-Alias", "-k", "functions", "-r", "Tests", "-r", "docs")
    expected = Filters(kinds=("class", "type_alias", "function"), roles=("test", "docs"))
    assert coderag.calls[0][1][2] == expected


@pytest.mark.parametrize(
    ("typed", "complexity"), [("5", 5), ("5..", 5), ("5..20", (5, 20)), ("..20", (0, 20)), (" 7 ", 7)]
)
def test_a_complexity_is_a_minimum_or_a_range(coderag, typed, complexity) -> None:
    coderag("search", "x", "--complexity", typed)
    assert coderag.calls[0][1][2] == Filters(complexity=complexity)


@pytest.mark.parametrize("typed", ["", "..", "a", "-1", "1..2..3", "1-2"])
def test_what_is_no_range_of_complexity_is_wrong_usage(coderag, typed) -> None:
    result = coderag("search", "x", f"--complexity={typed}")
    assert result.exit_code == 2
    assert "not a range" in result.stderr


def test_leaving_out_nothing_is_wrong_usage(coderag) -> None:
    result = coderag("search", "x", "--path", "!")
    assert result.exit_code == 2
    assert "'!tests'" in result.stderr


def test_an_empty_revision_is_wrong_usage(coderag) -> None:
    assert coderag("search", "x", "--changed-since", "").exit_code == 2


def test_top_k_and_budget_are_handed_on(coderag) -> None:
    coderag("search", "x", "-n", "3")
    assert coderag.calls[0][1] == ("x", 3, None)
    coderag("context", "x", "-b", "500")
    assert coderag.calls[0][1] == ("x", 500, None)
    coderag("ask", "x", "--budget", "600")
    assert coderag.calls[0][1] == ("x", 600, None)


def test_nothing_found_is_said_on_stderr_and_no_failure(coderag) -> None:
    result = coderag("search", "x", behaviour="nothing")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing found\n")
    assert coderag("search", "x", "-l", "cobol").stderr == "nothing found with these filters\n"
    assert json_of(coderag("search", "x", "--json"))["hits"] == []


def test_text_of_the_repository_cannot_command_the_terminal(coderag) -> None:
    result = coderag("search", "x", behaviour="hostile")
    assert not set(result.stdout) & {"\x1b", "\x07", "\x0c", "\x9b", "\r", "\u202e"}
    assert "a\\x1b[2Jb" in result.stdout
    assert "    11  c\\x0cd\\x9b31m\n" in result.stdout  # only a newline ends a line
    assert "x" * 240 + " ...\n" in result.stdout


# --- context and ask


def test_context_prints_the_text_and_tells_the_tokens_apart(coderag) -> None:
    result = coderag("context", "login")
    assert result.stdout.startswith("# Code\n\ndef login")
    assert result.stderr == "64 of 8,000 tokens; 1 result left out; evidence: found\n"


def test_context_in_a_pipe_is_exactly_the_text(coderag) -> None:
    assert coderag("context", "x", behaviour="hostile").stdout == "a\x1b[2Jb\n"


def test_context_json_keys(coderag) -> None:
    result = json_of(coderag("context", "login", "--json"))
    assert list(result) == [
        "query", "intent", "text", "sections", "tokens", "token_budget", "omitted", "evidence", "format", "shown",
        "shown_before", "confidence", "not_indexed", "notes",
    ]  # fmt: skip
    assert list(result["sections"][0]) == ["name", "items", "tokens"]
    assert list(result["sections"][0]["items"][0]) == [
        "chunk_id", "path", "start_line", "end_line", "title", "text", "tokens", "detail", "language", "relation",
        "related_to", "name", "kind", "url", "revision",
    ]  # fmt: skip
    assert list(result["omitted"][0]) == ["path", "start_line", "end_line", "title", "tokens", "fetch"]


def test_context_takes_a_format_and_a_session(coderag) -> None:
    assert coderag("context", "login", "--format", "xml", "--session", "chat").exit_code == 0
    assert ("context options", ("xml", "chat")) in coderag.calls


def test_context_prints_lines_of_files(coderag) -> None:
    result = coderag("context", "--file", "src/other.py:1-9", "--file", "a.py")
    assert result.stdout.startswith("# Code")
    assert ("read", (["src/other.py:1-9", "a.py"], None, "markdown")) in coderag.calls
    assert "evidence" not in result.stderr  # nothing was asked


def test_context_forgets_a_session(coderag) -> None:
    assert coderag("context", "--session", "chat", "--forget").stderr == "session chat: forgotten\n"
    assert coderag("context", "--session", "none", "--forget").stderr == "session none: not found\n"
    coderag("context", "login", "--session", "chat", "--forget")
    assert [call for call, _ in coderag.calls] == ["forget", "context options", "context"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("x", "--file", "a.py"),
        ("x", "--forget"),
        ("x", "--session", ""),
        ("--file", "a.py", "--session", "s"),
        ("--file", "a.py", "--role", "test"),
    ],
)
def test_context_refuses_what_does_not_go_together(coderag, arguments) -> None:
    result = coderag("context", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_ask_prints_markdown_and_the_verdict_on_its_citations(coderag) -> None:
    result = coderag("ask", "login")
    assert result.stdout.startswith(
        "The login checks the password with `verify` [src/auth/session.py:10-14].\n\n```python\n"
    )
    assert result.stdout.endswith("```\n\n1 of 1 quotation matches the files\n")
    assert result.stderr == ""


def test_ask_says_what_is_weak_and_what_is_not_verified(coderag) -> None:
    result = coderag("ask", "login", behaviour="weak")
    assert result.stdout.endswith("1 of 2 quotations match the files\n")
    weak = "evidence: weak (nearest results, not a certain answer)"
    assert result.stderr == f"not verified: src/old.py:1-2: the file has changed\n{weak}\n"
    nothing = coderag("ask", "login", behaviour="nothing")
    assert nothing.stderr == "evidence: not found (nothing relevant was found)\n"


def test_ask_json_keys(coderag) -> None:
    result = json_of(coderag("ask", "login", "--json"))
    assert list(result) == [
        "query", "intent", "text", "citations", "verified", "total", "evidence", "hits", "generator",
        "confidence", "not_indexed", "shape", "claims", "missing", "flagged", "redacted", "notes",
        "sections",
    ]  # fmt: skip
    assert list(result["citations"][0]) == [
        "path", "start_line", "end_line", "hash", "verified", "reason", "moved_from", "kind", "item", "revision", "url",
    ]  # fmt: skip
    assert list(result["hits"][0]) == HIT_KEYS


# --- the first question


@pytest.mark.parametrize("command", ["search", "context", "ask"])
def test_a_first_question_indexes_the_repository(coderag, command) -> None:
    result = coderag(command, "login", behaviour="unindexed")
    assert result.exit_code == 0
    assert [name for name, _ in coderag.calls] == [command, "index", command]
    assert "login" in result.stdout
    assert "indexed 1,204 files\n" in result.stderr
    assert "no index yet" in result.stderr
    assert "indexed 1,204" not in result.stdout


def test_a_first_question_waits_for_the_one_who_is_indexing(coderag) -> None:
    result = coderag("search", "login", behaviour="being-indexed")
    assert result.exit_code == 0
    assert [name for name, _ in coderag.calls] == ["search", "index", "index", "index", "search"]
    assert result.stderr.count("is being written by process 7; waiting for it\n") == 1
    assert "login" in result.stdout


def test_a_first_question_in_json_is_pure_on_both_streams(coderag) -> None:
    result = coderag("search", "login", "--json", behaviour="unindexed")
    assert json_of(result)["hits"]
    assert result.stderr == ""


@pytest.mark.parametrize("command", ["search", "context", "ask"])
def test_indexing_can_be_refused(coderag, command) -> None:
    result = coderag(command, "login", "--no-index", behaviour="unindexed")
    assert result.exit_code == 11
    assert [name for name, _ in coderag.calls] == [command]
    assert "is not indexed yet\nhint: " in result.stderr


# --- index and status


def test_index_prints_a_report(coderag, tmp_path) -> None:
    result = coderag("index")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.replace(str(tmp_path), "ROOT") == (
        "indexed ROOT\n"
        "  files       1,204 indexed, 5 skipped\n"
        "  changes     3 added, 1 changed, 1,200 unchanged\n"
        "  content     9,001 chunks, 4,200 symbols, 12,345 edges, 150,000 lines\n"
        "  skipped     4 binary\n"
        "              1 larger than 1,000,000 bytes\n"
        "  generation  3\n"
        "  seconds     0.57  (2,000 lines/s, 0.0 MB/s)\n"
    )


def test_index_profile_says_how_long_each_stage_took(coderag) -> None:
    assert coderag("index", "--profile").stdout.endswith(
        "  seconds     0.57  (2,000 lines/s, 0.0 MB/s)\n"
        "  stages      scan           0.021 s  (54,381 lines/s, 0.2 MB/s)\n"
        "              parse          0.500 s  (2,284 lines/s, 0.0 MB/s)\n"
        "              commit         0.050 s  (22,840 lines/s, 0.1 MB/s)\n"
        "  in workers  parse          0.800 s  (1,428 lines/s, 0.0 MB/s)\n"
        "              read           0.000 s\n"
    )


def test_index_says_that_it_switched_to_another_model_and_how_much_it_embedded(coderag) -> None:
    text = coderag("index", behaviour="switch").stdout
    assert "  vectors     9,001 made anew: the embedding model changed from a/b to c/d\n" in text
    result = json_of(coderag("index", "--json"))
    assert (result["embedded"], result["reembedded"]) == (9_001, "the embedding model changed from a/b to c/d")
    assert "vectors" not in coderag("index", behaviour="ok").stdout


def test_index_full_is_handed_on(coderag) -> None:
    coderag("index", "--full")
    assert coderag.calls == [("index", True)]


@pytest.mark.parametrize("arguments", [("index",), ("index", "--json")])
def test_a_partial_index_has_an_exit_code_of_its_own(coderag, arguments) -> None:
    result = coderag(*arguments, behaviour="partial")
    assert result.exit_code == 5
    assert "src/broken.py" in result.stdout
    assert "permission denied" in result.stdout


def test_index_json_keys(coderag, tmp_path) -> None:
    result = json_of(coderag("index", "--json"))
    assert list(result) == [
        "generation", "files", "chunks", "symbols", "edges", "lines", "added", "changed", "removed", "renamed",
        "unchanged", "skipped", "failed", "seconds", "worker_seconds",
        "elapsed_s", "searchable_s", "bytes_read", "lines_read", "embedded", "reembedded", "repaired", "root",
    ]  # fmt: skip
    assert result["root"] == tmp_path.as_posix()


def test_status_prints_what_is_indexed(coderag) -> None:
    text = coderag("status").stdout
    assert "  state      up to date\n" in text
    assert "  languages  python 1,200, rust 4\n" in text
    assert "  linked     imports, types and receivers of python, rust\n" in text
    assert "  failed     src/broken.py: permission denied\n" in text
    assert "  notes      src/odd.py: syntax error in line 3\n" in text


def test_status_says_what_is_out_of_date(coderag) -> None:
    text = coderag("status", behaviour="stale").stdout
    assert "out of date: 12 added, 1 changed (run 'coderag index')" in text
    assert "src/new_9.py" in text
    assert "src/new_10.py" not in text
    assert "... and 2 more (--json lists all)" in text


def test_status_says_that_another_model_is_configured(coderag) -> None:
    text = coderag("status", behaviour="switch").stdout
    assert "  state      out of date: 1 other embedding model (run 'coderag index')\n" in text
    assert "  embedding  embedded; configured is ollama/nomic\n" in text
    result = json_of(coderag("status", "--json"))
    assert (result["embedding"], result["configured"], result["fresh"]) == ("embedded", "ollama/nomic", False)


def test_status_json_keys(coderag) -> None:
    result = json_of(coderag("status", "--json", behaviour="stale"))
    assert list(result) == [
        "root", "directory", "generation", "created", "embedding", "files", "chunks", "symbols", "lines", "languages",
        "outcomes", "skipped", "failed", "notes", "added", "changed", "removed", "configured",
        "edges", "linked", "summarised", "to_summarise", "summarised_by", "restricted", "fresh",
    ]  # fmt: skip
    assert result["fresh"] is False
    assert len(result["added"]) == 12


def test_status_does_not_index(coderag) -> None:
    result = coderag("status", behaviour="unindexed")
    assert result.exit_code == 11
    assert [name for name, _ in coderag.calls] == ["status"]


# --- help and version


def test_version(coderag) -> None:
    result = coderag("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("coderag ")
    assert result.stdout == coderag("-V").stdout


@pytest.mark.parametrize("command", ["init", "index", "search", "context", "ask", "status", "doctor"])
def test_every_command_has_help_with_its_common_options(coderag, command) -> None:
    text = coderag(command, "--help").stdout
    assert all(option in text for option in ("--json", "--repo", "-C", "--debug", "--help"))


def test_without_arguments_the_help_is_shown(coderag) -> None:
    result = coderag()
    assert result.exit_code == 2
    assert "Commands:" in result.stdout + result.stderr
