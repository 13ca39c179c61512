"""What a model may ask of a repository: the arguments that it gives, the text that it sees, the data beside it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from coderag.app import CodeRAG
from coderag.config.sections import LEAST_TOKENS
from coderag.integrations.langgraph.state import context_citations
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.search import Filters, SearchHit

_MOST_RESULTS = 50
_MOST_TOKENS = 100_000  # a model that asks for more has made a mistake
_MOST_PLACES = 20
_MOST_DECLARATIONS = 3
_MOST_NEIGHBOURS = 20  # of a kind, in a text
_MOST_RECORDS = 200  # of a kind, in an artifact: a checkpointer keeps it


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Asked(_Arguments):
    query: str = Field(min_length=1, description="A question, a name, a bug report or a snippet of code.")
    path: str = Field(
        "", description="Only files below this folder or of this pattern, as src or **/*.py; !tests leaves out."
    )
    language: str = Field("", description="Only files of this language, such as python; empty for all.")

    @property
    def filters(self) -> Filters:
        return Filters(
            paths=(self.path,) if self.path else (), languages=(self.language.lower(),) if self.language else ()
        )


class SearchArguments(_Asked):
    """Arguments of ``search_code``."""

    top_k: int = Field(10, ge=1, le=_MOST_RESULTS, description="Number of results, at most.")


class ContextArguments(_Asked):
    """Arguments of ``get_code_context``."""

    token_budget: int = Field(
        4_000, ge=LEAST_TOKENS, le=_MOST_TOKENS, description="Size of the reply, in tokens, at most."
    )


class SymbolArguments(_Arguments):
    """Arguments of ``get_symbol``."""

    name: str = Field(min_length=1, description="A declaration, as login, Session.login or src/auth.py::login.")
    token_budget: int = Field(
        2_000, ge=LEAST_TOKENS, le=_MOST_TOKENS, description="Size of its code, in tokens, at most."
    )


def _several(value: object) -> object:
    """Return one place as a list of it: models give one text where several are meant."""
    return [value] if isinstance(value, str) else value


class ReadArguments(_Arguments):
    """Arguments of ``read_code``."""

    places: Annotated[list[str], BeforeValidator(_several)] = Field(
        min_length=1, max_length=_MOST_PLACES, description="Files or lines of them, as src/a.py or src/a.py:10-42."
    )
    token_budget: int = Field(
        4_000, ge=LEAST_TOKENS, le=_MOST_TOKENS, description="Size of the reply, in tokens, at most."
    )


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a tool returns.

    Attributes:
        text: What the model sees.
        artifact: The same as plain values, for the program.
    """

    text: str
    artifact: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool, whatever the framework.

    Attributes:
        description: When a model is to call it.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[CodeRAG, Any], ToolReply]

    def reply(self, rag: CodeRAG, given: Mapping[str, Any]) -> ToolReply:
        """Return the reply to a model's arguments.

        Raises:
            ValidationError: They are not as they must be (of pydantic; its text says why).
            CodeRAGError: As the facade's methods.
        """
        return self.run(rag, self.arguments.model_validate(given))


def _search(rag: CodeRAG, asked: SearchArguments) -> ToolReply:
    hits = rag.search(asked.query, top_k=asked.top_k, filters=asked.filters)
    lines = [f"evidence: {hits.evidence} ({len(hits)} results)"]
    for number, hit in enumerate(hits, 1):
        lines.append(f"{number}. {hit.location} {hit.kind} `{hit.qualified_name}`")
        lines += [f"   {' '.join(line.split())}" for line in (hit.signature, hit.summary) if line]
    lines += [f"not indexed: {path}" for path in hits.not_indexed]
    records = [hit_record(hit) for hit in hits]
    return ToolReply("\n".join(lines), {"evidence": hits.evidence, "confidence": hits.confidence, "hits": records})


def _context(rag: CodeRAG, asked: ContextArguments) -> ToolReply:
    return _shown(rag.context(asked.query, token_budget=asked.token_budget, filters=asked.filters))


def _read(rag: CodeRAG, asked: ReadArguments) -> ToolReply:
    return _shown(rag.read(asked.places, token_budget=asked.token_budget))


def _symbol(rag: CodeRAG, asked: SymbolArguments) -> ToolReply:
    graph = rag.graph
    declared = rag.definition(asked.name)[:_MOST_DECLARATIONS]
    if not declared:
        graph.callers(asked.name)  # says what is called like it
    code = _shown(rag.read([hit.location for hit in declared], token_budget=asked.token_budget)) if declared else None
    graph = graph.permissive
    near = {
        "called by": graph.callers(asked.name),
        "calls": graph.callees(asked.name),
        "tested by": graph.tests(asked.name),
    }
    lists = [_listed(title, neighbours) for title, neighbours in near.items() if neighbours]
    records = {
        title.replace(" ", "_"): [_neighbour_record(one) for one in found[:_MOST_RECORDS]]
        for title, found in near.items()
    }
    parts = [*([code.text.strip()] if code else ()), *lists]
    text = "\n\n".join(parts) or f"Nothing calls or tests {asked.name}, and it calls nothing."
    return ToolReply(text, {"declarations": [hit_record(hit) for hit in declared], **records})


def _shown(context: AssembledContext) -> ToolReply:
    artifact = {
        "evidence": context.evidence,
        "confidence": context.confidence,
        "tokens": context.tokens,
        "citations": context_citations(context),
        "omitted": [f"{one.path}:{one.start_line}-{one.end_line}" for one in context.omitted],
    }
    return ToolReply(context.text, artifact)


def hit_record(hit: SearchHit) -> dict[str, Any]:
    """Return what programs need of a result, without its text, as plain values."""
    return {
        "path": str(hit.path),
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "name": hit.qualified_name,
        "kind": hit.kind,
        "language": hit.language,
        "role": hit.role,
        "signature": hit.signature,
        "summary": hit.summary,
        "score": float(hit.score),
    }


def _neighbour_record(neighbour: GraphNeighbour) -> dict[str, Any]:
    return {
        "path": neighbour.path,
        "start_line": neighbour.start_line,
        "end_line": neighbour.end_line,
        "name": neighbour.qualified_name,
        "evidence": f"{neighbour.evidence}:{neighbour.line}",
        "confidence": float(neighbour.confidence),
    }


def _listed(title: str, neighbours: Iterable[GraphNeighbour]) -> str:
    known = list(neighbours)
    lines = [f"- `{one.qualified_name}` ({one.evidence}:{one.line})" for one in known[:_MOST_NEIGHBOURS]]
    more = len(known) - len(lines)
    return "\n".join([f"{title}:", *lines, *([f"- {more:,} more"] if more else ())])


CALLS: Final = {
    "context": ToolCall(
        "get_code_context",
        "Get the code of this repository that answers a question, with the code around it, within a token budget. "
        "Call it first when you need to understand or change code.",
        ContextArguments,
        _context,
    ),
    "search": ToolCall(
        "search_code",
        "List the places in this repository that answer a question, best first, without their code. "
        "Call it to find out where something is.",
        SearchArguments,
        _search,
    ),
    "symbol": ToolCall(
        "get_symbol",
        "Get the declaration of a function, class or other name, with what calls it, what it calls and what tests it. "
        "Call it when you know the name, and before you change what others use.",
        SymbolArguments,
        _symbol,
    ),
    "read": ToolCall(
        "read_code",
        "Read files of this repository, or lines of them. Call it for places that another tool has named.",
        ReadArguments,
        _read,
    ),
}
"""The tools by what they are asked for."""
