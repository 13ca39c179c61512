#!/usr/bin/env python3
"""Fuzz everything from bytes to chunks. Options are libFuzzer's; see README.md."""

import shutil
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["coderag.ingestion", "coderag.text.encodings", "coderag.text.notebooks"]):
    from coderag.ingestion.files.skip_reasons import find_skip_reason
    from coderag.ingestion.parsing.chunking import parse_file
    from coderag.ingestion.parsing.languages import LANGUAGES, detect_language
    from coderag.ingestion.parsing.parsed_file import place_file
    from coderag.ingestion.workers.parse_cache import pack, unpack
    from coderag.text.encodings import decode
    from coderag.text.readable_text import to_readable_text

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "repos"
NAMES = sorted(
    {f"file{extension}" for language in LANGUAGES.values() for extension in language.extensions[:1]}
    | {language.filenames[0] for language in LANGUAGES.values() if language.filenames}
)
SMALL = {"max_tokens": 60, "min_tokens": 10}


def parse_bytes(data: bytes) -> None:
    """Parse these bytes under a fuzzed file name, and check the chunks."""
    provider = atheris.FuzzedDataProvider(data)
    path = provider.PickValueInList(NAMES)
    limits = SMALL if provider.ConsumeBool() else {}
    decoded = decode(provider.ConsumeBytes(sys.maxsize))
    if decoded is None or find_skip_reason(path, decoded.text):
        return
    text = to_readable_text(path, decoded.text)
    language = detect_language(path, text)
    parsed = parse_file("", text, language, "", timeout_s=1.0, **limits)
    stored = unpack(pack(parsed), text)
    assert [chunk.metadata for chunk in stored.chunks] == [chunk.metadata for chunk in parsed.chunks]
    placed = place_file(parsed, path, "source")
    check_cover(text, [(chunk.text, chunk.metadata) for chunk in placed.chunks])


def check_cover(text: str, chunks: list[tuple[str, dict[str, object]]]) -> None:
    """Assert that the chunks cover the text exactly and that their positions are right."""
    data = text.encode("utf-8", "surrogatepass")
    position = 0
    for content, metadata in chunks:
        assert metadata["start_byte"] == position
        position += len(content.encode("utf-8", "surrogatepass"))
        assert metadata["end_byte"] == position
        assert metadata["start_line"] == data.count(b"\n", 0, metadata["start_byte"]) + 1
    assert position == len(data)


def main() -> None:
    """Run the fuzzer until it stops."""
    with tempfile.TemporaryDirectory() as corpus:  # libFuzzer writes new inputs into the first folder
        shutil.copytree(FIXTURES, Path(corpus) / "fixtures")
        atheris.Setup([*sys.argv, corpus], parse_bytes)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
