"""Build the web interface into the package: ``python -m tools.web.build``; ``--check`` compares instead of writing.

It needs Node and installs the locked packages with ``npm ci``. The files are stored compressed, as the service sends them.
"""

import argparse
import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.web.openapi import write_description

_WEB: Final = Path(__file__).parents[2] / "web"
_TARGET: Final = Path(__file__).parents[2] / "coderag" / "interfaces" / "web" / "static"
_OUTPUT: Final = _WEB / "dist"

_MAX_TOTAL_BYTES: Final = 1_000_000
_MAX_FIRST_PAGE_BYTES: Final = 300_000


def build(*, install: bool = True) -> dict[str, bytes]:
    """Build the pages and return their content by name.

    Args:
        install: Whether to install the locked packages first.

    Raises:
        subprocess.CalledProcessError: A step fails; its output was printed.
        FileNotFoundError: Node is not installed.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed; the web interface is built with Node 20.19 or newer")
    if install:
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=_WEB, check=True)
    write_description()
    for step in ("types", "check", "build"):
        subprocess.run([npm, "run", "--silent", step], cwd=_WEB, check=True)
    return {path.relative_to(_OUTPUT).as_posix(): path.read_bytes() for path in _OUTPUT.rglob("*") if path.is_file()}


def read_stored() -> dict[str, bytes]:
    """Return the content of the stored files by name."""
    return {
        path.relative_to(_TARGET).as_posix().removesuffix(".gz"): gzip.decompress(path.read_bytes())
        for path in _TARGET.rglob("*.gz")
    }


def store(files: dict[str, bytes]) -> None:
    """Replace the stored files."""
    shutil.rmtree(_TARGET, ignore_errors=True)
    for name, content in files.items():
        path = _TARGET / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content, 9, mtime=0))


def find_differences(files: dict[str, bytes], stored: dict[str, bytes]) -> list[str]:
    """Return the names of files that only one side has, or that differ."""
    return sorted(name for name in files.keys() | stored.keys() if files.get(name) != stored.get(name))


def check_sizes() -> list[str]:
    """Return what exceeds the limits of the stored files: all of them, and those that the first page loads."""
    sizes = {
        path.relative_to(_TARGET).as_posix().removesuffix(".gz"): path.stat().st_size for path in _TARGET.rglob("*.gz")
    }
    page = gzip.decompress((_TARGET / "index.html.gz").read_bytes()).decode()
    first = sum(size for name, size in sizes.items() if name == "index.html" or f'"/{name}"' in page)
    limits = (("all files", sum(sizes.values()), _MAX_TOTAL_BYTES), ("the first page", first, _MAX_FIRST_PAGE_BYTES))
    return [f"{name}: {size:,} of {limit:,} bytes" for name, size, limit in limits if size > limit]


def main() -> int:
    """Build, and store or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the stored files are not those of the source")
    parser.add_argument("--no-install", action="store_true", help="use the packages in web/node_modules as they are")
    options = parser.parse_args()
    files = build(install=not options.no_install)
    if options.check:
        differences = find_differences(files, read_stored())
        for name in differences:
            print(f"differs from its source: {name}", file=sys.stderr)
        return 1 if differences else 0
    store(files)
    excesses = check_sizes()
    for excess in excesses:
        print(f"too large: {excess}", file=sys.stderr)
    return 1 if excesses else 0


if __name__ == "__main__":
    sys.exit(main())
