"""Small Office and PDF files for tests."""

import zipfile
from io import BytesIO
from typing import Any

_OOXML = "http://schemas.openxmlformats.org"
_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def build_package(parts: dict[str, str | bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return file.getvalue()


def build_docx(heading: str, *paragraphs: str, prolog: str = "", comment: str = "") -> bytes:
    texts = [f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>']
    texts += [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs]
    parts = {}
    if comment:
        texts.append('<w:p><w:r><w:commentReference w:id="0"/></w:r></w:p>')
        note = (
            f'<w:comment w:id="0" w:author="Ann" w:initials="AB"><w:p><w:r><w:t>{comment}</w:t></w:r></w:p></w:comment>'
        )
        parts["word/comments.xml"] = f"<w:comments {_NAMESPACE}>{note}</w:comments>"
    body = f"<w:document {_NAMESPACE}><w:body>{''.join(texts)}</w:body></w:document>"
    return build_package(
        {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": f"{prolog}{body}"} | parts
    )


def build_pptx() -> bytes:
    from pptx import Presentation  # of the extra `sources`
    from pptx.chart.data import CategoryChartData  # as above
    from pptx.enum.chart import XL_CHART_TYPE  # as above
    from pptx.util import Inches  # as above

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Retry policy"
    frame = slide.placeholders[1].text_frame
    frame.text = "Back off"
    frame.add_paragraph().text = "Double the wait"
    frame.paragraphs[1].level = 1
    slide.notes_slide.notes_text_frame.text = "Agreed in March."
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(2)).table
    for row, texts in enumerate((("Status", "Wait"), ("429", "a|b"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    chart = CategoryChartData()
    chart.categories = ["May", "June"]
    chart.add_series("Requests", (1, 2))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(1), Inches(4), Inches(2), chart)
    _add_diagram(slide, "Plan", "Build")
    file = BytesIO()
    presentation.save(file)
    return file.getvalue()


def _add_diagram(slide: Any, *texts: str) -> None:
    """Add a SmartArt diagram, whose texts are in a part of their own."""
    from pptx.opc.package import Part  # of the extra `sources`
    from pptx.opc.packuri import PackURI  # as above
    from pptx.oxml import parse_xml  # as above

    drawing, relations = f"{_OOXML}/drawingml/2006", f"{_OOXML}/officeDocument/2006/relationships"
    paragraphs = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    data = f'<d:dataModel xmlns:d="{drawing}/diagram" xmlns:a="{drawing}/main">{paragraphs}</d:dataModel>'
    content_type = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    part = Part(PackURI("/ppt/diagrams/data1.xml"), content_type, slide.part.package, data.encode())
    relation = slide.part.relate_to(part, f"{relations}/diagramData")
    frame = (
        f'<p:graphicFrame xmlns:p="{_OOXML}/presentationml/2006/main" xmlns:a="{drawing}/main">'
        '<p:nvGraphicFramePr><p:cNvPr id="99" name="d"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
        '<p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm>'
        f'<a:graphic><a:graphicData uri="{drawing}/diagram"><d:relIds xmlns:d="{drawing}/diagram" '
        f'xmlns:r="{relations}" r:dm="{relation}"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    slide.shapes._spTree.append(parse_xml(frame))


def build_pdf(*pages: str, password: str | None = None) -> bytes:
    from pypdf import PdfWriter  # of the extra `sources`
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject  # as above

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(612, 792)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password is not None:
        writer.encrypt(password, "owner", algorithm="AES-256")
    file = BytesIO()
    writer.write(file)
    return file.getvalue()
