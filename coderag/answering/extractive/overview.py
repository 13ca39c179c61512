"""Tell what the whole repository is: what its README says of it, its folders, where it begins, and what to read."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coderag.answering.draft import Lines
from coderag.answering.extractive.index import CALLABLE, TYPES, Declared, Index
from coderag.answering.extractive.writer import Writer, code, counted, first_sentence, joined, kind_name, prose
from coderag.state import QueryState

_MOST_PARAGRAPHS, _MOST_FOLDERS, _MOST_USED, _MOST_MAINS, _MOST_DOCUMENTS = 2, 10, 6, 3, 6
_MOST_OF_FOLDER = 2  # declarations
_LEAST_WORDS = 8  # of a paragraph; shorter ones are slogans and badges
_LONGEST = 700  # characters of a paragraph
_NEARLY_ALL, _MANY = 0.8, 0.5  # of the files with code: then the folders below that one are told, instead or too

_WHOLE_NAME: Final = (
    r"(?:this|the|that|our|your)\s+(?:whole\s+)?(?:project|repo(?:sitory)?|code\s?base|code|library|package|framework|app(?:lication)?"
    r"|program|tool|software|monorepo)"
)
_STRUCTURE: Final = r"(?:overview|summary|architecture|structure|layout|purpose|tour)"
_CLAUSES: Final = (
    r"what\s+(?:does|do|is|are)\s+{whole}(?:\s+(?:do|about|for|contain|offer|good\s+for|used\s+for|made\s+of))?",
    r"what(?:'s|\s+is)\s+(?:in|inside)\s+{whole}",
    r"where\s+(?:do|should|can|would)\s+(?:i|we|one)\s+(?:start|begin)(?:\s+(?:to\s+read|reading|looking|with))?"
    r"(?:\s+(?:in\s+|with\s+)?{whole}|\s+here)?",
    r"how\s+(?:is|are)\s+{whole}\s+(?:structured|organi[sz]ed|laid\s+out|set\s+up|split(?:\s+up)?|built\s+up)",
    rf"(?:(?:give\s+me|show\s+me|what\s+is|what's)\s+)?(?:an?\s+|the\s+)?(?:\w+(?:-\w+)?\s+)?{_STRUCTURE}\s+of\s+{{whole}}",
    rf"(?:(?:give\s+me|show\s+me)\s+)?(?:an?\s+|the\s+)?{_STRUCTURE}",
    r"(?:explain|describe|summari[sz]e)\s+{whole}(?:\s+to\s+me)?",
)
_SPLIT: Final = re.compile(
    r"\s*(?:[,;?.!]+\s+(?:and\s+)?|\s+and\s+)(?=(?:what|where|how|explain|describe)\b)", re.IGNORECASE
)

_README: Final = re.compile(r"readme(?:\.\w+)?$", re.IGNORECASE)
_TELLS_WHAT: Final = re.compile(r"^\W*(?:what\s+is|about|overview|introduction|summary|description)\b", re.IGNORECASE)
_HEADING: Final = re.compile(r"^\s*#+\s+(.*)$")
_UNDERLINE: Final = re.compile(r"^\s*(?:={3,}|-{3,}|~{3,})\s*$")
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")
_NO_PROSE: Final = re.compile(r"^\s*(?:[|>]|\.\.\s|[-*+]\s|\d+[.)]\s|\[[^\]]+\]:|\s{4})")
_DIRECTIVE: Final = re.compile(r"^\s*(?:\.\.|:|---|\w+:\s)")  # of reStructuredText, and the head of a Markdown file
_IMAGE: Final = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_HTML: Final = re.compile(r"<[^>]*>")
_EMPHASIS: Final = re.compile(r"\*\*|(?<!\w)[_*]{1,2}(?=\w)|(?<=\w)[_*]{1,2}(?!\w)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")

_TO_READ: Final = re.compile(
    r"contribut|architect|overview|getting[-_ ]?started|quick[-_ ]?start|tutorial|guide|intro|develop|design|internals|hacking",
    re.IGNORECASE,
)


class _Paragraph(NamedTuple):
    text: str
    heading: str
    first: int
    last: int


def asks_for_overview(question: str, names: Sequence[str] = ()) -> bool:
    """Whether a question asks about the repository as a whole, in each of its parts.

    Args:
        question: As it was put.
        names: What the repository is called.
    """
    named = "|".join(re.escape(name) for name in names if name)
    whole = f"(?:{_WHOLE_NAME}{f'|{named}' if named else ''})"
    later = f"(?:{_WHOLE_NAME}|it{f'|{named}' if named else ''})"
    parts = _SPLIT.split(question.strip().rstrip("?.! "))
    return all(
        any(re.fullmatch(clause.format(whole=later if number else whole), part, re.IGNORECASE) for clause in _CLAUSES)
        for number, part in enumerate(parts)
    )


def write_overview(writer: Writer, index: Index, state: QueryState, project: str) -> bool:
    """Write what the repository is, if the question asks that and anything is known of it; whether that is so.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the question.
        project: Name of the repository.
    """
    is_type = bool(project) and any(one.name == project and one.kind in TYPES for one in index.named(project))
    if not asks_for_overview(state["query"], [] if is_type else [project]):
        return False
    readme = min((path for path in index.corpus.paths if _README.match(path)), key=len, default="")
    told = _telling(list(_paragraphs(index, readme)) if readme else [])
    if not told and not index.central:
        return False
    for one in told:
        if lines := index.lines(readme, one.first, one.last):
            writer.say(f"> {prose(one.text)}\n>\n> — {writer.cite(lines)}\n")
    _folders(writer, index)
    _most_used(writer, index)
    _mains(writer, index)
    _documents(writer, index)
    return True


def _telling(paragraphs: Sequence[_Paragraph]) -> Sequence[_Paragraph]:
    """Return the paragraphs that say what a thing is: those under a heading that says so, else the first."""
    start = next((number for number, one in enumerate(paragraphs) if _TELLS_WHAT.match(one.heading)), 0)
    return paragraphs[start : start + _MOST_PARAGRAPHS]


def _paragraphs(index: Index, path: str) -> Iterator[_Paragraph]:
    """Yield the paragraphs of a document that are sentences: no lists, tables, code and badges."""
    lines = index.whole_file(path)
    heading, start, in_code = "", 0, False
    for number, line in enumerate([*lines, ""], 1):
        if _FENCE.match(line):
            in_code = not in_code
        titled = _HEADING.match(line)
        ends = in_code or not line.strip() or titled or _UNDERLINE.match(line) or _FENCE.match(line)
        if not ends:
            start = start or number
            continue
        if _UNDERLINE.match(line) and start:
            heading = lines[number - 2]
        elif start and (text := _sentences(lines[start - 1 : number - 1])):
            yield _Paragraph(text, heading, start, number - 1)
        heading = titled[1] if titled else heading
        start = 0


def _sentences(lines: Sequence[str]) -> str:
    """Return lines as prose; empty if they are something else."""
    if _NO_PROSE.match(lines[0]):
        return ""
    text = _EMPHASIS.sub("", _HTML.sub("", _LINK.sub(r"\1", _IMAGE.sub("", " ".join(lines))))).strip()
    return text[:_LONGEST] if len(_WORD.findall(text)) >= _LEAST_WORDS else ""


def _folders(writer: Writer, index: Index) -> None:
    """Write the folders with code, each with what is used most of it, and which others there are."""
    roles = dict(zip(index.corpus.paths, index.corpus.file_roles, strict=True))
    sources = [path for path, role in roles.items() if role == "source" and not path.startswith(".")]
    above = _common_folder(sources)
    by_folder = _counted(above, sources)
    for folder in [folder for folder, count in by_folder.items() if folder and count > _MANY * len(sources)]:
        inside = _common_folder([path for path in sources if path.startswith(folder)])
        parts = _counted(inside, sources)
        if len(parts) > 1:
            del by_folder[folder]
            by_folder.update({part or inside: count for part, count in parts.items()})
    shown = [folder for folder, _ in by_folder.most_common() if folder][:_MOST_FOLDERS]
    if not shown and above:
        above, shown, by_folder = "", [above], Counter({above: len(sources)})
    if shown:
        writer.heading(f"The code, in {code(above)}" if above else "The code")
    for folder in shown:
        best = _central(index, folder)[:_MOST_OF_FOLDER]
        named = joined([f"{code(one.name)} ({writer.cite(head)})" for one in best if (head := index.head_of(one))])
        writer.say(f"- {code(folder)}: {counted(by_folder[folder], 'file')}{f', with {named}' if named else ''}")
    if left := len([folder for folder in by_folder if folder]) - len(shown):
        writer.say(f"- and {counted(left, 'more folder')}")
    others: dict[str, list[str]] = {}
    seen = ((_below("", path), role) for path, role in roles.items() if "/" in path and not path.startswith("."))
    for folder, role in dict.fromkeys(seen):
        others.setdefault(role, []).append(code(folder))
    told = [f"{title} in {joined(others[role][:4])}" for role, title in _OTHERS if role in others]
    if told:
        writer.say(f"\nThere are {joined(told)}.")


_OTHERS: Final = (("test", "tests"), ("example", "examples"), ("docs", "documents"))


def _common_folder(paths: Sequence[str]) -> str:
    """Return the innermost folder that nearly all of some files are in; empty if that is the repository."""
    above = ""
    while True:
        below = _counted(above, paths)
        folder, count = below.most_common(1)[0] if below else ("", 0)
        if not folder or count < _NEARLY_ALL * len(paths):
            return above
        above = folder


def _counted(above: str, paths: Sequence[str]) -> Counter[str]:
    """Return how many of some files are in each folder right below one; by the empty name, those right in it."""
    return Counter(_below(above, path) for path in paths if path.startswith(above))


def _below(above: str, path: str) -> str:
    """Return the folder right below one that a path is in, with its slash; empty if it is right in that one."""
    first, slash, _ = path[len(above) :].partition("/")
    return f"{above}{first}/" if slash else ""


def _central(index: Index, folder: str = "") -> list[Declared]:
    """Return the types of the code in a folder that most of it rests on, else its functions, the most used first."""
    found = [one for one in index.central if one.role == "source" and one.path.startswith(folder)]
    best = [one for one in found if one.kind in TYPES] or [one for one in found if one.kind in CALLABLE]
    return sorted(best, key=lambda one: "." in one.name)  # what is inside of another behind what is not


def _most_used(writer: Writer, index: Index) -> None:
    if used := _central(index)[:_MOST_USED]:
        writer.heading("Much of the code rests on")
    for one in used:
        if head := index.head_of(one):
            summary = first_sentence(index.summary(one))
            said = f"{code(one.name)}, {kind_name(one.kind)}{f': {summary}' if summary else ''}"
            writer.say(f"- {said} — {writer.cite(head)}")


def _mains(writer: Writer, index: Index) -> None:
    mains = [one for one in index.named("main") if one.kind in CALLABLE and one.role == "source"][:_MOST_MAINS]
    if mains:
        writer.heading("Functions called `main`")
    for one in mains:
        if head := index.head_of(one):
            writer.say(f"- {code(one.name)} — {writer.cite(head)}")


def _documents(writer: Writer, index: Index) -> None:
    """Write which documents to read, those first that are written for who is new."""
    named = [path for path in index.corpus.paths if path.count("/") <= 1 and index.role(path) == "docs"]
    telling = [path for path in named if _TO_READ.search(path.rpartition("/")[2])]
    first = [lines for path in telling if (lines := _title(index, path))][:_MOST_DOCUMENTS]
    if first:
        writer.heading("Documents to read")
    for lines in first:
        writer.say(f"- {prose(lines.text.strip('# '))} — {writer.cite(lines)}")


def _title(index: Index, path: str) -> Lines | None:
    """Return the first line of a document that has words."""
    numbered = enumerate(index.whole_file(path), 1)
    return next(
        (Lines(path, number, number, line) for number, line in numbered if _WORD.search(_HTML.sub("", line))), None
    )
