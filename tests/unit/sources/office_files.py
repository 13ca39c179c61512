"""Small Office and PDF files for tests."""

import zipfile
from io import BytesIO

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


def build_docx(heading: str, *paragraphs: str, prolog: str = "") -> bytes:
    texts = [f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>']
    texts += [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs]
    body = f"<w:document {_NAMESPACE}><w:body>{''.join(texts)}</w:body></w:document>"
    return build_package(
        {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": f"{prolog}{body}"}
    )


def build_pptx() -> bytes:
    from pptx import Presentation  # of the extra `sources`
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
    file = BytesIO()
    presentation.save(file)
    return file.getvalue()


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
