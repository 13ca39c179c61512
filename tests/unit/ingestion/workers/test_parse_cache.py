import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import LANGUAGES, detect_language
from coderag.ingestion.parsing.parsed_file import place_file
from coderag.ingestion.workers import parse_cache

FIXTURES = Path(__file__).parents[3] / "fixtures" / "repos"
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "expected.json")
STRATEGIES = ("declaration", "window")
TEXT = 'import os\n\n\nclass Größe(Base):\n    """Keeps it."""\n\n    def get(self):\n        return find(self)\n\n\nX = 1\n'


def parsed(text=TEXT, language="python", path="", role="", **options):
    return parse_file(path, text, language, role, timeout_s=None, **options)


def text_of(path):
    return path.read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_packed_file_round_trips(path, strategy):
    text = text_of(path)
    file = parsed(text, detect_language(path.name, text), strategy=strategy)
    assert parse_cache.unpack(parse_cache.pack(file), text) == file


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_file_can_be_placed_after_unpacking(path, strategy):
    text, place = text_of(path), f"folder/{path.name}"
    language = detect_language(path.name, text)
    placed = place_file(parsed(text, language, strategy=strategy), place, classify_role(place))
    assert placed == parsed(text, language, place, classify_role(place), strategy=strategy)


@pytest.mark.parametrize("language", ["python", "markdown", "text", "javascript", "json", "shell", "yaml"])
@pytest.mark.parametrize(
    "text",
    ["", "\n", "x = 1", "\ud800", "def \udfff(a):\n    '\ud800'\n", "# A \ud800\n\nb\n", '{"\ud800": 1}\n'],
)
def test_invalid_utf8_round_trips(text, language):
    file = parsed(text, language)
    assert parse_cache.unpack(parse_cache.pack(file), text) == file


@given(st.text(st.characters(codec=None), max_size=200), st.sampled_from(sorted(LANGUAGES)))
def test_any_text_round_trips(text, language):
    file = parse_file("", text, language, "", timeout_s=1)
    assert parse_cache.unpack(parse_cache.pack(file), text) == file


# What something else wrote

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def read(packed, text=TEXT):
    """Read some bytes; they are of the text, or refused."""
    try:
        file = parse_cache.unpack(packed, text)
    except ValueError:
        return None
    assert file.chunks[0].metadata["start_byte"] == 0
    assert file.chunks[-1].metadata["end_byte"] == len(text.encode())
    place_file(file, "a.py", "source")
    return file


@given(st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()))
def test_foreign_bytes_are_rejected(packed):
    assert read(packed) is None


@given(st.data())
def test_damaged_bytes_are_rejected_or_valid(data):
    packed = bytearray(parse_cache.pack(parsed()))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(packed))


def places(value, path=()):
    """Yield the way to everything in a JSON value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


def loaded(packed):
    """Return the parts of a packed file: its chunks, the two halves of its facts, and their digest."""
    *parts, digest = packed.split(b"\n")
    return [*map(json.loads, parts), digest.decode()]


def dumped(parts):
    return b"\n".join([*(json.dumps(part).encode() for part in parts[:-1]), str(parts[-1]).encode()])


PACKED = loaded(parse_cache.pack(parsed()))
PLACES = [path for path in places(PACKED) if path]


@given(st.sampled_from(PLACES), JSON)
def test_value_of_another_type_is_rejected(path, value):
    packed = json.loads(json.dumps(PACKED))
    inner = packed
    for key in path[:-1]:
        inner = inner[key]
    was, inner[path[-1]] = inner[path[-1]], value
    file = read(dumped(packed))
    assert file is None or type(value) is type(was) or path == (len(PACKED) - 1,)


@given(st.sampled_from(PLACES))
def test_missing_value_is_rejected(path):
    packed = json.loads(json.dumps(PACKED))
    inner = packed
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    if read(dumped(packed)) is not None:
        assert isinstance(inner, list)  # one import or symbol less


def test_bytes_of_another_text_are_rejected():
    packed = parse_cache.pack(parsed())
    assert read(packed, TEXT + "y = 2\n") is None
    assert read(packed, TEXT[:-2]) is None
