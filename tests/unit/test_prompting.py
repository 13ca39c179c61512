from pathlib import Path

import pytest

from coderag import prompting
from coderag.errors import ConfigurationError
from coderag.prompting import Prompt, load_prompt

FOLDER = Path(__file__).parents[2] / "prompts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.md"))


@pytest.fixture
def written(monkeypatch):
    """Load a prompt from a text instead of a file."""

    def load(text):
        monkeypatch.setattr(prompting, "_read", lambda name: text)
        load_prompt.cache_clear()
        return load_prompt("written")

    yield load
    load_prompt.cache_clear()


def test_there_are_prompts():
    assert "answer" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_renders_with_exactly_its_variables(name):
    prompt = load_prompt(name)
    values = {variable: f"<the {variable}>" for variable in prompt.variables}
    text = prompt.render(**values).text
    assert all(value in text for value in values.values())
    assert "{{" not in text
    assert prompt.version >= 1


def test_a_missing_and_an_unknown_variable_are_refused():
    prompt = Prompt("p", 1, frozenset({"question"}), "{{question}}")
    for values in ({}, {"question": "q", "more": "m"}, {"other": "o"}):
        with pytest.raises(ConfigurationError, match="missing or unknown variables"):
            prompt.render(**values)


def test_braces_in_a_value_are_not_filled_in():
    prompt = Prompt("p", 1, frozenset({"question", "evidence"}), "{{question}} | {{ evidence }}")
    text = prompt.render(question="what is {{evidence}}", evidence=r"\1 {{question}} {x}").user
    assert text == r"what is {{evidence}} | \1 {{question}} {x}" + "\n"


def test_a_prompt_that_does_not_exist_is_an_error():
    with pytest.raises(ConfigurationError, match="there is no prompt 'nonsense'"):
        load_prompt("nonsense")


def test_header_and_text_are_told_apart(written):
    prompt = written("---\nversion: 3\nvariables: [a]\n---\n\nSay {{a}}.\n---\nmore\n")
    assert (prompt.version, prompt.template) == (3, "Say {{a}}.\n---\nmore\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Say {{a}}.", "no front matter"),
        ("---\nversion: 1\nvariables: [a]\n---\nSay {{b}}.\n", "not those of its front matter"),
        ("---\nversion: 1\nvariables: [a, b]\n---\nSay {{a}}.\n", "not those of its front matter"),
    ],
)
def test_a_prompt_that_contradicts_itself_is_refused(written, text, fault):
    with pytest.raises(ConfigurationError, match=fault):
        written(text)


def test_there_is_no_prompt_text_outside_of_the_folder():
    sources = (path for path in (FOLDER.parent / "coderag").rglob("*.py") if path.name != "prompting.py")
    assert [path.name for path in sources if "You answer" in path.read_text(encoding="utf-8")] == []
