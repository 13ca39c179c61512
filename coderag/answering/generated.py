"""An answer by a language model from numbered evidence; citations of evidence that does not exist are removed."""

import re
from collections.abc import Sequence
from typing import Any

from coderag.answering.citations import Claim
from coderag.privacy import MaskedPaths, PathMask
from coderag.prompting import load_prompt
from coderag.schema import NAMED_BY_FILE, module_of
from coderag.state import LanguageModel, QueryState
from coderag.stores.pieces import Piece

Item = dict[str, Any]
"""A `coderag.schema.ContextItem` as plain values."""

_CITATION = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]", re.DOTALL)
"""A citation, or code in which brackets mean something else (``items[0]``)."""


async def generate(
    model: LanguageModel, state: QueryState, pieces: Sequence[Piece], paths: MaskedPaths | None = None
) -> tuple[str, list[Claim], int]:
    """Return the answer in Markdown, the lines that it cites, and how many citations were invented.

    Args:
        model: The language model.
        state: With the packed context, whose items are the evidence.
        pieces: Results and related code, to know the cited lines.
        paths: How the model sees paths; None shows them as they are.
    """
    by_place = {(piece.path, piece.start_line): piece for piece in pieces}
    items = [item for section in state["context"]["sections"] for item in section["items"] if item["path"]]
    evidence = [(item, by_place[item["path"], item["start_line"]]) for item in items]
    shown = [_masked(item, piece, paths.mask) if paths else item for item, piece in evidence]
    blocks = [_block(number, item) for number, item in enumerate(shown, 1)]
    question = paths.hide(state["query"]) if paths else state["query"]
    prompt = load_prompt("answer").render(question=question, evidence="\n\n".join(blocks))
    reply = (await model.complete(prompt)).text
    if paths:
        reply = paths.unmask(reply)
    cited: dict[int, Claim] = {}
    invented = 0

    def resolve(match: re.Match[str]) -> str:
        nonlocal invented
        if match[1] is None:
            return match[0]
        kept = []
        for number in (int(part) for part in match[1].split(",")):
            if 1 <= number <= len(evidence):
                piece = evidence[number - 1][1]
                cited.setdefault(number, Claim(piece.path, piece.start_line, piece.end_line, piece.text))
                kept.append(number)
            else:
                invented += 1
        return "".join(f"[{number}]" for number in kept)

    text = _CITATION.sub(resolve, reply.strip())
    sources = [
        f"[{number}] `{claim.path}:{claim.start_line}-{claim.end_line}`" for number, claim in sorted(cited.items())
    ]
    listed = "\n\n" + "\n".join(f"- {source}" for source in sources) if sources else ""
    return f"{text}{listed}\n", [claim for _, claim in sorted(cited.items())], invented


def _masked(item: Item, piece: Piece, mask: PathMask) -> Item:
    """Return one piece of evidence with its path, and what is made of the path, masked; code and docstrings stay."""
    masked = {**item, "path": mask.mask(piece.path)}
    if piece.kind not in NAMED_BY_FILE:
        return masked
    if piece.name == module_of(piece.path):
        hidden = mask.mask_module(piece.path)
        masked["title"] = item["title"].replace(piece.name, hidden)
        if item["detail"] == "signature":
            masked["text"] = item["text"].replace(piece.name, hidden, 1)
    if item["detail"] == "line" and not _is_beginning(item["text"], piece.docstring):
        masked["text"] = f"{piece.kind} of {masked['path']}"
    return masked


def _is_beginning(summary: str, docstring: str) -> bool:
    return bool(summary) and " ".join(docstring.split()).startswith(summary.rstrip("…"))


def _block(number: int, item: Item) -> str:
    """Return one piece of evidence, fenced so that nothing in it reads as instructions."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", item["text"])), default=0) + 1)
    place = f"{item['path']}:{item['start_line']}-{item['end_line']}"
    return f"[{number}] {item['title']} in {place}\n{fence}{item['language']}\n{item['text']}\n{fence}"
