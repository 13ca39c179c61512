"""What a run of `CodeRAG.enrich` reports, how far it is, and what it would do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.ingestion.summaries.targets import Level
from coderag.schema.prompts import ModelPrompt

StopReason = Literal["done", "budget", "cost", "limit", "stopped", "failing"]
"""Why a run ended: nothing was left; time, cost or number was used up; it was told to; or the model kept failing."""


@dataclass(frozen=True, slots=True)
class EnrichProgress:
    """How far a run is.

    Attributes:
        level: What is being written of; ``commit`` while the index is written.
        done, total: Pieces of this level in this run.
        tokens: Of all prompts and replies so far.
        cost: Of them; None where the settings have no prices.
    """

    level: Level | Literal["commit"]
    done: int
    total: int
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class EnrichReport:
    """What a run did.

    Attributes:
        written: Sentences written in this run, by level.
        failed: Pieces of which none could be written, with the reason, as ``(place, reason)``; they are tried again later.
        remaining: Chunks that still have none.
        share: Chunks with a sentence of a language model, and all that are to have one.
        cost: None where the settings have no prices.
        generation: The current one; the last that this run made, if it made any.
        model: Who wrote.
        error: What the model's last error was, if it kept failing.
        unknown: Of an import: places that are not in the index.
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
    """A request that would be sent.

    Attributes:
        pieces: Of each number, in order from 1: where it is and, of a chunk, its id.
    """

    level: Level
    prompt: ModelPrompt
    pieces: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class EnrichPlan:
    """What a run would do. Files follow when their chunks have sentences, folders when their files have.

    Attributes:
        pieces: How many sentences would be asked for now, by level.
        failed_before: How many of them the model has failed at before.
        input_tokens, output_tokens: About how many.
        cost: About what they cost; None where the settings have no prices.
        seconds: About how long, from the speed of the last run with this model; None before the first.
        first: The first places, in the order in which they would be written of.
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
