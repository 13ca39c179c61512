import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import InvalidQueryError
from coderag.question.analysis import analyze
from coderag.question.question_text import MAX_QUERY_BYTES
from coderag.text.tokenizer import tokenize_query
from tests.support.names import DeclaredNames

NAMES = DeclaredNames(
    *(
        "Session",
        "Session.login",
        "login",
        "parse_request",
        "round_up",
        "HttpClient",
        "For",
        "Store",
        "Base",
        "BaseHandler",
    ),
    *("Cart", "Cart.total", "show", "use", "each", "invoices"),
)
SNIPPET = "for item in items:\n    total += item.price\nreturn total;"

QUESTIONS = [
    # A bare name asks for its definition.
    ("Session.login", "find_definition", "Session.login"),
    ("net::Session", "find_definition", "net::Session"),
    ("parse_request", "find_definition", "parse_request"),
    ("parseRequest()", "find_definition", "parseRequest"),
    ("`HttpClient`", "find_definition", "HttpClient"),
    ("_hidden", "find_definition", "_hidden"),
    ("Array#map", "find_definition", "Array#map"),
    ("shop/cart.py:12", "find_definition", ""),
    ("shop/cart.py:12-40", "find_definition", ""),
    ("shop/cart.py:12:5", "find_definition", ""),
    ("what is at shop/cart.py:12-40?", "find_definition", ""),
    ("where is Session defined", "find_definition", "Session"),
    ("Where is the function `parse_request` declared?", "find_definition", "parse_request"),
    ("show me HttpClient", "find_definition", "HttpClient"),
    ("show me the class HttpClient", "find_definition", "HttpClient"),
    ("go to Session.login", "find_definition", "Session.login"),
    ("definition of round_up", "find_definition", "round_up"),
    ("what is HttpClient?", "find_definition", "HttpClient"),
    ("who calls Session.login", "find_usage", "Session.login"),
    ("who uses `round_up`?", "find_usage", "round_up"),
    ("what imports shop.money", "find_usage", "shop.money"),
    ("which functions call parse_request", "find_usage", "parse_request"),
    ("callers of login()", "find_usage", "login"),
    ("all usages of the class Session", "find_usage", "Session"),
    ("where is round_up used", "find_usage", "round_up"),
    ("what breaks if I change Session.login", "find_usage", "Session.login"),
    ("what breaks if Session changes", "find_usage", "Session"),
    ("impact of renaming round_up", "find_usage", "round_up"),
    ("where do we call `round_up`?", "find_usage", "round_up"),
    ("find all calls to Session.login()", "find_usage", "Session.login"),
    ("show me all callers of src/web-shop/cart.py::Cart.total", "find_usage", "src/web-shop/cart.py::Cart.total"),
    ("call sites of Cart.#total", "find_usage", "Cart.#total"),
    ("who instantiates Session", "find_usage", "Session"),
    ("what creates Session", "find_usage", "Session"),
    ("where is Session created?", "find_usage", "Session"),
    ("functions that use round_up", "find_usage", "round_up"),
    ("is round_up used anywhere", "find_usage", "round_up"),
    ("is round_up unused?", "find_usage", "round_up"),
    ("can I safely delete round_up", "find_usage", "round_up"),
    ("does anyone still call round_up", "find_usage", "round_up"),
    ("what is affected by a change of `round_up`", "find_usage", "round_up"),
    ("what would break if we remove Session", "find_usage", "Session"),
    ("what happens if I rename round_up", "find_usage", "round_up"),
    ("who calls For", "find_usage", "For"),
    ("who calls `in`", "find_usage", "in"),
    ("overrides of Cart.total", "hierarchy", "Cart.total"),
    ("where is Cart.total overridden", "hierarchy", "Cart.total"),
    ("classes extending Base", "hierarchy", "Base"),
    ("show me implementations of Store", "hierarchy", "Store"),
    ("what creates sessions", "general", ""),
    ("what implements Store", "hierarchy", "Store"),
    ("which classes extend Base", "hierarchy", "Base"),
    ("subclasses of Session", "hierarchy", "Session"),
    ("class tree of BaseHandler", "hierarchy", "BaseHandler"),
    ("what inherits from Session", "hierarchy", "Session"),
    ("base classes of Cart", "hierarchy", "Cart"),
    ("what tests round_up", "find_tests", "round_up"),
    ("which tests cover Session.login", "find_tests", "Session.login"),
    ("unit tests for the class Cart", "find_tests", "Cart"),
    ("how is login tested", "find_tests", "login"),
    ("how do I write a test for a downloader", "understand_module", ""),
    ("add a unit test for Session.login", "general", "Session.login"),
    ("how does the login flow work", "understand_module", ""),
    ("explain the flow from request to response", "understand_module", ""),
    ("walk me through authentication", "understand_module", ""),
    ("why is the cache invalidated", "understand_module", ""),
    ("what happens when a user logs in", "understand_module", ""),
    ("code like shop/cart.py:12", "find_similar", ""),
    ("functions similar to this:\n```python\ndef f(x):\n    return x\n```", "find_similar", ""),
    (SNIPPET, "find_similar", "item.price"),
    ("similar implementations to the retry loop", "find_similar", ""),
    ("what do the docs say about caching", "documentation", ""),
    ("according to the readme, how is it installed", "documentation", ""),
    ("where is rate limiting documented", "documentation", ""),
    ("which ticket introduced rate limiting", "backlog", ""),
    ("open user stories about login", "backlog", ""),
    ("what is in the backlog", "backlog", ""),
    ("password hashing", "general", ""),
    ("retry with exponential backoff", "general", ""),
    ("数据库连接", "general", ""),
    ("数据库连接在哪里", "general", ""),
]


@pytest.mark.parametrize(("query", "intent", "name"), QUESTIONS, ids=[question[:40] for question, *_ in QUESTIONS])
def test_a_question_means_an_intent_and_a_name(query, intent, name):
    analysis = analyze(query, names=NAMES)
    named = [entity["text"] for entity in analysis["entities"] if entity["kind"] in ("identifier", "qualified_name")]
    assert analysis["intent"] == intent
    assert named[:1] == ([name] if name else [])


@pytest.mark.parametrize("query", ["", " ", "\n\t", "?", "*" * 500, "🙂"])
def test_a_question_without_words_is_refused_with_a_hint(query):
    with pytest.raises(InvalidQueryError) as refused:
        analyze(query)
    assert refused.value.hint


def test_a_question_of_the_longest_size_is_taken_and_a_longer_one_refused():
    longest = "parse " * (MAX_QUERY_BYTES // 6)
    assert analyze(longest)["terms"]
    with pytest.raises(InvalidQueryError, match="64,000"):
        analyze(longest + "parse ")


def test_the_limit_counts_bytes_not_characters():
    with pytest.raises(InvalidQueryError, match="bytes"):
        analyze("数" * (MAX_QUERY_BYTES // 3 + 1))


def test_a_question_of_stop_words_alone_is_searched_for_as_it_is():
    assert analyze("what is it")["terms"]


def test_a_chinese_question_has_english_terms():
    assert analyze("数据库连接")["terms"] == tokenize_query("database connection")


def test_terms_of_a_question_about_one_name_are_those_of_the_name():
    assert analyze("who calls Session.login in this code base")["terms"] == tokenize_query("Session.login")


def test_terms_of_a_question_about_a_behaviour_are_those_of_the_whole_question():
    assert analyze("how are passwords hashed")["terms"] == ["password", "hash"]


@pytest.mark.parametrize(
    ("query", "about_tests"),
    [("what tests round_up", True), ("how is the mock server started", True), ("latest attestation", False)],
)
def test_questions_about_tests_are_known(query, about_tests):
    assert analyze(query)["about_tests"] is about_tests


@pytest.mark.parametrize(("query", "alone"), [("Session.login", True), ("login", False), ("find Session.login", False)])
def test_a_question_that_is_nothing_but_an_identifier_is_a_symbol_query(query, alone):
    assert analyze(query)["symbol_query"] is alone


def test_the_parts_of_a_name_are_not_asked_for():
    assert [entity["text"] for entity in analyze("who calls `src/shop/cart.py::round_up`")["entities"]] == [
        "src/shop/cart.py::round_up"
    ]


def test_a_stop_word_is_no_name():
    assert analyze("who calls it")["entities"] == []


@pytest.mark.parametrize("question", ["is show unused", "can I delete show", "who calls use", "is `each` used"])
def test_a_usual_name_of_a_function_is_a_name_although_a_stop_word(question):
    name = next(word for word in ("show", "use", "each") if word in question.split() or f"`{word}`" in question)
    assert [entity["text"] for entity in analyze(question, names=NAMES)["entities"]] == [name]


@given(st.text(max_size=200))
def test_any_text_is_analysed_or_refused(query):
    try:
        analysis = analyze(query)
    except InvalidQueryError:
        return
    assert analysis["terms"] or analysis["literals"]
    assert 0 < analysis["confidence"] <= 1
    assert all(entity["text"] for entity in analysis["entities"])


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("is round_up unused", "name"),
        ("is it safe to remove round_up", "name"),
        ("does any code use round_up?", "name"),
        ("which functions are never called", "list"),
        ("find dead code in src/", "list"),
        ("are there unused classes in src/app.py", "list"),
        ("functions that are not used anywhere", "list"),
        ("what is safe to remove in src/app.py", "list"),
        ("what can I safely delete from src/app.py?", "list"),
        ("which functions in src/app.py can be removed without breaking anything", "list"),
        ("find functions nobody calls", "list"),
        ("which methods does nothing use", "list"),
        ("functions without callers", "list"),
        ("is there anything unused in src/app.py", "list"),
        ("which of the functions in src/app.py are unused", "list"),
        ("is round_up safe to delete", "name"),
        ("can round_up be removed safely?", "name"),
        ("could I remove round_up without breaking anything", "name"),
        ("would removing round_up break anything", "name"),
        ("do we still need round_up", "name"),
        ("does round_up have any callers", "name"),
        ("is anything calling round_up", "name"),
        ("is the table invoices used", "name"),
        ("how does dead code elimination work", ""),
        ("can I delete a branch", ""),
        ("can files be deleted by users", ""),
        ("what does delete remove", ""),
        ("does the cache have a limit", ""),
        ("do we use redis", ""),
        ("how do I remove unused imports", ""),
        ("what breaks if I delete round_up", ""),
        ("who calls round_up", ""),
    ],
)
def test_questions_about_unused_code_are_told_from_others(question, kind):
    assert analyze(question, names=DeclaredNames("round_up", "invoices")).get("about_unused") == kind
