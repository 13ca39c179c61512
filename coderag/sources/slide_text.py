"""PowerPoint files as Markdown: a heading for each slide, its texts, tables, diagrams and notes."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

from pptx import Presentation
from pptx.oxml import parse_xml

_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_PARAGRAPH = "{http://schemas.openxmlformats.org/drawingml/2006/main}p"
_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"


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
    elif getattr(shape, "has_chart", False):
        if text := _convert_chart(shape.chart):
            yield text
    elif diagrams := list(shape.element.iter(_DIAGRAM)):
        yield "\n".join(line for diagram in diagrams for line in _convert_diagram(shape, diagram))
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield "\n".join(_convert_paragraphs(shape.text_frame.paragraphs))


def _convert_chart(chart: Any) -> str:  # noqa: ANN401  # as above
    """Return a chart's titles and the names of its series and categories, of any type of chart."""
    data = parse_xml(chart.part.blob)
    names = {
        "Chart": ["".join(run.text or "" for run in paragraph.iter(_TEXT)) for paragraph in data.iter(_PARAGRAPH)],
        "Series": [value.text for title in data.iter(f"{_CHART}tx") for value in title.iter(f"{_CHART}v")],
        "Categories": [value.text for labels in data.iter(f"{_CHART}cat") for value in labels.iter(f"{_CHART}v")],
    }
    texts = {name: ", ".join(dict.fromkeys(filter(None, values))) for name, values in names.items()}
    return "\n".join(f"- {name}: {text}" for name, text in texts.items() if text)


def _convert_diagram(shape: Any, diagram: Any) -> Iterator[str]:  # noqa: ANN401  # as above
    """Yield the texts of a SmartArt diagram, which are in a part of their own."""
    data = parse_xml(shape.part.related_part(diagram.get(_DIAGRAM_DATA)).blob)
    for paragraph in data.iter(_PARAGRAPH):
        if text := "".join(run.text or "" for run in paragraph.iter(_TEXT)).strip():
            yield f"- {text}"


def _convert_paragraphs(paragraphs: Iterable[Any]) -> Iterator[str]:
    for paragraph in paragraphs:
        if text := " ".join(paragraph.text.split()):
            yield f"{'  ' * paragraph.level}- {text}"


def _convert_table(rows: Any) -> str:  # noqa: ANN401  # as above
    lines = [[" ".join(cell.text.split()).replace("|", r"\|") for cell in row.cells] for row in rows]
    head, *body = lines or [[]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
