"""PowerPoint files as Markdown: a heading for each slide, its texts, tables and notes."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

from pptx import Presentation


def convert_slides(file: IO[bytes]) -> str:
    """Convert a presentation to Markdown. Hidden slides are included."""
    presentation = Presentation(file)
    sections = []
    for number, slide in enumerate(presentation.slides, start=1):
        title = slide.shapes.title
        heading = " ".join(title.text_frame.text.split()) if title is not None else ""
        blocks = [f"## Slide {number}: {heading}" if heading else f"## Slide {number}"]
        shape_id = title.shape_id if title is not None else None
        blocks += [block for shape in slide.shapes if shape.shape_id != shape_id for block in _convert_shape(shape)]
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            blocks.append(f"### Notes\n\n{frame.text.strip()}")
        sections.append("\n\n".join(blocks))
    return "\n\n".join(sections)


def _convert_shape(shape: Any) -> Iterator[str]:  # noqa: ANN401  # the library has no types
    if hasattr(shape, "shapes"):  # a group
        for member in shape.shapes:
            yield from _convert_shape(member)
    elif getattr(shape, "has_table", False):
        yield _convert_table(shape.table.rows)
    elif getattr(shape, "has_chart", False) and shape.chart.has_title:
        yield f"Chart: {shape.chart.chart_title.text_frame.text.strip()}"
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield "\n".join(_convert_paragraphs(shape.text_frame.paragraphs))


def _convert_paragraphs(paragraphs: Iterable[Any]) -> Iterator[str]:
    for paragraph in paragraphs:
        if text := " ".join(paragraph.text.split()):
            yield f"{'  ' * paragraph.level}- {text}"


def _convert_table(rows: Any) -> str:  # noqa: ANN401  # as above
    lines = [[" ".join(cell.text.split()).replace("|", r"\|") for cell in row.cells] for row in rows]
    head, *body = lines or [[]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
