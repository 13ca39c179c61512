import json

import pytest

from coderag.ingestion.parsing.chunking import parse_file
from coderag.text.token_counts import count_tokens


def parse_chunks(text, language, **limits):
    parsed_file = parse_file("app/settings", text, language, "config", **limits)
    assert "".join(chunk.text for chunk in parsed_file.chunks) == text
    return parsed_file


def symbols(text, language):
    return [
        (symbol["qualified_name"], symbol["start_line"], symbol["end_line"])
        for chunk in parse_chunks(text, language).chunks
        for symbol in chunk.metadata["symbols"]
    ]


def outline(text, language):
    return [
        (chunk.metadata["kind"], chunk.metadata["qualified_name"], chunk.text.split("\n", 1)[0])
        for chunk in parse_chunks(text, language).chunks
    ]


def settings(names, size):
    return {name: {f"{name}_{number}": "some value or other" for number in range(size)} for name in names}


# --- What is a symbol


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", "a:\n  b: 1\n  # of b\n\n# above c\nc:\n  d: 2\n"),
        ("toml", "[a]\nb = 1\n# of b\n\n# above c\n[c]\nd = 2\n"),
    ],
)
def test_an_entry_ends_before_the_comment_of_the_next_one(language, text):
    assert [(name, end) for name, _, end in symbols(text, language)] == [
        ("a", 3 if language == "yaml" else 2),
        ("c", 7),
    ]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("json", '{\n  "a": 1,\n  "b": {"c": 2},\n  "d": []\n}\n'),
        ("yaml", "a: 1\nb: {c: 2}\nd: |\n  text\n"),
        ("toml", "a = 1\nb = {c = 2}\n[d]\n"),
    ],
)
def test_scalars_and_single_line_entries_are_not_symbols(language, text):
    assert symbols(text, language) == []


def test_entries_below_two_levels_are_not_symbols():
    text = json.dumps({"a": {"b": {"c": {"d": {}}}}, "components": {"schemas": {"User": {"type": 1}}}}, indent=2)
    assert [name for name, *_ in symbols(text, "json")] == [
        "a",
        "a.b",
        "components",
        "components.schemas",
        "components.schemas.User",
    ]


@pytest.mark.parametrize("records", [100, 600])
def test_table_records_are_not_symbols(records):
    text = json.dumps({"packages": settings([f"p{number}" for number in range(records)], 1)}, indent=1)
    assert len(symbols(text, "json")) == (1 + records if records == 100 else 1)


def test_arrays_and_single_line_records_have_no_symbols():
    record = json.dumps({"place": {"lat": 1}}, indent=1)
    assert symbols(f"[{record}, {record}]", "json") == []
    assert symbols(f"{record}\n" * 3, "jsonl") == []


def test_large_data_file_is_split_by_lines_without_symbols():
    parsed_file = parse_chunks(json.dumps(settings([f"p{number}" for number in range(200)], 20), indent=1), "json")
    assert {chunk.metadata["kind"] for chunk in parsed_file.chunks} == {"block"}
    assert not any(chunk.metadata["symbols"] for chunk in parsed_file.chunks)


def test_dockerfile_stage_extends_to_the_next():
    text = "FROM a AS b\nRUN c\n\n# Last.\nFROM d\nRUN e\n\nRUN f"
    assert symbols(text, "dockerfile") == [("b", 1, 2), ("d", 5, 8)]
    assert parse_chunks(text, "dockerfile").note == ""


def test_json_comments_and_trailing_commas_are_accepted():
    assert parse_chunks('// Why.\n{\n  "a": [\n    1, /* one */\n  ],\n}\n', "json").note == ""


@pytest.mark.parametrize("opening", ["- ", "? ", "- ? "])
def test_deeply_nested_yaml_is_split_by_lines(opening):
    indented = "".join(f"{' ' * depth}k{depth}:\n" for depth in range(300))
    for text in (opening * 300 + "\n", indented):
        assert "nested too deep" in parse_chunks(text, "yaml").note


def test_moderately_nested_yaml_is_parsed():
    indented = "".join(f"{' ' * depth}k{depth}:\n" for depth in range(98))
    assert parse_chunks(f"{indented}{' ' * 98}- {'long - ' * 40}\n", "yaml").note == ""


# --- What belongs together


@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"]])
def test_data_file_is_split_at_entries_with_their_braces(names):
    text = json.dumps(settings(names, 20), indent=2)
    chunks = parse_chunks(text, "json").chunks
    assert [chunk.metadata["qualified_name"] for chunk in chunks] == names
    assert chunks[0].text.startswith('{\n  "one": {\n')
    assert chunks[-1].text.endswith("  }\n}")


def test_large_entry_is_split_and_parts_have_a_parent():
    web, store = settings(["web"], 25)["web"], settings(["store"], 25)["store"]
    text = json.dumps({"version": 3, "services": {"web": web, "store": store}}, indent=2)
    first, second = (chunk.metadata for chunk in parse_chunks(text, "json").chunks)
    assert (first["qualified_name"], first["start_line"]) == ("services.web", 1)
    assert (second["qualified_name"], second["parent"], second["context"]) == (
        "services.store",
        "services",
        '"services":',
    )


def test_small_entries_are_merged_and_small_file_has_its_own_name():
    assert outline("version: 1\n\nvolumes:\n  a: 1\n\nnetworks:\n  b: 1\n", "yaml") == [
        ("module", "app/settings", "version: 1")
    ]


def test_document_separator_joins_the_next_document():
    document = "".join(f"  key_{number}: some value or other\n" for number in range(20))
    text = f"kind: Service\nmetadata:\n  name: web\nspec:\n{document}"
    assert outline(f"---\n{text}---\n{text.replace('Service', 'Job')}", "yaml") == [
        ("resource", "Service.web", "---"),
        ("resource", "Job.web", "---"),
    ]


def test_large_entry_without_parts_is_split_within_the_limit():
    text = json.dumps({"dependencies": {f"package-{number}": f"^{number}.0.0" for number in range(300)}}, indent=2)
    chunks = parse_chunks(text, "json", max_tokens=400).chunks
    assert len(chunks) > 5
    assert all(count_tokens(chunk.text) <= 400 for chunk in chunks)
    assert {chunk.metadata["qualified_name"] for chunk in chunks} == {"dependencies"}
    assert {chunk.metadata["complexity"] for chunk in chunks} == {0}
