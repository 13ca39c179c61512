"""Self-contained SVG plot of the curves."""

from collections.abc import Sequence
from typing import Final

from ..markup import escape_text, render_element  # noqa: TID252  # installed, it has another name
from ..plots import place_on_log_axis  # noqa: TID252  # installed, it has another name
from .curves import GREP, collect_curves, compute_means
from .measuring import QuestionRecall
from .spending import BUDGETS

_WIDTH, _HEIGHT = 900, 480
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 40, 290, 50  # the legend is on the right
_GREPS: Final = ("#8a8a8a", "#b0793a", "#c4a000", "#8f5902", "#5c5c5c")
_OURS: Final = ("#1f5fbf", "#0f8a6d", "#8e2fa8", "#c93a6b")


def draw_plot(questions: Sequence[QuestionRecall]) -> str:
    """Draw the mean recall of each curve by tokens spent, with 95 % intervals, as an SVG file."""
    parts = [_draw_axes(len(questions))]
    greps, ours = iter(_GREPS), iter(_OURS)
    for row, (name, values) in enumerate(collect_curves(questions).items()):
        is_grep = name.startswith(GREP)
        colour = next(greps if is_grep else ours)
        ranges = compute_means(values)
        upper = [_format_point(budget, interval.high) for budget, interval in zip(BUDGETS, ranges, strict=True)]
        lower = [_format_point(budget, interval.low) for budget, interval in zip(BUDGETS, ranges, strict=True)]
        middle = [_format_point(budget, interval.value) for budget, interval in zip(BUDGETS, ranges, strict=True)]
        parts.append(
            render_element("polygon", "", points=" ".join([*upper, *reversed(lower)]), fill=colour, fill_opacity="0.08")
        )
        parts.append(_draw_line(middle, colour, dashed=is_grep))
        parts.append(_draw_legend(row, name, colour, dashed=is_grep))
    style = "text{font:13px system-ui,sans-serif;fill:#333}"
    content = (
        render_element("style", style)
        + render_element("rect", "", width=_WIDTH, height=_HEIGHT, fill="#fff")
        + "".join(parts)
    )
    view = f"0 0 {_WIDTH} {_HEIGHT}"
    return (
        render_element("svg", content, xmlns="http://www.w3.org/2000/svg", viewBox=view, width=_WIDTH, height=_HEIGHT)
        + "\n"
    )


def _draw_axes(n: int) -> str:
    title = f"Share of the wanted lines seen, by tokens spent ({n} questions, 95 % intervals)"
    marks = [render_element("text", escape_text(title), x=_LEFT, y=22, font_weight="bold")]
    for step in range(6):
        y = _compute_y(step / 5)
        marks.append(render_element("line", "", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, stroke="#ddd"))
        marks.append(render_element("text", f"{step / 5:.1f}", x=_LEFT - 10, y=y + 4, text_anchor="end"))
    for budget in BUDGETS:
        label = f"{budget:,}" if budget < 1000 else f"{budget // 1000}k"
        marks.append(
            render_element("text", label, x=_compute_x(budget), y=_HEIGHT - _BOTTOM + 20, text_anchor="middle")
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return "".join([*marks, render_element("text", "tokens spent", x=middle, y=_HEIGHT - 8, text_anchor="middle")])


def _draw_line(points: Sequence[str], colour: str, *, dashed: bool) -> str:
    dashes = {"stroke_dasharray": "5 4"} if dashed else {}
    return render_element(
        "polyline", "", points=" ".join(points), fill="none", stroke=colour, stroke_width="2.5", **dashes
    )


def _draw_legend(row: int, name: str, colour: str, *, dashed: bool) -> str:
    x, y = _WIDTH - _RIGHT + 20, _TOP + 20 + 24 * row
    sample = _draw_line([f"{x},{y}", f"{x + 28},{y}"], colour, dashed=dashed)
    return sample + render_element("text", escape_text(name), x=x + 36, y=y + 4)


def _format_point(budget: int, recall: float) -> str:
    return f"{_compute_x(budget):.1f},{_compute_y(recall):.1f}"


def _compute_x(budget: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * place_on_log_axis(budget, BUDGETS[0], BUDGETS[-1])


def _compute_y(recall: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - recall)
