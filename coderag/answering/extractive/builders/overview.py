"""Sections of an overview: what a project, folder, file or type is, its parts, where to begin, and what to read."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, TYPES, Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.named_declarations import find_named
from coderag.answering.evidence.readme import find_description, find_title
from coderag.answering.extractive.builders.absent import build_absent
from coderag.answering.extractive.builders.definition import is_public, list_member, read_signature
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_count,
    format_kind,
    format_prose,
    join_words,
)
from coderag.schema.vocabulary import VALUE_KINDS

_MAX_PARTS, _MAX_CENTRAL, _MAX_MAINS, _MAX_DOCUMENTS = 8, 4, 2, 3
_MAX_NAMED: Final = 3  # central declarations in the lead, where nothing says what a part is
_NEARLY_ALL, _MANY = 0.8, 0.5  # shares of the files with code: then the folders below that one are listed
_ENTRY_FILES: Final = re.compile(r"(?:__init__|index|mod|lib|doc|package-info|main)\.\w+")
"""Files whose documentation is that of their folder."""

_TO_READ: Final = re.compile(
    r"contribut|architect|overview|getting[-_ ]?started|quick[-_ ]?start|tutorial|guide|intro|develop|design|internals|hacking",
    re.IGNORECASE,
)


class _Target(NamedTuple):
    """Object of an overview: ``path`` of a file, a folder with its slash or, if empty, the project; or a declaration."""

    kind: Literal["project", "folder", "file", "declaration"]
    path: str = ""
    declared: Declared | None = None


def build_overview(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: what the object says that it is, else what it holds."""
    target = _find_target(answer_input)
    if target is None:
        is_absent = answer_input.state["evidence"] == "not_found" or not answer_input.results
        return build_absent(answer_input, sections) if is_absent else None
    reader = answer_input.reader
    if target.declared:
        return build_lead("overview", _state_type(reader, target.declared))
    parts: list[Part]
    if target.kind == "file":
        return build_lead("overview", _state_file(reader, target.path))
    described = find_description(reader, target.path)
    name = (
        f"**{format_code(target.path)}**"
        if target.path
        else f"**{format_prose(answer_input.project) or 'This project'}**"
    )
    if described:
        parts = [f"{name}: {extract_first_sentence(described.text)} — ", described.lines]
        return build_lead("overview", DraftStatement(parts, "documents"))
    if summary := _find_folder_summary(reader, target.path):
        text, lines = summary
        return build_lead("overview", DraftStatement([f"{name}: {text} — ", lines], "documents"))
    paths = [path for path in reader.corpus.paths if path.startswith(target.path)]
    parts = [
        f"{name} holds {format_count(len(paths), 'file')}",
        *_name_central(reader, _list_central(reader, target.path)),
        ".",
    ]
    return build_lead("overview", DraftStatement(parts, "declares", is_claim=len(parts) > 2))


def build_layout(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of the parts: folders, files, declarations or members, those first that most code rests on."""
    target = _find_target(answer_input) if _is_overview(sections) else None
    if target is None:
        return None
    reader = answer_input.reader
    if target.kind in ("project", "folder"):
        statements, above = _list_folders(reader, target.path)
        title = f"Parts in {format_code(above)}" if above else "Parts"
        return DraftSection("layout", statements, title) if statements else None
    inside = reader.find_members(target.declared) if target.declared else reader.list_file_declarations(target.path)
    inside = [declared for declared in inside if declared.kind not in VALUE_KINDS] or inside
    public = [declared for declared in inside if is_public(reader, declared)]
    ranks = {declared.node: rank for rank, declared in enumerate(reader.central)}
    chosen = sorted(public, key=lambda declared: ranks.get(declared.node, len(ranks)))[:_MAX_PARTS]
    chosen.sort(key=lambda declared: declared.start_line)
    statements = [list_member(reader, declared) for declared in chosen]
    if statements and len(inside) > len(statements):
        statements.append(DraftStatement([f"and {len(inside) - len(statements):,} more"], is_claim=False))
    what = "Members" if target.declared else "Declarations"
    return DraftSection("layout", statements, f"{what} ({len(inside):,})") if statements else None


def build_central(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of where to begin reading: entry points, and what most of the code rests on."""
    target = _find_target(answer_input) if _is_overview(sections) else None
    if target is None or target.kind not in ("project", "folder"):
        return None
    reader = answer_input.reader
    mains = [
        declared
        for declared in reader.find_declarations("main")
        if declared.kind == "function"
        and declared.name == "main"
        and declared.role == "source"
        and declared.path.startswith(target.path)
    ]
    chosen = [*mains[:_MAX_MAINS], *_list_central(reader, target.path)][:_MAX_CENTRAL]
    statements = []
    for declared in chosen:
        if head := reader.read_head(declared):
            summary = extract_first_sentence(reader.get_summary(declared))
            text = f"{format_code(declared.name)} ({format_kind(declared.kind)}){f': {summary}' if summary else ''}"
            statements.append(DraftStatement([f"{text} — ", head], "declares"))
    return DraftSection("central", statements, "Begin with") if statements else None


def build_documents(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of documents that are written for newcomers."""
    target = _find_target(answer_input) if _is_overview(sections) else None
    if target is None or target.kind != "project":
        return None
    reader = answer_input.reader
    paths = [path for path in reader.corpus.paths if path.count("/") <= 1 and reader.get_role(path) == "docs"]
    titles = [find_title(reader, path) for path in paths if _TO_READ.search(path.rpartition("/")[2])]
    statements = [
        DraftStatement([f"{format_prose(lines.text.strip('# '))} — ", lines], "documents")
        for lines in titles[:_MAX_DOCUMENTS]
        if lines
    ]
    return DraftSection("documents", statements, "Documents to read") if statements else None


def _is_overview(sections: Sequence[DraftSection]) -> bool:
    return bool(sections) and sections[0].kind == "overview"


def _find_target(answer_input: AnswerInput) -> _Target | None:
    """Find what the overview is of; None if that is neither named nor the whole repository."""
    reader = answer_input.reader
    for entity in answer_input.analysis["entities"]:
        if entity["kind"] == "path" and (target := _find_place(reader, entity["text"])):
            return target
    for subject in find_named(answer_input):
        declared = next((declared for declared in subject.declared if declared.kind in TYPES), None)
        if declared and not (answer_input.reading["is_of_whole"] and not answer_input.reading["subjects"]):
            return _Target("declaration", declared.path, declared)
    is_known = bool(reader.central) or find_description(reader) is not None
    return _Target("project") if answer_input.reading["is_of_whole"] and is_known else None


def _find_place(reader: IndexReader, text: str) -> _Target | None:
    """Find the file or folder that a path means, perhaps by its last parts."""
    wanted = text.strip("/")
    paths = reader.corpus.paths
    files = [path for path in paths if f"/{path}".endswith(f"/{wanted}")]
    if files:
        return _Target("file", min(files, key=len))
    folders = {
        f"{path[: f'/{path}'.index(f'/{wanted}/') + len(wanted)]}/" for path in paths if f"/{wanted}/" in f"/{path}"
    }
    return _Target("folder", min(folders, key=len)) if folders else None


def _state_type(reader: IndexReader, declared: Declared) -> DraftStatement:
    lines = reader.read_declaration(declared) or reader.read_head(declared)
    summary = extract_first_sentence(reader.get_summary(declared))
    members = reader.find_members(declared)
    kinds = Counter(format_kind(member.kind) for member in members)
    held = join_words([format_count(number, kind) for kind, number in kinds.most_common(_MAX_NAMED)])
    description = (
        f": {summary}" if summary else f": {read_signature(reader, declared)}" + (f", with {held}." if held else ".")
    )
    return DraftStatement(
        [
            f"**{format_code(declared.name)}** ({format_kind(declared.kind)}) in ",
            *([lines] if lines else []),
            description,
        ],
        "declares",
    )


def _state_file(reader: IndexReader, path: str) -> DraftStatement:
    summary = extract_first_sentence(reader.get_file_summary(path))
    first = reader.read_line(path, 1)
    if summary and first:
        return DraftStatement([f"**{format_code(path)}**: {summary} — ", first], "documents")
    inside = reader.list_file_declarations(path)
    ranks = {declared.node: rank for rank, declared in enumerate(reader.central)}
    inside = [declared for declared in inside if declared.kind not in VALUE_KINDS] or inside
    kinds = Counter(format_kind(declared.kind) for declared in inside)
    held = [
        format_count(number, kind, f"{kind}es" if kind.endswith("s") else "")
        for kind, number in kinds.most_common(_MAX_NAMED)
    ]
    best = sorted(inside, key=lambda declared: ranks.get(declared.node, len(ranks)))
    declares = f"declares {join_words(held)}" if held else "declares nothing that the index knows"
    return DraftStatement(
        [f"**{format_code(path)}** {declares}", *_name_central(reader, best), "."], "declares", is_claim=bool(best)
    )


def _name_central(reader: IndexReader, declared: Sequence[Declared]) -> list[Part]:
    """Name the declarations that most code rests on, with their places."""
    heads = [(central.name, head) for central in declared[:_MAX_NAMED] if (head := reader.read_head(central))]
    parts: list[Part] = ["; most rests on " if heads else ""]
    for number, (name, head) in enumerate(heads):
        parts += [", " if number else "", f"{format_code(name)} (", head, ")"]
    return parts


def _find_folder_summary(reader: IndexReader, folder: str) -> tuple[str, CitedLines] | None:
    """Find the first sentence of the file that documents its folder."""
    for path in reader.corpus.paths:
        if path.startswith(folder) and _ENTRY_FILES.fullmatch(path[len(folder) :]):
            summary, first = extract_first_sentence(reader.get_file_summary(path)), reader.read_line(path, 1)
            if summary and first:
                return summary, first
    return None


def _list_folders(reader: IndexReader, above: str) -> tuple[list[DraftStatement], str]:
    """List the folders and files below a folder that have code, and return the folder that they are in."""
    data = {reader.corpus.paths[file] for file in reader.corpus.data_files.tolist()}
    inside = [path for path in reader.corpus.paths if path.startswith(above) and not path.startswith(".")]
    sources = [path for path in inside if reader.get_role(path) == "source" and path not in data] or inside
    above = _find_common_folder(sources, above)
    sources = [path for path in sources if path.startswith(above)]
    counts = Counter(_find_part(above, path) for path in sources)
    for folder in [folder for folder, count in counts.items() if folder.endswith("/") and count > _MANY * len(sources)]:
        below = Counter(_find_part(folder, path) for path in sources if path.startswith(folder))
        if len(below) > 1:
            del counts[folder]
            counts.update(below)
    ranks: dict[str, int] = {}
    for rank, declared in enumerate(reader.central):
        for part in _iter_parents(declared.path):
            ranks.setdefault(part, rank)
    chosen = sorted(counts, key=lambda part: (ranks.get(part, len(ranks) + 1), -counts[part], part))
    statements = [_list_part(reader, part, counts[part]) for part in chosen[:_MAX_PARTS]]
    if len(chosen) > len(statements):
        statements.append(DraftStatement([f"and {len(chosen) - len(statements):,} more"], is_claim=False))
    return statements, above


def _list_part(reader: IndexReader, part: str, count: int) -> DraftStatement:
    """Build an entry of a folder or file: what it says that it is, else its most central declaration."""
    size = f" ({format_count(count, 'file')})" if part.endswith("/") else ""
    summary = extract_first_sentence(reader.get_file_summary(part)) if not size else ""
    if summary and (first := reader.read_line(part, 1)):
        return DraftStatement([f"{format_code(part)}: {summary} — ", first], "documents")
    best = _list_central(reader, part)[:1]
    named: list[Part] = [
        named
        for declared in best
        if (head := reader.read_head(declared))
        for named in (f" with {format_code(declared.name)} — ", head)
    ]
    return DraftStatement([f"{format_code(part)}{size}", *named], "declares", is_claim=bool(named))


def _iter_parents(path: str) -> Iterator[str]:
    yield path
    yield from (path[: position + 1] for position, sign in enumerate(path) if sign == "/")


def _find_common_folder(paths: Sequence[str], above: str) -> str:
    """Find the innermost folder that nearly all of some files are in."""
    while True:
        below = Counter(_find_part(above, path) for path in paths if path.startswith(above))
        folder, count = below.most_common(1)[0] if below else ("", 0)
        if not folder.endswith("/") or count < _NEARLY_ALL * len(paths):
            return above
        above = folder


def _find_part(above: str, path: str) -> str:
    """Find the folder right below one that a path is in, with its slash, else the path itself."""
    first, slash, _ = path[len(above) :].partition("/")
    return f"{above}{first}{slash}"


def _list_central(reader: IndexReader, folder: str = "") -> list[Declared]:
    """List the types below a folder that most of the code rests on, else its functions, the most used first."""
    declarations = [
        declared for declared in reader.central if declared.role == "source" and declared.path.startswith(folder)
    ]
    best = [declared for declared in declarations if declared.kind in TYPES] or [
        declared for declared in declarations if declared.kind in CALLABLE
    ]
    return sorted(best, key=lambda declared: "." in declared.name)  # what is inside of another behind what is not
