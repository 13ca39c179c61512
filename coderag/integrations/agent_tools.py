"""Framework-independent tools for models: arguments, text replies and data artifacts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from coderag.app import CodeRAG
from coderag.config.sections import MIN_TOKENS
from coderag.integrations.langgraph.state import collect_context_citations
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.search import Filters, SearchHit

_MAX_RESULTS = 50
_MAX_TOKENS = 100_000  # a higher value is a mistake of the model
_MAX_PLACES = 20
_MAX_DECLARATIONS = 3
_MAX_NEIGHBOURS = 20  # per relation, in a text
_MAX_RECORDS = 200  # per relation, in an artifact, which checkpointers store


class _ToolArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _QueryArguments(_ToolArguments):
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


class SearchCodeArguments(_QueryArguments):
    """Arguments of ``search_code``."""

    top_k: int = Field(10, ge=1, le=_MAX_RESULTS, description="Number of results, at most.")


class CodeContextArguments(_QueryArguments):
    """Arguments of ``get_code_context``."""

    token_budget: int = Field(
        4_000, ge=MIN_TOKENS, le=_MAX_TOKENS, description="Size of the reply, in tokens, at most."
    )


class GetSymbolArguments(_ToolArguments):
    """Arguments of ``get_symbol``."""

    name: str = Field(min_length=1, description="A declaration, as login, Session.login or src/auth.py::login.")
    token_budget: int = Field(2_000, ge=MIN_TOKENS, le=_MAX_TOKENS, description="Size of its code, in tokens, at most.")


def _wrap_in_list(value: object) -> object:
    """Wrap a single place in a list: models send one string instead of a list."""
    return [value] if isinstance(value, str) else value


class ReadCodeArguments(_ToolArguments):
    """Arguments of ``read_code``."""

    places: Annotated[list[str], BeforeValidator(_wrap_in_list)] = Field(
        min_length=1, max_length=_MAX_PLACES, description="Files or lines of them, as src/a.py or src/a.py:10-42."
    )
    token_budget: int = Field(
        4_000, ge=MIN_TOKENS, le=_MAX_TOKENS, description="Size of the reply, in tokens, at most."
    )


@dataclass(frozen=True, slots=True)
class ToolReply:
    """Reply of a tool.

    Attributes:
        text: Text for the model.
        artifact: Data for the program, as plain values.
    """

    text: str
    artifact: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool, independent of the framework.

    Attributes:
        description: When a model should call it.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[CodeRAG, Any], ToolReply]

    def reply(self, rag: CodeRAG, arguments: Mapping[str, Any]) -> ToolReply:
        """Validate a model's arguments and run the tool.

        Raises:
            ValidationError: The arguments are invalid (pydantic).
            CodeRAGError: As the methods of the facade.
        """
        return self.run(rag, self.arguments.model_validate(arguments))


def _search(rag: CodeRAG, arguments: SearchCodeArguments) -> ToolReply:
    hits = rag.search(arguments.query, top_k=arguments.top_k, filters=arguments.filters)
    lines = [f"evidence: {hits.evidence} ({len(hits)} results)"]
    for number, hit in enumerate(hits, 1):
        lines.append(f"{number}. {hit.location} {hit.kind} `{hit.qualified_name}`")
        lines += [f"   {' '.join(line.split())}" for line in (hit.signature, hit.summary) if line]
    lines += [f"not indexed: {path}" for path in hits.not_indexed]
    lines += [f"note: {note}" for note in hits.notes]
    records = [to_hit_record(hit) for hit in hits]
    return ToolReply("\n".join(lines), {"evidence": hits.evidence, "confidence": hits.confidence, "hits": records})


def _assemble_context(rag: CodeRAG, arguments: CodeContextArguments) -> ToolReply:
    return _to_tool_reply(rag.context(arguments.query, token_budget=arguments.token_budget, filters=arguments.filters))


def _read(rag: CodeRAG, arguments: ReadCodeArguments) -> ToolReply:
    return _to_tool_reply(rag.read(arguments.places, token_budget=arguments.token_budget))


def _look_up_symbol(rag: CodeRAG, arguments: GetSymbolArguments) -> ToolReply:
    graph = rag.graph
    declarations = rag.definition(arguments.name)[:_MAX_DECLARATIONS]
    if not declarations:
        graph.callers(arguments.name)  # raises an error with similar names
    code = (
        _to_tool_reply(rag.read([hit.location for hit in declarations], token_budget=arguments.token_budget))
        if declarations
        else None
    )
    graph = graph.permissive
    neighbours_by_title = {
        "called by": graph.callers(arguments.name),
        "calls": graph.callees(arguments.name),
        "tested by": graph.tests(arguments.name),
    }
    lists = [_format_neighbours(title, neighbours) for title, neighbours in neighbours_by_title.items() if neighbours]
    records = {
        title.replace(" ", "_"): [_to_neighbour_record(neighbour) for neighbour in related[:_MAX_RECORDS]]
        for title, related in neighbours_by_title.items()
    }
    parts = [*([code.text.strip()] if code else ()), *lists]
    text = "\n\n".join(parts) or f"Nothing calls or tests {arguments.name}, and it calls nothing."
    return ToolReply(text, {"declarations": [to_hit_record(hit) for hit in declarations], **records})


def _to_tool_reply(context: AssembledContext) -> ToolReply:
    artifact = {
        "evidence": context.evidence,
        "confidence": context.confidence,
        "tokens": context.tokens,
        "citations": collect_context_citations(context),
        "omitted": [f"{omission.path}:{omission.start_line}-{omission.end_line}" for omission in context.omitted],
    }
    return ToolReply(context.text, artifact)


def to_hit_record(hit: SearchHit) -> dict[str, Any]:
    """Convert a hit to plain values, without its text."""
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


def _to_neighbour_record(neighbour: GraphNeighbour) -> dict[str, Any]:
    return {
        "path": neighbour.path,
        "start_line": neighbour.start_line,
        "end_line": neighbour.end_line,
        "name": neighbour.qualified_name,
        "evidence": f"{neighbour.evidence}:{neighbour.line}",
        "confidence": float(neighbour.confidence),
    }


def _format_neighbours(title: str, neighbours: Iterable[GraphNeighbour]) -> str:
    neighbour_list = list(neighbours)
    lines = [
        f"- `{neighbour.qualified_name}` ({neighbour.evidence}:{neighbour.line})"
        for neighbour in neighbour_list[:_MAX_NEIGHBOURS]
    ]
    remaining = len(neighbour_list) - len(lines)
    return "\n".join([f"{title}:", *lines, *([f"- {remaining:,} more"] if remaining else ())])


AGENT_TOOLS: Final = {
    "context": AgentTool(
        "get_code_context",
        "Get the code of this repository that answers a question, with the code around it, within a token budget. "
        "Call it first when you need to understand or change code.",
        CodeContextArguments,
        _assemble_context,
    ),
    "search": AgentTool(
        "search_code",
        "List the places in this repository that answer a question, best first, without their code. "
        "Call it to find out where something is.",
        SearchCodeArguments,
        _search,
    ),
    "symbol": AgentTool(
        "get_symbol",
        "Get the declaration of a function, class or other name, with what calls it, what it calls and what tests it. "
        "Call it when you know the name, and before you change what others use.",
        GetSymbolArguments,
        _look_up_symbol,
    ),
    "read": AgentTool(
        "read_code",
        "Read files of this repository, or lines of them. Call it for places that another tool has named.",
        ReadCodeArguments,
        _read,
    ),
}
"""The tools by short name."""
