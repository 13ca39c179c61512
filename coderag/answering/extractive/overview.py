"""Tell what the whole repository is: what its README says of it, its folders, where it begins, and what to read."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.index_reader import CALLABLE, TYPES, Declared, IndexReader
from coderag.answering.extractive.readme import said_of_itself, title_of
from coderag.answering.extractive.wording import Writer, code, counted, first_sentence, joined, kind_name, prose
from coderag.schema.query import QueryState

_MOST_FOLDERS, _MOST_USED, _MOST_MAINS, _MOST_DOCUMENTS = 10, 6, 3, 6
_MOST_OF_FOLDER = 2  # declarations
_MOST_OTHERS = 4  # folders of a kind
_NEARLY_ALL, _MANY = 0.8, 0.5  # of the files with code: then the folders below that one are told, instead or too

_OTHERS: Final = (("test", "tests"), ("example", "examples"), ("docs", "documents"))
_TO_READ: Final = re.compile(
    r"contribut|architect|overview|getting[-_ ]?started|quick[-_ ]?start|tutorial|guide|intro|develop|design|internals|hacking",
    re.IGNORECASE,
)


def write_overview(writer: Writer, index: IndexReader, state: QueryState, project: str) -> bool:
    """Write what the repository is, if the question asks that and anything is known of it; whether that is so.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the question.
        project: Name of the repository.
    """
    reading = state["analysis"]["reading"]
    if not reading["is_of_whole"]:
        return False
    is_a_type = bool(project) and any(one.name == project and one.kind in TYPES for one in index.named(project))
    told = said_of_itself(index)
    if (is_a_type and reading["subjects"]) or not (told or index.central):
        return False
    for one in told:
        writer.say(f"> {prose(one.text)}\n>\n> — {writer.cite(one.lines)}\n")
    _folders(writer, index)
    _other_folders(writer, index)
    _most_used(writer, index)
    _mains(writer, index)
    _documents(writer, index)
    return True


def _folders(writer: Writer, index: IndexReader) -> None:
    """Write the folders with code, each with what is used most of it."""
    data = {index.corpus.paths[file] for file in index.corpus.data_files.tolist()}
    sources = [path for path in _visible(index) if index.role(path) == "source" and path not in data]
    above = _common_folder(sources)
    by_folder = _files_by_folder(above, sources)
    for folder in [folder for folder, count in by_folder.items() if folder and count > _MANY * len(sources)]:
        inside = _common_folder([path for path in sources if path.startswith(folder)])
        parts = _files_by_folder(inside, sources)
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


def _other_folders(writer: Writer, index: IndexReader) -> None:
    """Write which folders have tests, examples and documents."""
    folders: dict[str, list[str]] = {}
    for folder, role in dict.fromkeys((_below("", path), index.role(path)) for path in _visible(index) if "/" in path):
        folders.setdefault(role, []).append(code(folder))
    if told := [f"{title} in {joined(folders[role][:_MOST_OTHERS])}" for role, title in _OTHERS if role in folders]:
        writer.say(f"\nThere are {joined(told)}.")


def _visible(index: IndexReader) -> list[str]:
    """Return the paths of the files that are not hidden."""
    return [path for path in index.corpus.paths if not path.startswith(".")]


def _common_folder(paths: Sequence[str]) -> str:
    """Return the innermost folder that nearly all of some files are in; empty if that is the repository."""
    above = ""
    while True:
        below = _files_by_folder(above, paths)
        folder, count = below.most_common(1)[0] if below else ("", 0)
        if not folder or count < _NEARLY_ALL * len(paths):
            return above
        above = folder


def _files_by_folder(above: str, paths: Sequence[str]) -> Counter[str]:
    """Return how many of some files are in each folder right below one; by the empty name, those right in it."""
    return Counter(_below(above, path) for path in paths if path.startswith(above))


def _below(above: str, path: str) -> str:
    """Return the folder right below one that a path is in, with its slash; empty if it is right in that one."""
    first, slash, _ = path[len(above) :].partition("/")
    return f"{above}{first}/" if slash else ""


def _central(index: IndexReader, folder: str = "") -> list[Declared]:
    """Return the types of the code in a folder that most of it rests on, else its functions, the most used first."""
    found = [one for one in index.central if one.role == "source" and one.path.startswith(folder)]
    best = [one for one in found if one.kind in TYPES] or [one for one in found if one.kind in CALLABLE]
    return sorted(best, key=lambda one: "." in one.name)  # what is inside of another behind what is not


def _most_used(writer: Writer, index: IndexReader) -> None:
    if used := _central(index)[:_MOST_USED]:
        writer.heading("Much of the code rests on")
    for one in used:
        if head := index.head_of(one):
            summary = first_sentence(index.summary(one))
            said = f"{code(one.name)}, {kind_name(one.kind)}{f': {summary}' if summary else ''}"
            writer.say(f"- {said} — {writer.cite(head)}")


def _mains(writer: Writer, index: IndexReader) -> None:
    mains = [one for one in index.named("main") if one.kind in CALLABLE and one.role == "source"][:_MOST_MAINS]
    if mains:
        writer.heading("Functions called `main`")
    for one in mains:
        if head := index.head_of(one):
            writer.say(f"- {code(one.name)} — {writer.cite(head)}")


def _documents(writer: Writer, index: IndexReader) -> None:
    """Write which documents to read, those first that are written for who is new."""
    named = [path for path in index.corpus.paths if path.count("/") <= 1 and index.role(path) == "docs"]
    telling = [path for path in named if _TO_READ.search(path.rpartition("/")[2])]
    first = [lines for path in telling if (lines := title_of(index, path))][:_MOST_DOCUMENTS]
    if first:
        writer.heading("Documents to read")
    for lines in first:
        writer.say(f"- {prose(lines.text.strip('# '))} — {writer.cite(lines)}")
