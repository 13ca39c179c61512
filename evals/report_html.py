"""A run, and how it compares with an earlier one, as one HTML page: no script, no network, light and dark."""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final

from .comparison import Change, Comparison, compare
from .markup import element, escaped, grid, table_markup
from .plots import Interval, Series, Tone, bars, curves, interval_table, log_place, log_ticks
from .report_questions import first_right, question_list
from .runs import Grouping, Run
from .statistics import Estimate
from .tables import comparison_tables, interval, main_metrics, remarks, run_tables, silence

_GROUPED: Final[tuple[tuple[Grouping, str], ...]] = (
    ("intent", "intent"),
    ("language", "language"),
    ("repository", "repository"),
)
_FOUND_CURVES: Final = {"hit": "the lines", "function_hit": "the declaration", "file_hit": "the file"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STEPS = 60  # of the curve of times


def render(run: Run, baseline: Run | None = None) -> str:
    """Return a report of a run as a page that needs no other file.

    Args:
        run: The run.
        baseline: An earlier one to compare it with.

    Raises:
        InvalidQueryError: The two have no question in common.
    """
    comparison = compare(baseline, run) if baseline else None
    title = escaped(f"{run.golden or 'Evaluation'}: {run.engine} {run.version}".strip())
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}</title><style>{_style()}</style>"
    )
    body = element("main", element("h1", title) + "".join(_sections(run, comparison)))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _style() -> str:
    return files(__package__).joinpath("report.css").read_text(encoding="utf-8")


def _sections(run: Run, comparison: Comparison | None) -> Iterable[str]:
    yield element("p", escaped(_about(run)), class_="soft")
    for remark in remarks(run):
        yield element("p", escaped(remark), class_="notice")
    yield _tiles(run)
    if comparison:
        yield _section("Against the baseline", _compared(comparison))
    yield _section("Where the first right result is", _ranks(run, comparison) + _pair(_found(run), _coverage(run)))
    yield _section("All metrics", _metrics(run))
    yield _section("By group", _groups(run))
    yield _section("Verdicts", _calibration(run))
    yield _section("Times", _times(run, comparison))
    yield _section("Questions", _HOW_LISTED + question_list(run, comparison))
    yield _section("Settings", _settings(run))


_HOW_LISTED = element(
    "p",
    "The worst first: nDCG (of a question without an answer: 1 if that was said), the rank of the first right result, and "
    "the question. Open one to see what was found.",
    class_="soft",
)


def _section(title: str, content: str) -> str:
    return element("section", element("h2", title) + content) if content else ""


def _about(run: Run) -> str:
    revision = f" at {run.revision[:12]}" if run.revision else ""
    place = f" about {run.repository}{revision}" if run.repository else ""
    return (
        f"{len(run.questions)} questions{place}, {run.created}. Intervals are of 95 %, by bootstrap over the questions."
    )


def _tiles(run: Run) -> str:
    overall = run.overall()
    shown = {name: overall[name] for name in main_metrics(run)}
    tiles = [_tile(name, f"{one.mean:.3f}", f"{one.low:.3f} to {one.high:.3f}") for name, one in shown.items()]
    times = run.latency()
    tiles.append(_tile("time of a search, median", f"{times['ms_p50']:.1f} ms", f"90 %: {times['ms_p90']:.1f} ms"))
    return element("ul", "".join(tiles), class_="tiles")


def _tile(name: str, value: str, below: str) -> str:
    return element("li", element("span", escaped(name)) + element("b", value) + element("span", below))


def _compared(comparison: Comparison) -> str:
    before = comparison.before
    tone = "loss" if comparison.is_regression else "gain"
    verdict = "Worse" if comparison.is_regression else "No regression"
    name = f"{before.engine} {before.version}".strip()
    told = (
        f"{verdict} than {name} of {before.created}"
        if comparison.is_regression
        else f"{verdict} against {name} of {before.created}"
    )
    parts = [
        element("p", escaped(f"{told}, over {comparison.shared} questions that both have."), class_=f"notice {tone}")
    ]
    parts += [element("p", escaped(sentence), class_="notice loss") for sentence in silence(comparison)]
    header = ("", "change (95 %)")
    parts.append(
        interval_table(
            [_change(one, one.metric) for one in comparison.changes], header, "Paired differences", zero=True
        )
    )
    metric = next((one.metric for one in comparison.changes if one.metric.startswith("ndcg")), "")
    groups = [_change(one, one.where) for one in comparison.groups if one.metric == metric]
    if groups:
        caption = (
            f"Paired differences of {metric} by group, of at least eight questions, wider the more groups there are"
        )
        parts.append(interval_table(groups, header, caption, zero=True))
    listed = (table for table in comparison_tables(comparison) if table.title != "Overall")
    parts += [table_markup(table) for table in listed]
    return "".join(parts)


def _change(change: Change, label: str) -> Interval:
    gap = change.difference
    tone: Tone = "gain" if gap.is_gain else "loss" if gap.is_loss else "unsure"
    text = f"{gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"
    return Interval(label, gap.mean, gap.low, gap.high, text, gap.n, tone)


def _ranks(run: Run, comparison: Comparison | None) -> str:
    runs = _named_runs(run, comparison)
    counts = {
        name: Counter(first_right(one) for one in shown.questions if not one.unanswerable)
        for name, shown in runs.items()
    }
    deepest = max((rank for count in counts.values() for rank in count if rank), default=1)
    places = [*range(1, deepest + 1), None]
    labels = [str(place) if place else "none" for place in places]
    series = [
        Series(name, [(0.0, count[place] / max(1, count.total())) for place in places])
        for name, count in counts.items()
    ]
    return bars(labels, series, "Share of the answerable questions by the rank of the first right result")


def _named_runs(run: Run, comparison: Comparison | None) -> dict[str, Run]:
    return {"this run": run, "baseline": comparison.before} if comparison else {"this run": run}


def _found(run: Run) -> str:
    overall = run.overall()
    known = {kind: _numbered(overall, kind) for kind in _FOUND_CURVES}
    depths = sorted({k for found in known.values() for k in found})
    if len(depths) < 2:
        return ""
    series = [
        Series(_FOUND_CURVES[kind], [(depths.index(k) / (len(depths) - 1), one.mean) for k, one in found.items()])
        for kind, found in known.items()
    ]
    ticks = [(number / (len(depths) - 1), f"first {k}") for number, k in enumerate(depths)]
    return curves(ticks, series, "Questions for which it is among the first results")


def _coverage(run: Run) -> str:
    found = _numbered(run.overall(), "coverage")
    if len(found) < 2:
        return ""
    budgets = list(found)
    places = [log_place(budget, budgets[0], budgets[-1]) for budget in budgets]
    points = [(place, one.mean) for place, one in zip(places, found.values(), strict=True)]
    line = Series("coverage", points, [(one.low, one.high) for one in found.values()])
    ticks = [(place, f"{budget:,}") for place, budget in zip(places, budgets, strict=True)]
    return curves(ticks, [line], "Share of the wanted lines in a context, by its tokens")


def _numbered(overall: Mapping[str, Estimate], kind: str) -> dict[int, Estimate]:
    """Return the estimates of a metric at each depth or budget, in rising order."""
    found = {int(name.partition("@")[2]): one for name, one in overall.items() if name.partition("@")[0] == kind}
    return dict(sorted(found.items()))


def _pair(*plots: str) -> str:
    return element("div", "".join(plots), class_="pair") if any(plots) else ""


def _metrics(run: Run) -> str:
    rows = [Interval(name, one.mean, one.low, one.high, interval(one), one.n) for name, one in run.overall().items()]
    return interval_table(rows, ("", "mean (95 %)"), "Means over the questions")


def _groups(run: Run) -> str:
    metric = next((name for name in run.metric_names if name.startswith("ndcg")), "")
    parts = []
    for by, name in _GROUPED:
        means = {group: found[metric] for group, found in run.by(by).items() if metric in found}
        if len(means) > 1:
            rows = [Interval(group, one.mean, one.low, one.high, interval(one), one.n) for group, one in means.items()]
            parts.append(interval_table(rows, (name, "mean (95 %)"), f"{metric} by {name}"))
    parts += [table_markup(table) for table in run_tables(run) if table.title.startswith("By ")]
    return "".join(parts)


def _calibration(run: Run) -> str:
    return "".join(table_markup(table, caption=False) for table in run_tables(run) if table.title == "Verdicts")


def _times(run: Run, comparison: Comparison | None) -> str:
    named = {
        name: sorted(one.ms for one in shown.questions if one.ms > 0)
        for name, shown in _named_runs(run, comparison).items()
    }
    known = {name: times for name, times in named.items() if times}
    if not known:
        return ""
    low, high = min(times[0] for times in known.values()) * 0.9, max(times[-1] for times in known.values()) * 1.1
    series = [Series(name, list(_within(times, low, high))) for name, times in known.items()]
    plot = curves(
        log_ticks(low, high), series, "Share of the questions answered within so many milliseconds", dots=False
    )
    rows = [
        [name, *(f"{value:.1f}" for value in shown.latency().values())]
        for name, shown in _named_runs(run, comparison).items()
    ]
    return plot + grid(("milliseconds", "50 %", "90 %", "99 %"), rows)


def _within(times: list[float], low: float, high: float) -> Iterable[tuple[float, float]]:
    for step in range(_STEPS + 1):
        limit = low * (high / low) ** (step / _STEPS)
        yield step / _STEPS, sum(time <= limit for time in times) / len(times)


def _settings(run: Run) -> str:
    values = (
        (name, ", ".join(value) if isinstance(value, tuple) else str(value)) for name, value in run.settings.items()
    )
    rows = [[escaped(name), escaped(value)] for name, value in values]
    return grid(("setting", "value"), rows, wordy=(0, 1))
