"""HTML report of a run and its comparison with an earlier one: one page, no scripts, no network, light and dark."""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final

from .comparison import Comparison, MetricChange, compare
from .markup import escape_text, render_element, render_grid, render_table
from .plots import (
    Interval,
    Series,
    Tone,
    draw_bars,
    draw_curves,
    list_log_ticks,
    place_on_log_axis,
    render_interval_table,
)
from .report_questions import find_first_right, render_questions
from .runs import Grouping, Run
from .statistics import MeanEstimate
from .tables import (
    build_comparison_tables,
    build_run_tables,
    describe_signal_changes,
    format_estimate,
    list_main_metrics,
    list_remarks,
)

_GROUPED: Final[tuple[tuple[Grouping, str], ...]] = (
    ("intent", "intent"),
    ("language", "language"),
    ("repository", "repository"),
)
_HIT_CURVES: Final = {"hit": "the lines", "function_hit": "the declaration", "file_hit": "the file"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TIME_CURVE_STEPS = 60


def render(run: Run, baseline: Run | None = None) -> str:
    """Render a report of a run as a self-contained page.

    Args:
        run: The run.
        baseline: Earlier run to compare with.

    Raises:
        InvalidQueryError: The runs have no question in common.
    """
    comparison = compare(baseline, run) if baseline else None
    title = escape_text(f"{run.golden or 'Evaluation'}: {run.engine} {run.version}".strip())
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}</title><style>{_read_stylesheet()}</style>"
    )
    body = render_element("main", render_element("h1", title) + "".join(_render_sections(run, comparison)))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _read_stylesheet() -> str:
    return files(__package__).joinpath("report.css").read_text(encoding="utf-8")


def _render_sections(run: Run, comparison: Comparison | None) -> Iterable[str]:
    yield render_element("p", escape_text(_describe_run(run)), class_="soft")
    for remark in list_remarks(run):
        yield render_element("p", escape_text(remark), class_="notice")
    yield _render_tiles(run)
    if comparison:
        yield _render_section("Against the baseline", _render_comparison(comparison))
    yield _render_section(
        "Where the first right result is",
        _render_ranks(run, comparison) + _render_pair(_render_hit_curves(run), _render_coverage(run)),
    )
    yield _render_section("All metrics", _render_metrics(run))
    yield _render_section("By group", _render_groups(run))
    yield _render_section("Verdicts", _render_verdicts(run))
    yield _render_section("Times", _render_times(run, comparison))
    yield _render_section("Questions", _LIST_NOTE + render_questions(run, comparison))
    yield _render_section("Settings", _render_settings(run))


_LIST_NOTE = render_element(
    "p",
    "The worst first: nDCG (of a question without an answer: 1 if that was said), the rank of the first right result, and "
    "the question. Open one to see what was found.",
    class_="soft",
)


def _render_section(title: str, content: str) -> str:
    return render_element("section", render_element("h2", title) + content) if content else ""


def _describe_run(run: Run) -> str:
    revision = f" at {run.revision[:12]}" if run.revision else ""
    place = f" about {run.repository}{revision}" if run.repository else ""
    return (
        f"{len(run.questions)} questions{place}, {run.created}. Intervals are of 95 %, by bootstrap over the questions."
    )


def _render_tiles(run: Run) -> str:
    overall = run.compute_overall()
    estimates = {name: overall[name] for name in list_main_metrics(run)}
    tiles = [
        _render_tile(name, f"{estimate.mean:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}")
        for name, estimate in estimates.items()
    ]
    times = run.compute_latency()
    tiles.append(
        _render_tile("time of a search, median", f"{times['ms_p50']:.1f} ms", f"90 %: {times['ms_p90']:.1f} ms")
    )
    return render_element("ul", "".join(tiles), class_="tiles")


def _render_tile(name: str, value: str, below: str) -> str:
    return render_element(
        "li", render_element("span", escape_text(name)) + render_element("b", value) + render_element("span", below)
    )


def _render_comparison(comparison: Comparison) -> str:
    before = comparison.before
    tone = "loss" if comparison.is_regression else "gain"
    verdict = "Worse" if comparison.is_regression else "No regression"
    name = f"{before.engine} {before.version}".strip()
    headline = (
        f"{verdict} than {name} of {before.created}"
        if comparison.is_regression
        else f"{verdict} against {name} of {before.created}"
    )
    parts = [
        render_element(
            "p", escape_text(f"{headline}, over {comparison.shared} questions that both have."), class_=f"notice {tone}"
        )
    ]
    parts += [
        render_element("p", escape_text(sentence), class_="notice loss")
        for sentence in describe_signal_changes(comparison)
    ]
    header = ("", "change (95 %)")
    parts.append(
        render_interval_table(
            [_to_interval(change, change.metric) for change in comparison.changes],
            header,
            "Paired differences",
            zero=True,
        )
    )
    metric = next((change.metric for change in comparison.changes if change.metric.startswith("ndcg")), "")
    groups = [_to_interval(change, change.where) for change in comparison.groups if change.metric == metric]
    if groups:
        caption = (
            f"Paired differences of {metric} by group, of at least eight questions, wider the more groups there are"
        )
        parts.append(render_interval_table(groups, header, caption, zero=True))
    listed = (table for table in build_comparison_tables(comparison) if table.title != "Overall")
    parts += [render_table(table) for table in listed]
    return "".join(parts)


def _to_interval(change: MetricChange, label: str) -> Interval:
    gap = change.difference
    tone: Tone = "gain" if gap.is_gain else "loss" if gap.is_loss else "unsure"
    text = f"{gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"
    return Interval(label, gap.mean, gap.low, gap.high, text, gap.n, tone)


def _render_ranks(run: Run, comparison: Comparison | None) -> str:
    runs = _name_runs(run, comparison)
    counts = {
        name: Counter(find_first_right(question) for question in named_run.questions if not question.unanswerable)
        for name, named_run in runs.items()
    }
    max_rank = max((rank for count in counts.values() for rank in count if rank), default=1)
    places = [*range(1, max_rank + 1), None]
    labels = [str(place) if place else "none" for place in places]
    series = [
        Series(name, [(0.0, count[place] / max(1, count.total())) for place in places])
        for name, count in counts.items()
    ]
    return draw_bars(labels, series, "Share of the answerable questions by the rank of the first right result")


def _name_runs(run: Run, comparison: Comparison | None) -> dict[str, Run]:
    return {"this run": run, "baseline": comparison.before} if comparison else {"this run": run}


def _render_hit_curves(run: Run) -> str:
    overall = run.compute_overall()
    known = {kind: _sort_by_number(overall, kind) for kind in _HIT_CURVES}
    depths = sorted({k for estimates in known.values() for k in estimates})
    if len(depths) < 2:
        return ""
    series = [
        Series(
            _HIT_CURVES[kind],
            [(depths.index(k) / (len(depths) - 1), estimate.mean) for k, estimate in estimates.items()],
        )
        for kind, estimates in known.items()
    ]
    ticks = [(number / (len(depths) - 1), f"first {k}") for number, k in enumerate(depths)]
    return draw_curves(ticks, series, "Questions for which it is among the first results")


def _render_coverage(run: Run) -> str:
    estimates = _sort_by_number(run.compute_overall(), "coverage")
    if len(estimates) < 2:
        return ""
    budgets = list(estimates)
    places = [place_on_log_axis(budget, budgets[0], budgets[-1]) for budget in budgets]
    points = [(place, estimate.mean) for place, estimate in zip(places, estimates.values(), strict=True)]
    line = Series("coverage", points, [(estimate.low, estimate.high) for estimate in estimates.values()])
    ticks = [(place, f"{budget:,}") for place, budget in zip(places, budgets, strict=True)]
    return draw_curves(ticks, [line], "Share of the wanted lines in a context, by its tokens")


def _sort_by_number(overall: Mapping[str, MeanEstimate], kind: str) -> dict[int, MeanEstimate]:
    """Return the estimates of a metric by depth or budget, in rising order."""
    estimates = {
        int(name.partition("@")[2]): estimate for name, estimate in overall.items() if name.partition("@")[0] == kind
    }
    return dict(sorted(estimates.items()))


def _render_pair(*plots: str) -> str:
    return render_element("div", "".join(plots), class_="pair") if any(plots) else ""


def _render_metrics(run: Run) -> str:
    rows = [
        Interval(name, estimate.mean, estimate.low, estimate.high, format_estimate(estimate), estimate.n)
        for name, estimate in run.compute_overall().items()
    ]
    return render_interval_table(rows, ("", "mean (95 %)"), "Means over the questions")


def _render_groups(run: Run) -> str:
    metric = next((name for name in run.metric_names if name.startswith("ndcg")), "")
    parts = []
    for by, name in _GROUPED:
        means = {
            group: estimates[metric] for group, estimates in run.compute_by_group(by).items() if metric in estimates
        }
        if len(means) > 1:
            rows = [
                Interval(group, estimate.mean, estimate.low, estimate.high, format_estimate(estimate), estimate.n)
                for group, estimate in means.items()
            ]
            parts.append(render_interval_table(rows, (name, "mean (95 %)"), f"{metric} by {name}"))
    parts += [render_table(table) for table in build_run_tables(run) if table.title.startswith("By ")]
    return "".join(parts)


def _render_verdicts(run: Run) -> str:
    return "".join(render_table(table, caption=False) for table in build_run_tables(run) if table.title == "Verdicts")


def _render_times(run: Run, comparison: Comparison | None) -> str:
    named = {
        name: sorted(question.ms for question in named_run.questions if question.ms > 0)
        for name, named_run in _name_runs(run, comparison).items()
    }
    known = {name: times for name, times in named.items() if times}
    if not known:
        return ""
    low, high = min(times[0] for times in known.values()) * 0.9, max(times[-1] for times in known.values()) * 1.1
    series = [Series(name, list(_compute_cumulative_shares(times, low, high))) for name, times in known.items()]
    plot = draw_curves(
        list_log_ticks(low, high), series, "Share of the questions answered within so many milliseconds", dots=False
    )
    rows = [
        [name, *(f"{value:.1f}" for value in named_run.compute_latency().values())]
        for name, named_run in _name_runs(run, comparison).items()
    ]
    return plot + render_grid(("milliseconds", "50 %", "90 %", "99 %"), rows)


def _compute_cumulative_shares(times: list[float], low: float, high: float) -> Iterable[tuple[float, float]]:
    for step in range(_TIME_CURVE_STEPS + 1):
        limit = low * (high / low) ** (step / _TIME_CURVE_STEPS)
        yield step / _TIME_CURVE_STEPS, sum(time <= limit for time in times) / len(times)


def _render_settings(run: Run) -> str:
    values = (
        (name, ", ".join(value) if isinstance(value, tuple) else str(value)) for name, value in run.settings.items()
    )
    rows = [[escape_text(name), escape_text(value)] for name, value in values]
    return render_grid(("setting", "value"), rows, wordy=(0, 1))
