"""Rewrite a question with a language model: into several queries, or into code that would answer it.

Source of the latter: HyDE (Gao et al., Precise Zero-Shot Dense Retrieval without Relevance Labels, ACL 2023).
"""

import asyncio
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from coderag.models.protocols import LanguageModel
from coderag.prompting import Prompts
from coderag.schema.prompts import ModelPrompt
from coderag.schema.query import Analysis
from coderag.text.path_masking import MaskedPaths
from coderag.text.tokenizer import tokenize_query

Rewriting = Literal["queries", "hypothetical"]

_MOST_QUERIES = 4
_MOST_TERMS = 40  # added to the question's own, which must not drown
_MOST_QUESTION_BYTES = 8_000  # of a report, the beginning says what it is about
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)


def rewrite(
    model: LanguageModel, question: str, way: Rewriting, prompts: Prompts, paths: MaskedPaths | None = None
) -> list[str]:
    """Return what the model wrote: the queries, or one piece of code. Waits for the model.

    Args:
        model: The language model.
        question: As asked.
        way: What to ask it for.
        prompts: Those of the repository.
        paths: How the model sees paths; None shows them as they are.

    Raises:
        ModelError: The model failed.
    """
    shown = question.encode()[:_MOST_QUESTION_BYTES].decode(errors="ignore")
    prompt = prompts.load(f"rewrite_{way}").render(question=paths.mask_text(shown) if paths else shown)
    with ThreadPoolExecutor(1) as pool:  # an event loop may run in this thread already
        reply = pool.submit(asyncio.run, _written(model, prompt)).result()
    if paths:
        reply = paths.unmask_text(reply)
    plain = _FENCE.sub("", reply).strip()
    if way == "hypothetical":
        return [plain] if plain else []
    lines = (_BULLET.sub("", line).strip(" \"'") for line in plain.splitlines())
    return [line for line in lines if line][:_MOST_QUERIES]


async def _written(model: LanguageModel, prompt: ModelPrompt) -> str:
    return (await model.complete(prompt)).text


def with_rewritten(analysis: Analysis, written: Iterable[str], way: Rewriting) -> Analysis:
    """Return the analysis with the terms of what was written; code is compared by meaning as well.

    Args:
        analysis: Of the question.
        written: From `rewrite`.
        way: What the model was asked for.
    """
    texts = list(written)
    own = set(analysis["terms"])
    added = [term for text in texts for term in dict.fromkeys(tokenize_query(text)) if term not in own]
    expanded = [*analysis["expanded_terms"], *dict.fromkeys(added)][:_MOST_TERMS]
    text = "\n".join([analysis["text"], *texts]) if way == "hypothetical" else analysis["text"]
    return {**analysis, "expanded_terms": expanded, "text": text}
