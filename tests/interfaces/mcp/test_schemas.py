"""Schemas are short, and mean what pydantic's mean."""

import jsonschema
import pytest
from pydantic import BaseModel, Field, ValidationError

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.interfaces.mcp.cleaner import Cleaner, fence_code
from coderag.interfaces.mcp.paging import fetch_page
from coderag.interfaces.mcp.paths import normalize_place, strip_line_range
from coderag.interfaces.mcp.schemas import compact_schema
from coderag.text.code_fences import format_code_span


class Inner(BaseModel):
    """An inner one."""

    title: str = Field(description="What it is called.")


class Outer(BaseModel):
    """An outer one."""

    once: Inner
    many: list[Inner] = []


class Flat(BaseModel):
    only: Inner


def test_definition_that_is_used_once_is_put_in_its_place():
    assert compact_schema(Flat.model_json_schema()) == {
        "type": "object",
        "properties": {
            "only": {
                "type": "object",
                "properties": {"title": {"description": "What it is called.", "type": "string"}},
                "required": ["title"],
            }
        },
        "required": ["only"],
    }


@pytest.mark.parametrize(("given", "is_valid"), [({"once": {"title": "a"}}, True), ({"once": {}}, False), ({}, False)])
def test_short_schema_accepts_what_the_long_one_does(given, is_valid):
    long, short = Outer.model_json_schema(), compact_schema(Outer.model_json_schema())
    assert len(str(short)) < len(str(long))
    for schema in (long, short):
        assert jsonschema.Draft202012Validator(schema).is_valid(given) is is_valid


def test_secrets_are_counted():
    cleaner = Cleaner(redact=True)
    assert "[secret removed:" in cleaner.clean_code('TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"')
    assert cleaner.secret_count == 1


def test_secrets_stay_where_the_repository_says_so():
    assert "ghp_" in Cleaner(redact=False).clean_code('TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"')


def test_names_are_one_line():
    assert Cleaner(redact=True).clean_line("a\n# heading\r\n b") == "a # heading b"
    assert len(Cleaner(redact=True).clean_line("x" * 1_000)) == 300


def test_nothing_ends_its_fence():
    assert fence_code("```\nx\n```", "md").startswith("````md\n")
    assert format_code_span("a`b") == "`` a`b ``"


@pytest.mark.parametrize(
    ("written", "place"),
    [("./src/a.py", "src/a.py"), ("src\\a.py:3", "src/a.py:3"), ("`a.py`", "a.py"), (" a.py:1-2 ", "a.py:1-2")],
)
def test_places_are_taken_as_models_write_them(tmp_path, written, place):
    assert normalize_place(tmp_path, written) == place
    assert normalize_place(tmp_path, f"{tmp_path.as_posix()}/a.py") == "a.py"


def test_place_without_lines_is_its_path():
    assert [strip_line_range(one) for one in ("a.py", "a.py:3", "a.py:3-9", "c:/x")] == ["a.py", "a.py", "a.py", "c:/x"]


def test_pages_have_no_result_twice_though_a_longer_search_orders_anew():
    pages = [fetch_page("abc", lambda _: "bacdefgh", lambda one: one, offset) for offset in (0, 3, 6)]
    assert ["".join(page) for page in pages] == ["abc", "def", "gh"]


def test_every_result_can_be_reached_by_an_offset() -> None:
    assert SearchArguments(query="cart", offset=MAX_RANKED_RESULTS - 1).offset == MAX_RANKED_RESULTS - 1
    with pytest.raises(ValidationError):
        SearchArguments(query="cart", offset=MAX_RANKED_RESULTS)
