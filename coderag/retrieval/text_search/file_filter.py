"""Filter of the files of a text search, by the same rules as the chunks of other searches."""

from collections.abc import Callable, Sequence

from coderag.errors import InvalidQueryError
from coderag.retrieval.filters import check_values_present
from coderag.retrieval.path_filter import build_path_matcher
from coderag.schema.chunks import FileRecord
from coderag.schema.query import FilterValues


def filter_records(
    records: Sequence[FileRecord],
    filters: FilterValues,
    read_text: Callable[[FileRecord], str],
    read_all_records: Callable[[], Sequence[FileRecord]],
) -> list[FileRecord]:
    """Return the files that pass the filters by language, role, path and revision.

    Args:
        records: The indexed files.
        filters: Filters of the search.
        read_text: Returns the text of a file; empty if it cannot be read.
        read_all_records: Returns the records of all candidate files, to name those that are not indexed.

    Raises:
        InvalidQueryError: A filter matches nothing, or no file passes all.
    """
    passing: dict[str, list[FileRecord]] = {}
    if filters["languages"]:
        passing["language"] = _filter_languages(records, filters["languages"], read_text)
    if filters["roles"]:
        check_values_present("role", filters["roles"], {record.role for record in records})
        passing["role"] = [record for record in records if record.role in filters["roles"]]
    if filters["paths"]:
        matcher = build_path_matcher(tuple(filters["paths"]))
        matcher.check_matches([record.path for record in records], read_all_records)
        passing["path"] = [record for record in records if matcher(record.path)]
    paths = [{record.path for record in group} for group in passing.values()]
    chosen = [record for record in records if all(record.path in group for group in paths)]
    if len(paths) > 1 and not chosen:
        counts = "; ".join(f"{name}: {len(group)}" for name, group in passing.items())
        raise InvalidQueryError("no indexed file passes all filters", hint=f"Files that match each filter: {counts}.")
    if (changed := filters.get("changed")) is not None:
        changed_paths = frozenset(changed)
        chosen = [record for record in chosen if record.path in changed_paths]
    return chosen


def _filter_languages(
    records: Sequence[FileRecord], wanted: Sequence[str], read_text: Callable[[FileRecord], str]
) -> list[FileRecord]:
    from coderag.retrieval.language_filter import (  # noqa: PLC0415  # reads the table of languages
        CONTAINER_LANGUAGES,
        find_embedded_languages,
        select_languages,
    )

    embedded = {
        record.path: find_embedded_languages(record.language, read_text(record))
        for record in records
        if record.language in CONTAINER_LANGUAGES
    }
    present = {record.language for record in records}
    chosen = select_languages(wanted, present, lambda: frozenset[str]().union(*embedded.values()))
    return [
        record
        for record in records
        if chosen.is_matching(record.path, record.language)
        or not chosen.names.isdisjoint(embedded.get(record.path, ()))
    ]
