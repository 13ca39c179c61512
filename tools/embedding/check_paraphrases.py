#!/usr/bin/env python3
"""Check that each target of the paraphrased questions exists, and that its question shares no identifier with it.

usage: check_paraphrases.py --trees DIR [--only NAME ...]

A question's words are its terms without stop words. A question is rejected if one of its words is a part of the target's
path or name or an identifier of its code, or if more than a fifth of its words are parts of identifiers in that code.
Comments and strings are not identifiers. The exit code is 1 if a question is rejected.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tree_sitter import Node

from coderag.ingestion.parsing.languages import detect_language, find_language
from coderag.ingestion.parsing.trees import parse as parse_source
from coderag.text.tokenizer import split_identifier, stem, tokenize_query

QUESTIONS = Path(__file__).parents[2] / "evals/paraphrased/queries.jsonl"
MIN_WORDS = 4
_MAX_PART_SHARE = 0.2  # of the question's words may be parts of longer identifiers
_SKIPPED_TYPES = frozenset({"comment", "string"})


def iter_identifiers(node: Node, first: int, last: int) -> Iterator[str]:
    """Yield the identifiers of a syntax tree on the given lines (1-based, inclusive)."""
    if node.end_point[0] + 1 < first or node.start_point[0] + 1 > last:
        return
    if any(word in node.type for word in _SKIPPED_TYPES) and "interpol" not in node.type:
        return
    if not node.child_count and node.is_named and node.text:
        text = node.text.decode("utf-8", "replace")
        if any(letter.isalpha() for letter in text):
            yield text
    for child in node.children:
        yield from iter_identifiers(child, first, last)


def find_faults(item: dict[str, Any], tree: Path) -> list[str]:
    """Return the faults of a question; empty if it is sound."""
    messages = []
    words = set(tokenize_query(item["query"]))
    words = {word for word in words if not word.startswith("=")}
    if len(words) < MIN_WORDS:
        messages.append(f"has {len(words)} content words, fewer than {MIN_WORDS}")
    for target in item["relevant"]:
        path = tree / target["path"]
        if not path.is_file():
            messages.append(f"{target['path']} is not a file")
            continue
        data = path.read_bytes()
        first, last = target["start_line"], target["end_line"]
        if not 1 <= first <= last <= data.count(b"\n") + 1:
            messages.append(f"{target['path']} has no lines {first}-{last}")
            continue
        places = {stem(part) for part in split_identifier(f"{target['path']} {target['name']}".replace("/", " "))}
        if shared := words & places:
            messages.append(f"shares {sorted(shared)} with the path or the name")
        language = find_language(detect_language(target["path"]))
        if language is None or not language.grammar:
            messages.append(f"{target['path']} is in no language with a grammar")
            continue
        root = parse_source(data, language, timeout_s=60).root_node
        names = set(iter_identifiers(root, first, last))
        full_names = {stem(name.lower()) for name in names}
        parts = {stem(part) for name in names for part in split_identifier(name)}
        if shared := words & full_names:
            messages.append(f"has words that are identifiers of the code: {sorted(shared)}")
        if len(shared := (words & parts) - full_names) > _MAX_PART_SHARE * len(words):
            messages.append(f"has too many words that are parts of identifiers: {sorted(shared)}")
    return messages


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--trees", type=Path, required=True, help="parent of one folder per repository, at its revision"
    )
    parser.add_argument("--only", nargs="*", help="names of repositories")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    arguments = parser.parse_args()

    items = [json.loads(line) for line in arguments.questions.read_text("utf-8").splitlines()]
    items = [item for item in items if not arguments.only or item["repo"] in arguments.only]
    refused = 0
    for item in items:
        for fault in find_faults(item, arguments.trees / item["repo"]):
            refused += 1
            print(f"{item['repo']}: {item['query']!r} {fault}")
    print(f"{len(items)} questions, {refused} faults", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
