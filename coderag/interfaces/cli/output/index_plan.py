"""Printing of an indexing plan for ``coderag index --plan``."""

from collections.abc import Iterable, Mapping
from math import ceil, floor, log10

from coderag.interfaces.cli.output.report import MAX_LISTED, ReportRow, format_counts, make_list_rows, print_report
from coderag.interfaces.cli.output.streams import Output
from coderag.schema.index_plan import EmbeddingPlan, Estimate, Exclusion, FileTotals, IndexPlan

_SECONDS_PER_MINUTE, _SECONDS_PER_HOUR = 60, 3_600
_BYTES_PER_KILOBYTE = 1_000


def print_plan(plan: IndexPlan, output: Output) -> None:
    """Print a plan as a report or as JSON."""
    if output.as_json:
        output.write_json(plan, nothing_to_do=plan.is_up_to_date)
    else:
        print_report(f"plan for {plan.root} (nothing is written)", make_plan_rows(plan), output)


def make_plan_rows(plan: IndexPlan) -> list[ReportRow]:
    """Return the rows of a plan."""
    return [
        _make_summary_row(plan),
        ReportRow("folder", plan.directory),
        ReportRow("files", _format_amount(plan.total)),
        *([ReportRow("to read", _format_amount(plan.to_read))] if 0 < plan.to_read.files < plan.total.files else []),
        *_make_table_rows("languages", plan.languages),
        *_make_table_rows("largest", plan.folders),
        *make_list_rows("left out", map(_format_exclusion, plan.excluded)),
        *make_list_rows("failed", (f"{path}: {error}" for path, error in plan.failed), "red"),
        ReportRow("chunks", _format_estimate(plan.chunks)),
        *(() if plan.is_up_to_date else _make_cost_rows(plan)),
    ]


def _make_summary_row(plan: IndexPlan) -> ReportRow:
    if plan.is_up_to_date:
        return ReportRow("to do", "nothing: the index is up to date", "green")
    changes = format_counts({name: getattr(plan, name) for name in ("new", "changed", "removed", "unchanged")})
    if plan.rebuild:
        return ReportRow("to do", f"all anew: {plan.rebuild}", "yellow")
    if plan.reembed:
        return ReportRow("to do", f"{changes}; all vectors anew: {plan.reembed}", "yellow")
    return ReportRow("to do", changes if plan.generation else f"{changes} (there is no index yet)")


def _make_cost_rows(plan: IndexPlan) -> Iterable[ReportRow]:
    processes = "1 process" if plan.processes == 1 else f"{plan.processes:,} processes"
    server = ", and what the embedding server takes" if plan.embedding else ""
    yield ReportRow("time", f"{_format_duration(plan.seconds)} with {processes}{server}")
    yield ReportRow("memory", _format_memory(plan.memory))
    if plan.embedding:
        yield from _make_embedding_rows(plan.embedding)


def _make_embedding_rows(plan: EmbeddingPlan) -> Iterable[ReportRow]:
    yield ReportRow("embedding", f"{plan.provider}/{plan.model}")
    cached = f" ({plan.cached:,} more are cached from an earlier run)" if plan.cached else ""
    yield ReportRow("sent", f"{_format_estimate(plan.texts)} texts with {_format_estimate(plan.tokens)} tokens{cached}")
    if plan.cost is not None:
        yield ReportRow("cost", f"{_format_range(plan.cost)} at {plan.price_per_million_tokens:g} for a million tokens")
    elif plan.provider in {"openai", "voyage"}:
        yield ReportRow("cost", "unknown: set embedding.price_per_million_tokens")


def _make_table_rows(label: str, amounts: Mapping[str, FileTotals]) -> list[ReportRow]:
    """Return a row for each name, with bytes and files in columns."""
    sizes = [
        (_format_size(amount.bytes), f"{amount.files:,} {'file ' if amount.files == 1 else 'files'}")
        for amount in amounts.values()
    ]
    bytes_wide = max((len(size) for size, _ in sizes[:MAX_LISTED]), default=0)
    files_wide = max((len(files) for _, files in sizes[:MAX_LISTED]), default=0)
    lines = (f"{size:>{bytes_wide}}  {files:>{files_wide}}  {name}"
             for name, (size, files) in zip(amounts, sizes, strict=True))  # fmt: skip
    return make_list_rows(label, lines)


def _format_exclusion(exclusion: Exclusion) -> str:
    parts = [_format_count(exclusion.files, "file"), _format_count(exclusion.folders, "folder")]
    return f"{' and '.join(filter(None, parts))}: {exclusion.reason} (such as {exclusion.example})"


def _format_amount(amount: FileTotals) -> str:
    return f"{_format_count(amount.files, 'file') or 'none'}, {_format_size(amount.bytes)}"


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}" if count else ""


def _format_duration(seconds: Estimate) -> str:
    if seconds.high < 1:
        return "less than 1 s"
    for unit, factor in (("h", _SECONDS_PER_HOUR), ("min", _SECONDS_PER_MINUTE)):
        if seconds.high >= 2 * factor:
            return f"{_format_range(seconds, factor)} {unit}"
    return f"{_format_range(seconds)} s"


def _format_memory(number: Estimate) -> str:
    unit, factor = ("GB", 1e9) if number.high >= 2e9 else ("MB", 1e6)
    return f"{_format_range(number, factor)} {unit}"


def _format_estimate(number: Estimate) -> str:
    """Format a range of integers; an exact one keeps all digits."""
    if number.low == number.high:
        return f"{number.low:,.0f}"
    return _format_range(Estimate(floor(number.low), ceil(number.high)))


def _format_range(number: Estimate, unit: float = 1) -> str:
    """Format a range as ``about 4-8``, bounds with two significant digits, or one number if they are equal."""
    low, high = _round_significant(number.low / unit), _round_significant(number.high / unit)
    return f"about {low}" if low == high else f"about {low}-{high}"


def _round_significant(number: float) -> str:
    """Round to two significant digits, without an exponent."""
    if not number:
        return "0"
    digits = 1 - floor(log10(abs(number)))
    text = f"{round(number, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format_size(number: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if number >= factor:
            return f"{number / factor:,.1f} {unit}"
    return f"{number / 1e3:,.1f} kB" if number >= _BYTES_PER_KILOBYTE else f"{number:.0f} B"
