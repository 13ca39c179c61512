import os
import re
from pathlib import Path

import pytest

from coderag import prompting
from coderag.errors import ConfigurationError
from coderag.prompting import Prompt, Prompts, list_prompt_names, load_prompt, read_prompt_text

FOLDER = Path(__file__).parents[2] / "prompts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.md"))
OURS = ["check_model", "judge_claims", "rerank_listwise", "rerank_pointwise", "rewrite_hypothetical", "rewrite_queries"]
OWN = "---\nversion: 7\nvariables: [question]\n---\nShort words.\n\n<!-- user -->\nAsked: {{question}}\n"


@pytest.fixture
def written(monkeypatch):
    """Load a prompt from a text instead of a file."""

    def load(text):
        monkeypatch.setattr(prompting, "_read_prompt_file", lambda name: text)
        load_prompt.cache_clear()
        return load_prompt("written")

    yield load
    load_prompt.cache_clear()


def test_prompts_exist():
    assert "answer" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_prompt_renders_with_exactly_its_variables(name):
    prompt = load_prompt(name)
    values = {variable: f"<the {variable}>" for variable in prompt.variables}
    text = prompt.render(**values).text
    assert all(value in text for value in values.values())
    assert "{{" not in text
    assert prompt.version >= 1


@pytest.mark.parametrize("name", OURS)
def test_rules_are_in_the_system_message_and_data_in_the_user_message(name):
    prompt = load_prompt(name)
    rendered = prompt.render(**{variable: f"<the {variable}>" for variable in prompt.variables})
    assert rendered.system.startswith("You ")
    assert "<the " not in rendered.system
    assert all(f"<the {variable}>" in rendered.user for variable in prompt.variables)
    if prompt.variables:
        assert "Instructions inside" in rendered.system


@pytest.mark.parametrize("name", NAMES)
def test_prompt_has_a_purpose(name):
    assert load_prompt(name).purpose


@pytest.mark.parametrize("name", NAMES)
def test_external_text_is_never_among_the_rules(name):
    rules, _ = load_prompt(name).parts
    assert set(re.findall(r"\{\{(\w+)\}\}", rules)) <= {"shape"}  # the package's own text


def test_reply_instructions_come_last():
    rendered = load_prompt("rerank_listwise").render(question="q", passages="p").text
    assert (
        rendered.index('{"order"')
        < rendered.index("Question:")
        < rendered.index("Passages:")
        < rendered.index("The order")
    )


def test_missing_or_unknown_variable_is_rejected():
    prompt = Prompt("p", 1, frozenset({"question"}), "{{question}}")
    for values in ({}, {"question": "q", "more": "m"}, {"other": "o"}):
        with pytest.raises(ConfigurationError, match="missing or unknown variables"):
            prompt.render(**values)


def test_braces_in_a_value_are_not_filled_in():
    prompt = Prompt("p", 1, frozenset({"question", "evidence"}), "{{question}} | {{ evidence }}")
    text = prompt.render(question="what is {{evidence}}", evidence=r"\1 {{question}} {x}").user
    assert text == r"what is {{evidence}} | \1 {{question}} {x}" + "\n"


def test_prompt_that_does_not_exist_is_an_error():
    with pytest.raises(ConfigurationError, match="there is no prompt 'nonsense'"):
        load_prompt("nonsense")


def test_header_and_text_are_separated(written):
    prompt = written("---\nversion: 3\nvariables: [a]\n---\n\nSay {{a}}.\n---\nmore\n")
    assert (prompt.version, prompt.template) == (3, "Say {{a}}.\n---\nmore\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Say {{a}}.", "no front matter"),
        ("---\nversion: 1\nvariables: [a]\n---\nSay {{b}}.\n", "of the text and the front matter differ"),
        ("---\nversion: 1\nvariables: [a, b]\n---\nSay {{a}}.\n", "of the text and the front matter differ: b"),
        ("---\nversion: 1\nvariables: a\n---\nSay {{a}}.\n", "a list of variables"),
        ("---\nversion: new\nvariables: [a]\n---\nSay {{a}}.\n", "must have a version"),
        ("---\nvariables: [a]\n---\nSay {{a}}.\n", "must have a version"),
        ("---\n- version\n---\nSay {{a}}.\n", "must have a version"),
        ("---\nversion: [\n---\nSay {{a}}.\n", "not valid YAML"),
        ("---\nversion: 2026-02-31\n---\nSay {{a}}.\n", "not valid YAML"),
        (f"---\nversion: {'[' * 3_000}\n---\nSay.\n", "not valid YAML"),
    ],
)
def test_inconsistent_prompt_is_rejected(written, text, fault):
    with pytest.raises(ConfigurationError, match=fault):
        written(text)


def test_there_is_no_prompt_text_outside_of_the_folder():
    sources = (path for path in (FOLDER.parent / "coderag").rglob("*.py") if path.name != "prompting.py")
    assert [path.name for path in sources if "You answer" in path.read_text(encoding="utf-8")] == []


# --- a project's own


@pytest.fixture
def own(tmp_path):
    """Write a project's own text of ``rewrite_queries``; return its prompts."""
    prompts = Prompts(tmp_path / "prompts")

    def write(text, name="rewrite_queries"):
        path = prompts.get_path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return prompts

    return write


def test_without_a_folder_the_packages_prompts_are_used(tmp_path):
    for prompts in (Prompts(), Prompts(tmp_path / "nowhere")):
        assert prompts.load("rewrite_queries") == load_prompt("rewrite_queries")
        assert prompts.list_overridden() == prompts.list_unknown() == []


def test_project_override_is_used(own):
    prompts = own(OWN)
    prompt = prompts.load("rewrite_queries")
    rendered = prompt.render(question="where is login")
    assert (rendered.system, rendered.user) == ("Short words.", "Asked: where is login\n")
    assert prompt.version == 7
    assert prompt.source == str(prompts.get_path("rewrite_queries"))
    assert prompts.list_overridden() == ["rewrite_queries"]
    assert prompts.load("rerank_listwise") == load_prompt("rerank_listwise")


def test_other_text_has_another_key(own):
    first = own(OWN).load("rewrite_queries").key
    assert first != load_prompt("rewrite_queries").key
    assert first != own(OWN.replace("Short", "Long")).load("rewrite_queries").key  # the version was forgotten


def test_changed_file_is_read_again(own):
    prompts = own(OWN)
    assert prompts.load("rewrite_queries").version == 7
    own(OWN.replace("7", "8"))
    path = prompts.get_path("rewrite_queries")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))
    assert prompts.load("rewrite_queries").version == 8


def test_size_change_with_equal_mtime_is_detected(own):
    prompts = own(OWN)
    path = prompts.get_path("rewrite_queries")
    before = path.stat().st_mtime_ns
    prompts.load("rewrite_queries")
    own(OWN.replace("7", "17"))
    os.utime(path, ns=(before, before))
    assert prompts.load("rewrite_queries").version == 17


def test_deleted_override_restores_the_packaged_text(own):
    prompts = own(OWN)
    prompts.load("rewrite_queries")
    prompts.get_path("rewrite_queries").unlink()
    assert prompts.load("rewrite_queries") == load_prompt("rewrite_queries")


def test_text_without_marker_is_the_user_message(own):
    rendered = own("---\nversion: 1\nvariables: [question]\n---\nOther words for {{question}}\n").load(
        "rewrite_queries"
    )
    assert rendered.render(question="x").system == ""
    assert rendered.render(question="x").user == "Other words for x\n"


@pytest.mark.parametrize("text", [OWN.replace("\n", "\r\n"), "\ufeff" + OWN])
def test_windows_line_ends_are_accepted(own, text):
    rendered = own(text).load("rewrite_queries").render(question="x")
    assert (rendered.system, rendered.user) == ("Short words.", "Asked: x\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Asked: {{question}}", "has no front matter"),
        (b"---\nversion: 1\nvariables: [question]\n---\n\xff\xfe {{question}}\n", "is not UTF-8 text"),
        (OWN.replace("question", "query"), "must be those of the packaged prompt: question"),
        (
            OWN.replace("[question]", "[]").replace("{{question}}", ""),
            "must be those of the packaged prompt: question",
        ),
        (OWN + "x" * 100_000, "longer than the limit of 100,000 bytes"),
        (
            OWN.replace("Short words.", "Asked: {{question}}"),
            r"\{\{question\}\} must come after the line <!-- user -->",
        ),
    ],
)
def test_invalid_override_error_names_its_file(own, text, fault):
    prompts = own(text)
    with pytest.raises(ConfigurationError, match=fault) as caught:
        prompts.load("rewrite_queries")
    assert str(prompts.get_path("rewrite_queries")) in str(caught.value)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_unreadable_override_is_a_clear_error(own):
    prompts = own(OWN)
    prompts.get_path("rewrite_queries").chmod(0)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        prompts.load("rewrite_queries")


def test_override_of_an_unknown_prompt_is_reported(own):
    prompts = own(OWN, "rewrite_querys")
    assert prompts.list_unknown() == ["rewrite_querys"]
    assert prompts.list_overridden() == []


def test_text_of_a_prompt_can_be_copied_and_used(own):
    for name in list_prompt_names():
        assert own(read_prompt_text(name), name).load(name).key == load_prompt(name).key
