"""Text that a repair erased above or before a declaration, such as ``UFUNCTION(...)`` on a line of its own."""

from typing import Final

_MAX_BYTES: Final = 2000
_SPACE: Final = b" \t\r\n"


def find_erased_start(data: bytes, repaired: bytes, offset: int) -> int:
    """Return where the erased text directly before a declaration begins; the offset of the declaration if there is none.

    A blank line, a directive and a line that opens a block end the text.

    Args:
        data: The text of the file.
        repaired: The text that was parsed.
    """
    window = max(0, offset - _MAX_BYTES)
    erased = data[window + len(repaired[window:offset].rstrip(_SPACE)) : offset]
    start = position = offset
    for line in reversed(erased.splitlines(keepends=True)):
        text = line.strip(_SPACE)
        position -= len(line)
        if position + len(line) != offset and (not text or text.startswith(b"#") or text.endswith(b"{")):
            break
        if text:
            start = position + line.index(text[:1])
    return start
