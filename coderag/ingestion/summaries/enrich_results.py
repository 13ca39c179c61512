"""Report, progress and plan of `CodeRAG.enrich`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.ingestion.summaries.targets import Level
from coderag.schema.prompts import ModelPrompt

StopReason = Literal["done", "budget", "cost", "limit", "stopped", "failing"]
"""Reason for the end of a run: nothing left; time, cost or number limit; a stop request; or repeated errors."""


@dataclass(frozen=True, slots=True)
class EnrichProgress:
    """Progress of a run.

    Attributes:
        level: The current level; ``commit`` while the index is written.
        done, total: Targets of this level in this run.
        tokens: Tokens of all prompts and replies so far.
        cost: Their cost; None if the settings have no prices.
    """

    level: Level | Literal["commit"]
    done: int
    total: int
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class EnrichReport:
    """Result of a run.

    Attributes:
        written: Sentences written in this run, by level.
        failed: Targets without a usable sentence, as ``(place, reason)``; they are tried again later.
        remaining: Chunks that still have no sentence.
        share: Chunks with a sentence of a language model, and all chunks to summarize.
        cost: Cost of the run; None if the settings have no prices.
        generation: Number of the current generation.
        model: Name of the model.
        error: The model's last error, if it kept failing.
        unknown: After an import, the places that are not in the index.
    """

    stopped: StopReason
    written: Mapping[str, int]
    failed: Sequence[tuple[str, str]]
    remaining: int
    share: tuple[int, int]
    input_tokens: int
    output_tokens: int
    cost: float | None
    generation: int
    elapsed_s: float
    model: str = ""
    error: str = ""
    unknown: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A planned request.

    Attributes:
        pieces: For each number from 1, the place and, for a chunk, its id.
    """

    level: Level
    prompt: ModelPrompt
    pieces: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class EnrichPlan:
    """Plan of a run. Files follow when their chunks have sentences, folders when their files have.

    Attributes:
        pieces: Number of sentences to request now, by level.
        failed_before: How many of them failed before.
        input_tokens, output_tokens: Estimated tokens.
        cost: Estimated cost; None if the settings have no prices.
        seconds: Estimated duration, by the speed of the last run with this model; None before the first.
        first: The first places, in order of the requests.
        batches: All requests.
    """

    model: str
    pieces: Mapping[str, int]
    failed_before: int
    share: tuple[int, int]
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    first: Sequence[str]
    batches: Sequence[PlannedBatch]
