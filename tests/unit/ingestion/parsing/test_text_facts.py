"""What documents mention, and what files of configuration say of modules."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.parsing.text_facts import read_module_settings, read_text_facts
from coderag.schema.facts import Mention


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("Session.login", "Session.login"),
        ("Session.login()", "Session.login"),
        ("login(user, 1)", "login"),
        ("Session::login", "Session.login"),
        ("Session#login", "Session.login"),
        ("~pkg.Session", "pkg.Session"),
        ("  login  ", "login"),
        ("größe", "größe"),
    ],
)
def test_names_in_inline_code_are_mentions(code: str, name: str) -> None:
    assert read_text_facts(f"Text.\n\nCall `{code}` here.\n", "markdown").mentions == [Mention(name, 3)]
    assert read_text_facts(f"Call ``{code}``.\n", "rst").mentions == [Mention(name, 1)]


@pytest.mark.parametrize(
    "text", ["login", "`ab`", "`a b`", "`--flag`", "`x = 1`", "`", "`" * 50, "`1.2`", "`a/b.py`", ""]
)
def test_text_outside_code_has_no_mentions(text: str) -> None:
    assert read_text_facts(text, "markdown").mentions == []


def test_mention_is_recorded_at_its_first_line() -> None:
    facts = read_text_facts("`one` `two`\n`one`\n", "markdown")
    assert facts.mentions == [Mention("one", 1), Mention("two", 1)]


@pytest.mark.parametrize(
    ("language", "text", "settings"),
    [
        (
            "json",
            '{\n  // where\n  "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"],}, "strict": true},\n}',
            {"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}},
        ),
        (
            "json",
            '{"name": "shop", "main": "a.js", "scripts": {}, "version": "1"}',
            {"name": "shop", "main": "a.js"},
        ),
        ("json", '{"name": "shop", "version": "1"}', {"name": "shop"}),
        ("json", '{"name": "a person"}', {}),
        ("json", '{"name": "@shop/kit"}', {"name": "@shop/kit"}),
        ("json", '{"main": "http://x/*y*/z"}', {"main": "http://x/*y*/z"}),
        ("json", '{"autoload": {"psr-4": {"A\\\\": "src"}, "files": []}}', {"autoload": {"psr-4": {"A\\": "src"}}}),
        ("json", '["name"]', {}),
        ("json", '{"name": ', {}),
        ("json", '{"main":' + "[" * 100_000, {}),
        ("json", '{"compilerOptions": []}', {}),
        (
            "toml",
            '[package]\nname = "shop"\nversion = "1"\n[dependencies]\nkit = {path = "../kit"}\nserde = "1"\n',
            {"package": {"name": "shop"}, "dependencies": {"kit": {"path": "../kit"}}},
        ),
        ("toml", '[workspace]\nmembers = ["a", "b"]\n', {"workspace": {"members": ["a", "b"]}}),
        ("toml", "[project]\nname = 'x'\n", {}),
        ("toml", "[package]\nname = ", {}),
        (
            "text",
            "module example.com/shop\n\ngo 1.22\n\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n\nreplace github.com/a/b => ../b\n",
            {
                "go_module": "example.com/shop",
                "go_required": ["github.com/a/b"],
                "replaced": {"github.com/a/b": "../b"},
            },
        ),
        ("text", "module of the system\n", {}),
        ("text", "nothing at all", {}),
        (
            "xml",
            '<Project Sdk="x"><ItemGroup><Using Include="A.B" /></ItemGroup></Project>',
            {"project_usings": ["A.B"]},
        ),
        ("xml", "<html></html>", {}),
    ],
)
def test_module_settings_are_read_from_configuration(language: str, text: str, settings: dict[str, object]) -> None:
    assert read_module_settings(text, language) == settings
    assert read_text_facts(text, language).settings == settings


def test_large_generated_files_have_no_module_settings() -> None:
    assert read_text_facts(json.dumps({"main": "x" * 300_000}), "json").settings == {}


@given(st.text(max_size=80), st.sampled_from(["json", "toml", "text", "xml", "markdown"]))
def test_arbitrary_text_does_not_fail(text: str, language: str) -> None:
    read_text_facts(text, language)
    read_text_facts(f"[package]\n{text}", language)
    read_text_facts(f'{{"main": {text}}}', language)


def test_line_of_slashes_is_not_a_go_module():
    assert read_module_settings("/" * 80 + "\n//\n// Fast Multimedia Library\n" * 9, "objective_c") == {}
