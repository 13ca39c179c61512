import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.stores.arrow import to_symbol_list_array
from coderag.stores.symbol_table import SymbolTable, fold_name, split_qualified


def symbol(qualified_name, kind="function", line=1):
    return {
        "name": qualified_name.rsplit(".", 1)[-1],
        "qualified_name": qualified_name,
        "kind": kind,
        "start_line": line,
        "end_line": line + 2,
    }


@pytest.fixture(scope="module")
def table():
    return SymbolTable(
        to_symbol_list_array(
            [
                [symbol("Session", "class"), symbol("Session.login", "method", 3)],
                [symbol("login"), symbol("max_size", "constant", 8)],
                [symbol("Outer.Inner.run", "method")],
                [symbol("MaxSize", "class")],
            ]
        ),
        [["net", "session"], ["web", "auth"], ["deep", "nested"], ["web", "limits"]].__getitem__,
    )


def find_names(table, name):
    return [(match.qualified_name, match.quality) for match in table.find(name)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.b", ["a", "b"]),
        ("a::b", ["a", "b"]),
        ("a->b", ["a", "b"]),
        ("a#b", ["a", "b"]),
        ("a\\b", ["a", "b"]),
        ("a/b.c", ["a", "b", "c"]),
        ("a.b()", ["a", "b"]),
        ("&a::b", ["a", "b"]),
        ("std::vector", ["std", "vector"]),
        ("", []),
        ("::", []),
    ],
)
def test_qualified_name_is_split_at_any_separator(name, parts):
    assert split_qualified(name) == parts


@pytest.mark.parametrize(
    "name", ["Session.login", "Session::login", "Session->login", "Session#login", "session.login()"]
)
def test_qualified_name_prefers_its_scope(table, name):
    assert find_names(table, name) == [("Session.login", 1.0), ("login", 0.8)]


def test_plain_name_matches_every_scope(table):
    assert {name for name, quality in find_names(table, "login") if quality == 1} == {"Session.login", "login"}


@pytest.mark.parametrize("name", ["auth.login", "web.auth.login", "web::login", "web/auth.login"])
def test_folders_and_file_qualify_a_name(table, name):
    assert find_names(table, name)[0] == ("login", 1.0)


@pytest.mark.parametrize("name", ["Inner.run", "Outer.Inner.run", "Outer.run", "deep.nested.Outer.Inner.run"])
def test_suffix_of_the_scopes_suffices(table, name):
    assert find_names(table, name) == [("Outer.Inner.run", 1.0)]


def test_file_named_like_a_class_does_not_qualify_others():
    members = [symbol("Token.login", "method"), symbol("Session.login", "method", 9)]
    assert find_names(SymbolTable(to_symbol_list_array([members]), lambda _: ["net", "session"]), "Session.login") == [
        ("Session.login", 1.0),
        ("Token.login", 0.8),
    ]


def test_other_scope_matches_with_lower_quality(table):
    assert find_names(table, "Nowhere.run") == [("Outer.Inner.run", 0.8)]


@pytest.mark.parametrize("name", ["MAX_SIZE", "maxSize", "maxsize", "max__size"])
def test_folded_spellings_match(table, name):
    assert find_names(table, name) == [("max_size", 0.7), ("MaxSize", 0.7)]


@pytest.mark.parametrize("name", ["max_size", "MaxSize"])
def test_exact_spelling_hides_folded_ones(table, name):
    assert find_names(table, name) == [(name, 1.0)]


def test_folded_spelling_in_another_scope_is_least_certain(table):
    assert find_names(table, "Nowhere.maxSize")[0][1] == 0.5


@pytest.mark.parametrize("name", ["", "()", "nothing_like_it", "log"])
def test_undeclared_name_has_no_matches(table, name):
    assert table.find(name) == []


def test_match_has_row_kind_and_lines(table):
    match = table.find("Session.login")[0]
    assert (match.row, match.kind, match.start_line, match.end_line) == (0, "method", 3, 5)


def test_find_kind_returns_the_kind_of_a_member(table):
    assert table.find_kind(0, "Session.login") == "method"
    assert table.find_kind(1, "Session.login") == ""
    assert table.find_kind(0, "") == ""


@pytest.mark.parametrize(
    ("name", "suggested"), [("sesion", "Session"), ("Session.logn", "login"), ("maxsiz", "max_size")]
)
def test_misspelt_name_suggests_the_right_one(table, name, suggested):
    assert suggested in table.suggest_names(name)


def test_near_spelling_suppresses_far_guesses():
    table = SymbolTable(
        to_symbol_list_array([[symbol("set_art"), symbol("__setattr__"), symbol("start")]]), lambda _: ()
    )
    assert table.suggest_names("set_artt") == ["set_art", "__setattr__"]


@pytest.mark.parametrize(("name", "suggested"), [("sess", "Session"), ("mxsz", "max_size"), ("Session.logi", "login")])
def test_abbreviated_name_suggests_the_full_one(table, name, suggested):
    assert suggested in table.suggest_names(name)


def test_spellings_have_qualities(table):
    (suggested,) = table.find_spellings("Sesion")
    assert suggested.word == "Session"
    assert 0.8 <= suggested.quality < 1


@pytest.mark.parametrize("name", ["", "photosynthesis"])
def test_dissimilar_name_has_no_suggestions(table, name):
    assert table.suggest_names(name) == []


def test_len_counts_declarations(table):
    assert len(table) == 6
    assert len(SymbolTable(to_symbol_list_array([]), lambda _: [])) == 0


NAMES = st.text(st.sampled_from("abcXYZ_"), min_size=1, max_size=8).filter(lambda name: name.strip("_"))


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_every_declared_name_matches_with_certainty(names):
    table = SymbolTable(to_symbol_list_array([[symbol(name) for name in names]]), lambda _: [])
    for name in names:
        assert [match.qualified_name for match in table.find(name)] == [name]


@given(NAMES, st.randoms())
def test_folding_ignores_case_and_underscores(name, random):
    respelt = "_".join(random.choice([letter.upper(), letter.lower()]) for letter in name)
    assert fold_name(respelt) == fold_name(name)


def test_type_precedes_its_implementations():
    implementations = [symbol("Lock", "impl", 5), symbol("Lock", "impl", 9)]
    table = SymbolTable(to_symbol_list_array([implementations, [symbol("Lock", "struct", 20)]]), lambda row: ())
    assert [(match.kind, match.quality) for match in table.find("Lock")] == [
        ("struct", 1.0),
        ("impl", 0.9),
        ("impl", 0.9),
    ]
