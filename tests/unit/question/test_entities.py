import pytest

from coderag.question.entities import find_entities, looks_like_code, names_in


def entities(query):
    return [(entity["kind"], entity["text"]) for entity in find_entities(query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("the HttpClient retries", [("identifier", "HttpClient")]),
        ("why parse_request fails", [("identifier", "parse_request")]),
        ("what parseRequest does", [("identifier", "parseRequest")]),
        ("what login() does", [("identifier", "login")]),
        ("what `login` does", [("identifier", "login")]),
        ("the _cache", [("identifier", "_cache")]),
        ("in Session.login", [("qualified_name", "Session.login")]),
        ("in net::Session", [("qualified_name", "net::Session")]),
        ("what is cache.disk.max-age set to", []),
        ("in ptr->next", [("qualified_name", "ptr->next")]),
        ("in Array#map", [("qualified_name", "Array#map")]),
        ("`Session.login()` again", [("qualified_name", "Session.login")]),
        ("what is in shop/cart.py", [("path", "shop/cart.py")]),
        ("what is in cart.py", [("path", "cart.py")]),
        ('the message "index is locked"', [("quoted", "index is locked")]),
        ("the message 'index is locked'", [("quoted", "index is locked")]),
        ("see e.g. the password i.e. hash", []),
        ("the user's password and the server's key", []),
        ("plain words only", []),
        ("https://example.com/page", []),
    ],
)
def test_what_a_question_names(query, expected):
    assert entities(query) == expected


def test_a_place_is_found_with_its_line():
    assert ("location", "shop/cart.py:12") in entities("like shop/cart.py:12")


def test_parts_of_a_qualified_name_are_not_named_again():
    assert entities("Session.parse_request and parse_request") == [("qualified_name", "Session.parse_request")]


def test_a_name_that_is_said_twice_is_one_entity():
    assert entities("HttpClient or HttpClient") == [("identifier", "HttpClient")]


def test_a_fenced_block_is_a_snippet():
    assert ("snippet", "x = 1\n") in entities("code like\n```python\nx = 1\n```")


def test_lines_of_code_are_a_snippet_and_prose_is_not():
    assert looks_like_code("def f(x):\n    return x(1)")
    assert not looks_like_code("how does it work\nand why\nin detail")


def test_one_line_is_never_a_snippet():
    assert not looks_like_code("return total;")


def test_names_leave_out_paths_and_quotes():
    assert names_in(find_entities('Session.login in shop/cart.py says "no way"')) == ["Session.login"]
