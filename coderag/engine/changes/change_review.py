"""Assembly of the review of a change."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.codegraph.graph import CodeGraph
from coderag.engine.changes.history import review_history
from coderag.engine.changes.impact import (
    MAX_SEARCHED_NAMES,
    EditedPlaces,
    add_mentions,
    review_declarations,
)
from coderag.engine.changes.indexed_declarations import find_indexed
from coderag.engine.changes.revision_pair import ChangedFile, RevisionPair, read_revision_pair
from coderag.engine.changes.suite_selection import SuiteSelector
from coderag.ingestion.files.roles import classify_role
from coderag.lineage.declaration_diff import diff_declarations
from coderag.lineage.line_diff import diff_lines
from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.schema.change_review import (
    BREAKING_CHANGES,
    ChangeReview,
    ChangeTarget,
    ReviewedDeclaration,
    ReviewedFile,
)
from coderag.schema.lineage import DeclarationChange
from coderag.stores.protocols import IndexSnapshot

MAX_DECLARATIONS: Final = 400
"""Changed declarations that are reviewed, those that may break other code first."""

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory

_CHANGE_RANKS: Final = {"removed": 0, "signature": 1, "body": 2, "added": 3}


def build_review(
    root: Path,
    graph: CodeGraph,
    snapshot: IndexSnapshot,
    target: ChangeTarget,
    history: "CodeHistory | None" = None,
    *,
    max_tests: int,
    depth: int = 1,
) -> ChangeReview:
    """Review a change.

    Args:
        root: Folder of the repository.
        graph: Code graph of the index.
        snapshot: The index, with edits on disk.
        target: The change.
        history: History of the code; None if there is none.
        max_tests: Maximum number of listed tests.
        depth: Number of calls to follow from a changed declaration.

    Raises:
        InvalidQueryError: The folder is in no git repository, a revision is unknown, or a patch does not apply.
    """
    pair = read_revision_pair(root, target)
    compared = [(file, change) for file in pair.files for change in _diff_file(file)]
    compared.sort(key=lambda entry: _CHANGE_RANKS[entry[1].change])
    notes = _describe_limits(pair, len(compared))
    compared = compared[:MAX_DECLARATIONS]
    changes = [change for _, change in compared]
    added = {change.qualified_name for change in changes if change.change == "added"}
    indexed = {
        position: find_indexed(graph, change, file.old_path, added) for position, (file, change) in enumerate(compared)
    }
    paths = sorted({path for file in pair.files for path in (file.path, file.old_path) if path})
    declarations = review_declarations(graph, changes, indexed, EditedPlaces(changes, paths), depth=depth)
    search = MentionSearch(graph, snapshot)
    lines = add_mentions(search, graph, declarations, indexed, paths)
    selection = SuiteSelector(root, graph, search.files).select(changes, indexed, lines.tests, pair.files, max_tests)
    notes += _describe_matches(pair, declarations)
    return ChangeReview(
        base=pair.base,
        target=pair.target,
        files=[_review_file(file) for file in pair.files],
        declarations=declarations,
        tests=selection,
        documents=lines.documents,
        settings=lines.settings,
        history=review_history(history, pair, declarations, lambda path: graph.symbols.find_file(path) is not None),
        notes=notes,
    )


def _diff_file(file: ChangedFile) -> list[DeclarationChange]:
    if file.status == "mode" or (file.old_data is None and file.new_data is None):
        return []
    return diff_declarations(file.path, file.old_data, file.new_data, old_path=file.old_path or None)


def _review_file(file: ChangedFile) -> ReviewedFile:
    hunks = diff_lines((file.old_data or b"").splitlines(), (file.new_data or b"").splitlines())
    return ReviewedFile(
        file.path,
        file.old_path,
        file.status,
        classify_role(file.path),
        sum(hunk.new_count for hunk in hunks),
        sum(hunk.old_count for hunk in hunks),
        file.note,
    )


def _describe_limits(pair: RevisionPair, n_declarations: int) -> list[str]:
    notes = []
    if pair.n_left_out:
        notes.append(f"{pair.n_left_out:,} further files changed; only the first {len(pair.files):,} are reviewed.")
    if n_declarations > MAX_DECLARATIONS:
        notes.append(
            f"{n_declarations:,} declarations changed; only {MAX_DECLARATIONS} are reviewed, removed ones first."
        )
    return notes


def _describe_matches(pair: RevisionPair, declarations: Sequence[ReviewedDeclaration]) -> list[str]:
    notes = []
    missing = [
        declaration
        for declaration in declarations
        if declaration.match == "missing" and declaration.change.change != "removed"
    ]
    if missing and not pair.is_on_disk:
        notes.append(
            f"The index holds the files on disk: {len(missing):,} of {len(declarations):,} changed declarations are not in it, "
            "so their dependents are unknown."
        )
    n_breaking = sum(declaration.change.change in BREAKING_CHANGES for declaration in declarations)
    if max(n_breaking, len(declarations)) > MAX_SEARCHED_NAMES:
        notes.append(f"Lines that name a declaration are searched for {MAX_SEARCHED_NAMES} of the changed names only.")
    return notes
