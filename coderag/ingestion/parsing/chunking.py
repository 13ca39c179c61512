"""Splitting of files into chunks: whole lines, in order, without overlaps and gaps.

Only windows overlap (`strategies`). Symbols, calls and imports of the shared lines belong to the second window.

`parse_file` is the entry point and does not need LlamaIndex. Limits are in tokens of llama-index-core's encoding. Texts whose
estimate is within `token_counts.ESTIMATE_TOLERANCE` of ``max_tokens`` are counted exactly; ``min_tokens`` is compared with the
estimate. Only a line that exceeds ``max_tokens`` by itself is split; parts of it that are data are left out, see `long_lines`.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Final

from coderag.ingestion.parsing.blocks import lay_out_blocks
from coderag.ingestion.parsing.code_chunks import CodeChunkBuilder
from coderag.ingestion.parsing.component_facts import SCRIPT_LANGUAGES, add_template_facts
from coderag.ingestion.parsing.component_templates import TEMPLATE_LANGUAGES
from coderag.ingestion.parsing.declarations import Syntax, read_syntax
from coderag.ingestion.parsing.embedded import lay_out_embedded
from coderag.ingestion.parsing.facts import read_embedded_facts, read_facts
from coderag.ingestion.parsing.languages import LANGUAGES, PLAIN_TEXT
from coderag.ingestion.parsing.long_lines import drop_line_data
from coderag.ingestion.parsing.parsed_file import ParsedChunk, ParsedFile, SourceFile, build_chunk, extend_chunk
from coderag.ingestion.parsing.regions import Region
from coderag.ingestion.parsing.sections import DOCUMENT_LANGUAGES, lay_out_sections
from coderag.ingestion.parsing.strategies import WINDOW_OVERLAP_TOKENS, WINDOW_TOKENS, Strategy
from coderag.ingestion.parsing.text_facts import read_text_facts
from coderag.ingestion.parsing.trees import SyntaxUnusableError, find_line_starts
from coderag.schema.chunks import LINE_DATA_NOTE
from coderag.schema.facts import FileFacts
from coderag.schema.vocabulary import ChunkStrategy
from coderag.stores.facts_codec import pack_facts
from coderag.system.gc_tuning import pause_gc

MAX_TOKENS: Final = 800
MIN_TOKENS: Final = 0
PARSE_TIMEOUT_S: Final = 3.0

MAX_DATA_TREE_BYTES = 100_000  # larger structured data is records, not configuration


def parse_file(  # noqa: PLR0913  # one parameter for each setting
    path: str,
    text: str,
    language: str,
    role: str,
    *,
    max_tokens: int = MAX_TOKENS,
    min_tokens: int = MIN_TOKENS,
    timeout_s: float | None = PARSE_TIMEOUT_S,
    failure: str = "",
    strategy: ChunkStrategy = "declaration",
    window_tokens: int = WINDOW_TOKENS,
    window_overlap_tokens: int = WINDOW_OVERLAP_TOKENS,
) -> ParsedFile:
    """Split a file into chunks. Never fails: a file that cannot be parsed is split by lines, with a note in the result.

    Args:
        path: Relative to the repository's root, with ``/``.
        language: One of `languages.LANGUAGES`; any other name is treated as plain text.
        max_tokens, min_tokens: Limits of a chunk, except of a window.
        timeout_s: CPU time for each million bytes, or None in a process that may be killed (see `trees.parse`). A file that
            takes longer is split by lines.
        failure: Reason not to parse the file, such as an earlier parser crash; becomes its note.
        strategy: How the file is split, see ``docs/chunking.md``.
        window_tokens, window_overlap_tokens: Limits of the strategy ``window``.

    Raises:
        ValueError: The overlap of windows is not smaller than a window.
    """
    with pause_gc():
        data = text.encode("utf-8", "surrogatepass")
        file = SourceFile(
            path=path,
            role=role,
            language=language,
            grammar=LANGUAGES.get(language) or LANGUAGES[PLAIN_TEXT],
            text=text,
            data=data,
            starts=find_line_starts(data),
            strategy=Strategy(strategy, max_tokens, min_tokens, window_tokens, window_overlap_tokens),
            timeout_s=timeout_s,
        )
        parsed = _cut_by_lines(file, f"{failure}; cut by lines", FileFacts(language)) if failure else _parse_file(file)
        return _leave_out_line_data(parsed)


def _leave_out_line_data(parsed: ParsedFile) -> ParsedFile:
    chunks, dropped_chars = drop_line_data(parsed.chunks)
    if not dropped_chars:
        return parsed
    note = f"{LINE_DATA_NOTE} ({dropped_chars:,} characters)"
    return replace(parsed, chunks=chunks, note=f"{parsed.note}; {note}" if parsed.note else note)


def _parse_file(file: SourceFile) -> ParsedFile:
    grammar, note = file.grammar, ""
    if (grammar.scripts or grammar.cells) and file.strategy.name == "declaration":
        parsed = _cut_by_languages(file)
        if parsed.chunks:
            return parsed
        note = parsed.note
    if grammar.query and not note and not (grammar.data and len(file.data) > MAX_DATA_TREE_BYTES):
        try:
            syntax = read_syntax(file.data, grammar, timeout_s=file.timeout_s)
        except SyntaxUnusableError as error:
            note = f"{error}; cut by lines"
        else:
            return _cut_by_declarations(file, syntax)
    if file.language in DOCUMENT_LANGUAGES and file.strategy.name != "window":
        return _cut_by_headings(file, note)
    return _cut_by_lines(file, note)


def _cut_by_declarations(file: SourceFile, syntax: Syntax) -> ParsedFile:
    builder = CodeChunkBuilder(file, syntax)
    facts = read_facts(syntax, file.data, file.grammar)
    if file.grammar.data:
        facts = replace(facts, settings=read_text_facts(file.text, file.language).settings)
    chunks = builder.build()
    syntax.unlink_declarations()
    return ParsedFile(file.path, file.language, chunks, pack_facts(facts), syntax.note)


def _cut_by_headings(file: SourceFile, note: str) -> ParsedFile:
    max_tokens, min_tokens = file.strategy.max_tokens, file.strategy.min_tokens
    spans = lay_out_sections(file.data, file.starts, file.language, max_tokens=max_tokens, min_tokens=min_tokens)
    facts = read_text_facts(file.text, file.language)
    return ParsedFile(file.path, file.language, [build_chunk(file, span) for span in spans], pack_facts(facts), note)


def _cut_by_lines(file: SourceFile, note: str, facts: FileFacts | None = None) -> ParsedFile:
    """Split a file into blocks, along its syntax tree if there is no note on it.

    Args:
        note: Problem of the file; empty if there is none.
        facts: Default: the facts of its text. Pass them for a file that must not be parsed again.
    """
    spans, problem = lay_out_blocks(
        file.data, file.starts, file.grammar, file.strategy, timeout_s=file.timeout_s, use_tree=not note
    )
    chunks = [build_chunk(file, span) for span in spans]
    if facts is None:
        facts = read_text_facts(file.text, file.language)
    return ParsedFile(file.path, file.language, chunks, pack_facts(facts), note or problem)


def _cut_by_languages(file: SourceFile) -> ParsedFile:
    """Split each embedded language at its declarations; return no chunks if that is impossible."""
    data, starts, strategy = file.data, file.starts, file.strategy
    limits = {"max_tokens": strategy.max_tokens, "min_tokens": strategy.min_tokens}
    layout = lay_out_embedded(data, starts, file.grammar, **limits, timeout_s=file.timeout_s)
    builders = {name: CodeChunkBuilder(file, syntax) for name, syntax in layout.syntaxes.items()}
    chunks: list[ParsedChunk] = []
    for part in layout.parts:
        if isinstance(part, Region):
            builder = builders[part.language.name if part.language else ""]
            chunks += builder.build_region(part, merges_preamble=bool(file.grammar.cells))
        else:
            chunk = build_chunk(file, part)
            for builder in builders.values():
                builder.annotate_metadata(chunk.metadata)
            chunks.append(chunk)
    bounds = [0, *(chunk.metadata["start_byte"] for chunk in chunks[1:]), len(data)]
    chunks = [extend_chunk(chunk, file, *span) for chunk, span in zip(chunks, pairwise(bounds), strict=False)]
    facts = read_embedded_facts(layout.syntaxes, data, file.language)
    if file.language in TEMPLATE_LANGUAGES:
        script_language = next((name for name in layout.syntaxes if name in SCRIPT_LANGUAGES), "")
        facts = add_template_facts(facts, data, file.grammar, script_language, timeout_s=file.timeout_s)
    for syntax in layout.syntaxes.values():
        syntax.unlink_declarations()
    return ParsedFile(file.path, file.language, chunks, pack_facts(facts), layout.note)
