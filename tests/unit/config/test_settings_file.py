import pytest

from coderag.config.settings_file import SettingsFile, read_settings_files
from coderag.errors import ConfigurationError


def read(root, text):
    path = root / ".coderag.yaml"
    path.write_bytes(text) if isinstance(text, bytes) else path.write_text(text, encoding="utf-8")
    (file,) = read_settings_files(root)
    return file


def refused(root, text):
    with pytest.raises(ConfigurationError) as caught:
        read(root, text)
    return caught.value


# What can be read


def test_both_files_are_read_in_the_order_of_merging(tmp_path):
    (tmp_path / ".coderag.local.yaml").write_text("project: local")
    (tmp_path / ".coderag.yaml").write_text("project: shared\nversion: 1")
    files = read_settings_files(tmp_path)
    assert [file.path.name for file in files] == [".coderag.yaml", ".coderag.local.yaml"]
    assert SettingsFile.merge(files) == {"project": "local", "version": 1}


def test_without_files_there_is_nothing(tmp_path):
    assert read_settings_files(tmp_path) == []


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "\ufeff"])
def test_an_empty_file_has_no_values(tmp_path, text):
    assert read(tmp_path, text).values == {}


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    assert read(tmp_path, "\ufeffproject: größe").values == {"project": "größe"}


def test_plain_values_keep_their_types(tmp_path):
    text = "a: 1\nb: 2.5\nc: true\nd: 'text'\ne: [1, x]\nf: {g: null}\n"
    assert read(tmp_path, text).values == {"a": 1, "b": 2.5, "c": True, "d": "text", "e": [1, "x"], "f": {"g": None}}


def test_a_section_without_content_is_left_out(tmp_path):
    assert read(tmp_path, "search:\nproject: x\n").values == {"project": "x"}


def test_the_line_of_every_key_is_known(tmp_path):
    file = read(tmp_path, "# comment\nsearch:\n  top_k: 1\n\ningestion:\n  exclude:\n    - a\n    - b\n")
    assert file.find_line(("search", "top_k")) == 3
    assert file.find_line(("ingestion", "exclude", "1")) == 8
    assert file.find_line(("search", "absent")) == 2
    assert file.find_line(("absent",)) is None


# What cannot


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("search:\n  top_k: [1\n", "line 3"),
        ("search: a: b\n", "line 1"),
        ("search:\n\ttop_k: 1\n", "line 2"),
        ("a: 1\n'b\n", "line 3"),
        ("a: 1\n---\nb: 2\n", "line 2"),
        ("a: *nowhere\n", "line 1"),
    ],
)
def test_broken_yaml_names_file_and_line(tmp_path, text, place):
    message = str(refused(tmp_path, text))
    assert message.startswith(".coderag.yaml, ")
    assert place in message


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "5\n"])
def test_a_file_that_is_no_mapping_says_so(tmp_path, text):
    assert str(refused(tmp_path, text)).startswith(".coderag.yaml, line 1: expected sections such as 'search:'")


@pytest.mark.parametrize("content", [b"a: 1\nproject: \x00\n", b"a: 1\nproject: a\x07b\n"])
def test_a_control_character_is_told_with_its_line(tmp_path, content):
    assert str(refused(tmp_path, content)) == ".coderag.yaml, line 2: not valid YAML: a control character"


def test_bytes_that_are_no_text_name_the_file(tmp_path):
    assert str(refused(tmp_path, b"project: \xff\xfe\n")).startswith(".coderag.yaml cannot be read: ")


def test_a_key_given_twice_is_an_error_with_both_lines(tmp_path):
    message = str(refused(tmp_path, "search:\n  top_k: 1\n  max_per_file: 3\n  top_k: 2\n"))
    assert message == ".coderag.yaml, line 4: search.top_k: given twice, first in line 2"


def test_a_section_given_twice_is_an_error(tmp_path):
    assert "line 3: search: given twice" in str(refused(tmp_path, "search:\n  top_k: 1\nsearch:\n"))


@pytest.mark.parametrize(
    "value", ["!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!custom x", "!!int words"]
)
def test_only_plain_values_are_built(tmp_path, value):
    message = str(refused(tmp_path, f"project: x\nsearch: {value}\n"))
    assert message.startswith(".coderag.yaml, line 2: ")


@pytest.mark.parametrize(
    "text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "x: " + "[" * 5_000 + "]" * 5_000, "x: " + "{a: " * 5_000 + "}" * 5_000]
)
def test_endless_nesting_is_an_error_not_a_crash(tmp_path, text):
    assert str(refused(tmp_path, text)).startswith(".coderag.yaml")


def test_aliases_cannot_blow_a_small_file_up(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert str(refused(tmp_path, "\n".join(lines))).startswith(".coderag.yaml, line 2: ")


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    (tmp_path / ".coderag.yaml").write_text("project: x")

    def denied(*arguments, **keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    with pytest.raises(ConfigurationError, match=r"^\.coderag\.yaml cannot be read: .*Permission denied"):
        read_settings_files(tmp_path)


# Values from the environment


def test_a_placeholder_takes_the_value_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_HOST", "example.org")
    file = read(tmp_path, 'a: http://${MY_HOST}:80/${MY_HOST}\nb: ["${MY_HOST}"]\n')
    assert file.values == {"a": "http://example.org:80/example.org", "b": ["example.org"]}


def test_an_unset_variable_is_an_error_that_names_it_and_the_line(tmp_path):
    error = refused(tmp_path, "project: x\nembedding:\n  api_key: ${NOT_SET_ANYWHERE}\n")
    assert str(error) == ".coderag.yaml, line 3: the environment variable NOT_SET_ANYWHERE is not set"
    assert "\\${NOT_SET_ANYWHERE}" in error.hint


def test_an_empty_variable_is_set(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPTY", "")
    assert read(tmp_path, "a: x${EMPTY}y").values == {"a": "xy"}


@pytest.mark.parametrize("text", [r"a: \${HOME}", r"a: '\${HOME}'", r'a: "\\${HOME}"'])
def test_an_escaped_placeholder_is_literal(tmp_path, text):
    assert read(tmp_path, text).values == {"a": "${HOME}"}


@pytest.mark.parametrize("text", ["$HOME", "${}", "${1A}", "$ {HOME}", "${HOME", "100$"])
def test_what_is_no_placeholder_stays(tmp_path, text):
    assert read(tmp_path, f"a: '{text}'").values == {"a": text}


def test_a_value_cannot_bring_placeholders_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("OUTER", "${HOME}")
    assert read(tmp_path, "a: ${OUTER}").values == {"a": "${HOME}"}


def test_a_comment_may_mention_unset_variables(tmp_path):
    assert read(tmp_path, "# ${NOT_SET_ANYWHERE}\na: 1").values == {"a": 1}
