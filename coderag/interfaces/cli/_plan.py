"""The plan of an indexing run, as ``coderag index --plan`` prints it."""

from collections.abc import Iterable, Mapping
from math import ceil, floor, log10

from coderag.interfaces.cli._report import LISTED, Row, counts, listing, print_report
from coderag.interfaces.cli._streams import Output
from coderag.schema.index_plan import EmbeddingPlan, Estimate, Exclusion, FileTotals, IndexPlan

_SECONDS_A_MINUTE, _SECONDS_AN_HOUR = 60, 3_600
_A_KILOBYTE = 1_000


def print_plan(plan: IndexPlan, output: Output) -> None:
    """Print a plan: as a report, or as JSON."""
    if output.as_json:
        output.result(plan, nothing_to_do=plan.is_up_to_date)
    else:
        print_report(f"plan for {plan.root} (nothing is written)", plan_rows(plan), output)


def plan_rows(plan: IndexPlan) -> list[Row]:
    """Return a plan as rows."""
    return [
        _to_do(plan),
        Row("folder", plan.directory),
        Row("files", _amount(plan.total)),
        *([Row("to read", _amount(plan.to_read))] if 0 < plan.to_read.files < plan.total.files else []),
        *_table("languages", plan.languages),
        *_table("largest", plan.folders),
        *listing("left out", map(_exclusion, plan.excluded)),
        *listing("failed", (f"{path}: {error}" for path, error in plan.failed), "red"),
        Row("chunks", _count(plan.chunks)),
        *(() if plan.is_up_to_date else _costs(plan)),
    ]


def _to_do(plan: IndexPlan) -> Row:
    if plan.is_up_to_date:
        return Row("to do", "nothing: the index is up to date", "green")
    changes = counts({name: getattr(plan, name) for name in ("new", "changed", "removed", "unchanged")})
    if plan.rebuild:
        return Row("to do", f"all anew: {plan.rebuild}", "yellow")
    if plan.reembed:
        return Row("to do", f"{changes}; all vectors anew: {plan.reembed}", "yellow")
    return Row("to do", changes if plan.generation else f"{changes} (there is no index yet)")


def _costs(plan: IndexPlan) -> Iterable[Row]:
    processes = "1 process" if plan.processes == 1 else f"{plan.processes:,} processes"
    server = ", and what the embedding server takes" if plan.embedding else ""
    yield Row("time", f"{_duration(plan.seconds)} with {processes}{server}")
    yield Row("memory", _bytes(plan.memory))
    if plan.embedding:
        yield from _embedding(plan.embedding)


def _embedding(plan: EmbeddingPlan) -> Iterable[Row]:
    yield Row("embedding", f"{plan.provider}/{plan.model}")
    cached = f" ({plan.cached:,} more are kept from an earlier run)" if plan.cached else ""
    yield Row("sent", f"{_count(plan.texts)} texts with {_count(plan.tokens)} tokens{cached}")
    if plan.cost is not None:
        yield Row("cost", f"{_spread(plan.cost)} at {plan.price_per_million_tokens:g} for a million tokens")
    elif plan.provider in {"openai", "voyage"}:
        yield Row("cost", "not known: set embedding.price_per_million_tokens to the model's price")


def _table(label: str, amounts: Mapping[str, FileTotals]) -> list[Row]:
    """Return a row for each name, its bytes and files in columns."""
    sizes = [
        (_size(amount.bytes), f"{amount.files:,} {'file ' if amount.files == 1 else 'files'}")
        for amount in amounts.values()
    ]
    bytes_wide = max((len(size) for size, _ in sizes[:LISTED]), default=0)
    files_wide = max((len(files) for _, files in sizes[:LISTED]), default=0)
    lines = (f"{size:>{bytes_wide}}  {files:>{files_wide}}  {name}"
             for name, (size, files) in zip(amounts, sizes, strict=True))  # fmt: skip
    return listing(label, lines)


def _exclusion(one: Exclusion) -> str:
    parts = [_number(one.files, "file"), _number(one.folders, "folder")]
    return f"{' and '.join(filter(None, parts))}: {one.reason} (such as {one.example})"


def _amount(amount: FileTotals) -> str:
    return f"{_number(amount.files, 'file') or 'none'}, {_size(amount.bytes)}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}" if count else ""


def _duration(seconds: Estimate) -> str:
    if seconds.high < 1:
        return "less than 1 s"
    for unit, factor in (("h", _SECONDS_AN_HOUR), ("min", _SECONDS_A_MINUTE)):
        if seconds.high >= 2 * factor:
            return f"{_spread(seconds, factor)} {unit}"
    return f"{_spread(seconds)} s"


def _bytes(number: Estimate) -> str:
    unit, factor = ("GB", 1e9) if number.high >= 2e9 else ("MB", 1e6)
    return f"{_spread(number, factor)} {unit}"


def _count(number: Estimate) -> str:
    """Return a spread of whole numbers; one that is known is told to the last digit."""
    if number.low == number.high:
        return f"{number.low:,.0f}"
    return _spread(Estimate(floor(number.low), ceil(number.high)))


def _spread(number: Estimate, unit: float = 1) -> str:
    """Return ``about 4-8``: both bounds with two digits that mean something, or one number if those are the same."""
    low, high = _rounded(number.low / unit), _rounded(number.high / unit)
    return f"about {low}" if low == high else f"about {low}-{high}"


def _rounded(number: float) -> str:
    """Return a number with two significant digits and without an exponent."""
    if not number:
        return "0"
    digits = 1 - floor(log10(abs(number)))
    text = f"{round(number, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _size(number: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if number >= factor:
            return f"{number / factor:,.1f} {unit}"
    return f"{number / 1e3:,.1f} kB" if number >= _A_KILOBYTE else f"{number:.0f} B"
