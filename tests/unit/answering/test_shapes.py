import pytest
from coderag.answering.shapes import choose_shape

from coderag.question.analysis import analyze
from tests.support.graphs import state

QUESTIONS = {
    "where is Session.login defined": "definition",
    "show me `Session`": "definition",
    "who calls login": "usages",
    "what extends Base": "usages",
    "what tests login": "usages",
    "what breaks if login changes": "usages",
    "what happens when I change login": "usages",
    "flow from wsgi_app to dispatch_request": "flow",
    "path between wsgi_app and dispatch_request": "flow",
    "how does a request get from wsgi_app to dispatch_request?": "flow",
    "how does wsgi_app reach dispatch_request": "flow",
    "what happens when a request is handled": "flow",
    "walk me through the login": "flow",
    "difference between Group and Command": "comparison",
    "Group vs Command": "comparison",
    "compare json.dumps with orjson.dumps": "comparison",
    "when to use Option or Argument": "comparison",
    "how does Flask differ from Blueprint?": "comparison",
    "Group or Command?": "comparison",
    "how does the cache work": "explanation",
    "how do I convert from JSON to YAML": "explanation",
    "compare two versions": "explanation",
    "what do the docs say about proxies": "explanation",
    "settings of the repository": "explanation",
}


def found(query, **values):
    return state(query, results=[{"chunk_id": "c"}], **values)


@pytest.mark.parametrize("query", QUESTIONS)
def test_the_shape_follows_what_is_asked_and_how(query):
    assert choose_shape(found(query)) == QUESTIONS[query]


@pytest.mark.parametrize("query", QUESTIONS)
def test_what_is_not_found_has_that_shape_whatever_was_asked(query):
    assert choose_shape(found(query, evidence="not_found")) == "not_found"
    assert choose_shape(state(query, results=[])) == "not_found"


def test_a_report_of_a_problem_is_explained_although_it_names_two_versions():
    report = (
        "Crash when switching from 1.0 to 2.0\n\nSteps to reproduce: run `main` with both.\n\n"
        'Traceback (most recent call last):\n  File "src/app.py", line 3, in main\n    run()\nValueError: no\n'
    )
    assert choose_shape(found(report)) == "explanation"


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("what is the difference between `Session.login` and `Session.logout`?", ("Session.login", "Session.logout")),
        ("difference between the Group class and a Command", ("Group", "Command")),
        ("should I use a Group or a Command?", ("Group", "Command")),
        ("click.Group vs. click.Command", ("click.Group", "click.Command")),
        ("how is Option different from Argument in this repository", ("Option", "Argument")),
    ],
)
def test_the_sides_of_a_comparison_are_taken_without_articles_kinds_and_quotes(question, sides):
    assert tuple(analyze(question)["reading"]["ends"]) == sides


@pytest.mark.parametrize("question", ["Group vs group", "compare it with this", "is a vs b c d e f g h i j k"])
def test_what_has_no_two_sides_is_no_comparison(question):
    assert choose_shape(found(question)) != "comparison"


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ("flow from `wsgi_app` to the dispatch_request method", ("wsgi_app", "dispatch_request")),
        ("how does a request reach handlers from ServeHTTP to Next", ("ServeHTTP", "Next")),
        ("how does main get to Context.invoke?", ("main", "Context.invoke")),
        ("what happens when a request comes in", None),
    ],
)
def test_the_ends_of_a_flow_are_taken_from_the_question(question, ends):
    assert analyze(question)["reading"]["ends"] == list(ends or ())
