"""Comparison of recorded searches with the results of now."""

from collections.abc import Sequence
from typing import Final

from coderag.retrieval.rank_moves import RankedPlace, RankMove, compare_rankings
from coderag.schema.search import SearchHit
from coderag.stores.query_log import MAX_RECORDED_RESULTS, QueryRecord, RecordedResult

_NO_LINES: Final = 0


def count_compared(record: QueryRecord, default_top_k: int) -> int:
    """Return the number of first results in which a record and a search of now are comparable."""
    if len(record.results) < record.result_count:  # the log did not keep all of them
        return len(record.results)
    return min(record.top_k or default_top_k, MAX_RECORDED_RESULTS)


def compare_with_record(record: QueryRecord, hits: Sequence[SearchHit]) -> list[RankMove]:
    """Compare the results of now with those of a recorded search."""
    current = [RankedPlace(str(hit.path), hit.qualified_name, hit.kind, hit.start_line, hit.end_line) for hit in hits]
    return compare_rankings([_parse_result(result) for result in record.results], current)


def _parse_result(result: RecordedResult) -> RankedPlace:
    path, _, lines = result.location.rpartition(":")
    first, _, last = lines.partition("-")
    start = int(first) if first.isdigit() else _NO_LINES
    return RankedPlace(path or result.location, result.name, "", start, int(last) if last.isdigit() else start)
