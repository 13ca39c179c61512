"""Search for the lines that mention a name outside its declarations."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from coderag.codegraph.declaration_groups import TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.link_tiers import explain_missing_edges, find_link_tier
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.mentions.declaration_heads import find_head_line
from coderag.retrieval.mentions.graph_links import GraphLinks, find_graph_links
from coderag.retrieval.mentions.indexed_files import IndexedFiles, MatchingFile
from coderag.retrieval.mentions.targets import MentionTarget, build_target
from coderag.retrieval.text_search.file_declarations import find_enclosing
from coderag.schema.chunks import SymbolRecord
from coderag.schema.mentions import DEFAULT_MAX_MENTIONS, MentionQuery, Mentions, NameMention
from coderag.schema.query import FilterValues
from coderag.stores.protocols import IndexSnapshot

if TYPE_CHECKING:
    from coderag.ingestion.parsing.line_contexts import LineContexts

_ROLE_RANKS: Final = {
    role: rank for rank, role in enumerate(("source", "config", "example", "test", "docs", "generated", "vendored"))
}
_CONTEXT_RANKS: Final = {context: rank for rank, context in enumerate(("code", "string", "import", "comment", "text"))}
_USING_CONTEXTS: Final = frozenset({"code", "string"})
_ASIDE_CONTEXTS: Final = frozenset({"comment", "text"})
_MAX_LINE_CHARS: Final = 1_000
_EXCERPT_CHARS: Final = 200  # on either side of a name in a longer line


@dataclass(slots=True)
class _Tally:
    """Lines with a name, sorted out."""

    mentions: list[NameMention] = field(default_factory=list)
    heads: list[NameMention] = field(default_factory=list)
    elsewhere: int = 0
    inside: int = 0
    declarations: int = 0


class MentionSearch:
    """Search for mentions in one state of the index.

    Args:
        graph: Code graph of the index.
        snapshot: The index, with edits on disk as far as it has them.
        filters: Filters of the searched files.
    """

    def __init__(self, graph: CodeGraph, snapshot: IndexSnapshot, filters: FilterValues = NO_FILTERS) -> None:
        self._graph = graph
        self._snapshot = snapshot
        self._filters = filters

    @cached_property
    def files(self) -> IndexedFiles:
        """The indexed files."""
        return IndexedFiles(self._snapshot, self._filters)

    def find(self, name: str, query: MentionQuery | None = None, *, limit: int = DEFAULT_MAX_MENTIONS) -> Mentions:
        """Find the lines that mention a name outside its declarations.

        Lines that an edge ties to another declaration of the name are counted, but not listed.

        Args:
            name: Name of a declaration or file, as for `CodeGraph`; or any other word.
            query: Query that the lines are to answer; None for all lines.
            limit: Maximum number of returned lines; all are counted. 0 is faster where edges explain most lines.
        """
        return self.find_target(build_target(self._graph, name), query, limit=limit)

    def find_target(
        self, target: MentionTarget, query: MentionQuery | None = None, *, limit: int = DEFAULT_MAX_MENTIONS
    ) -> Mentions:
        """Find the lines that mention a target. As `find`."""
        links = find_graph_links(self._graph, target)
        tally = self._sort_lines(target, links, is_count=not limit)
        tier = find_link_tier(target.languages)
        lines = _select_lines(tally, query, is_exact=tier == "full")
        return Mentions(
            name=target.name,
            words=target.pattern.words,
            lines=lines[:limit],
            total=len(lines),
            unlinked=sum(not line.linked and line.context in _USING_CONTEXTS for line in lines),
            elsewhere=tally.elsewhere,
            inside=tally.inside,
            declarations=tally.declarations,
            files=len(self.files.records),
            left_out=self.files.n_left_out,
            tier=tier,
            reason=explain_missing_edges(target.languages),
        )

    @cached_property
    def _contexts(self) -> "LineContexts":
        from coderag.ingestion.parsing.line_contexts import LineContexts  # noqa: PLC0415  # tree-sitter

        return LineContexts()

    def _sort_lines(self, target: MentionTarget, links: GraphLinks, *, is_count: bool) -> _Tally:
        tally = _Tally()
        files = sorted(
            self.files.find_files(target.pattern),
            key=lambda file: (_ROLE_RANKS.get(file.record.role, len(_ROLE_RANKS)), file.record.path),
        )
        own_files = {node.path for node in target.nodes} if target.is_file else frozenset()
        for file in files:
            if file.record.path in own_files:
                tally.inside += len({line for line, _, _ in file.spans})
            else:
                self._sort_file(file, target, links, tally, is_count=is_count)
        tally.mentions.sort(key=_rank_mention)
        return tally

    def _sort_file(
        self, file: MatchingFile, target: MentionTarget, links: GraphLinks, tally: _Tally, *, is_count: bool
    ) -> None:
        path = file.record.path
        heads = _find_heads(file, links)
        own_heads = {head for head in heads if target.contains(path, head[0])}
        tally.declarations += len(heads) - len(own_heads)
        declarations = self.files.declarations.get_declarations(path)
        spans: dict[int, tuple[int, int, int]] = {}
        inside, elsewhere = set[int](), set[int]()
        for span in file.spans:
            if span[:2] in heads:
                continue
            if target.contains(path, span[0]) or _is_split_member(target, find_enclosing(declarations, span[0])):
                inside.add(span[0])
            elif (path, span[0]) in links.other_lines:
                elsewhere.add(span[0])
            else:
                spans.setdefault(span[0], span)
        tally.inside += len(inside)
        tally.elsewhere += len(elsewhere)
        listed = sorted([*spans.values(), *(span for span in file.spans if span[:2] in heads - own_heads)])
        for span in listed:
            mention = _build_mention(file, span, declarations, links)
            if not (is_count and mention.linked):
                mention = replace(mention, context=self._contexts.classify(file.record, file.lines, *span[:2]))
            (tally.heads if span[:2] in heads else tally.mentions).append(mention)


def _is_split_member(target: MentionTarget, enclosing: Sequence[SymbolRecord]) -> bool:
    """Return whether a line is inside a member of the target that stands outside of it."""
    prefixes = target.member_prefixes
    return bool(prefixes) and any(symbol["qualified_name"].startswith(prefixes) for symbol in enclosing)


def _select_lines(tally: _Tally, query: MentionQuery | None, *, is_exact: bool) -> list[NameMention]:
    """Return the lines that may answer a query.

    Args:
        tally: Lines with the name.
        query: The query; None for all lines.
        is_exact: Whether the language is fully linked, so that lines of another kind would only distract.
    """
    lines = tally.mentions
    if query == "overrides":
        return tally.heads
    if query == "tests":
        return [line for line in lines if line.role == "test"]
    if query == "documents":
        return [line for line in lines if line.role == "docs" or line.context in _ASIDE_CONTEXTS]
    if query in ("subclasses", "implementations"):
        at_types = [line for line in lines if line.kind in TYPE_KINDS and line.context in _USING_CONTEXTS]
        return at_types if is_exact else [*at_types, *(line for line in lines if line not in at_types)]
    return lines


def _rank_mention(mention: NameMention) -> tuple[bool, int, int, str, int]:
    return (
        mention.context in _ASIDE_CONTEXTS,
        _ROLE_RANKS.get(mention.role, len(_ROLE_RANKS)),
        _CONTEXT_RANKS[mention.context],
        mention.path,
        mention.line,
    )


def _find_heads(file: MatchingFile, links: GraphLinks) -> set[tuple[int, int]]:
    """Find line and column of the declared names in a file."""
    columns: dict[int, list[int]] = {}
    for line, start, _ in file.spans:
        columns.setdefault(line, []).append(start)
    head_lines = (find_head_line(node, file.lines, columns) for node in links.namesakes.get(file.record.path, ()))
    return {(line, columns[line][0]) for line in head_lines if line is not None}


def _build_mention(
    file: MatchingFile,
    span: tuple[int, int, int],
    declarations: Sequence[SymbolRecord],
    links: GraphLinks,
) -> NameMention:
    line, start, end = span
    enclosing = find_enclosing(declarations, line)
    text = file.lines[line - 1]
    if len(text) > _MAX_LINE_CHARS:
        text = text[max(0, start - _EXCERPT_CHARS) : end + _EXCERPT_CHARS]
    return NameMention(
        path=file.record.path,
        line=line,
        text=text,
        context="code",
        symbol=enclosing[-1]["qualified_name"] if enclosing else "",
        kind=enclosing[-1]["kind"] if enclosing else "",
        language=file.record.language,
        role=file.record.role,
        linked=links.contains(file.record.path, line, enclosing),
    )
