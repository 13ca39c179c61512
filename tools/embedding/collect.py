"""Download source packages by name and unpack their source files into a corpus.

The names come from a TOML file with one table per ecosystem (``pypi``, ``npm``, ``debian``: source packages,
``debian-binary``: packages that contain sources), each with ``packages``. The ordinary clients (``pip``, ``npm``,
``apt-get``) fetch them, with whatever index the machine is configured for. Written:

    CORPUS/downloads/<ecosystem>/<package>/   archives that the client fetched; kept, so that a second run fetches nothing
    CORPUS/source/<ecosystem>/<package>/      source files, a bounded sample of each package
    CORPUS/manifest.json                      version, licence, files and bytes of each package, or why it is missing

``[megabytes]`` in the TOML file raises the sample size of a package. Names on the evaluation-only list and the projects of
``evals/paraphrased`` are rejected, and so are vendored copies of them in other packages. The licence is the declared one,
else it is detected from the licence file. Packages without a licence for reuse are left out.
"""

import argparse
import email
import hashlib
import io
import json
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

Ecosystem = Literal["pypi", "npm", "debian", "debian-binary", "python"]
SourceFile = tuple[str, bytes]
"""A path inside a package, with forward slashes, and its content."""

_SUFFIXES = """
.py .pyx .js .mjs .cjs .ts .tsx .jsx .vue .svelte .c .h .cpp .hpp .cc .hh .cxx .cs .java .kt .kts .scala .groovy .go .rs
.rb .rake .php .swift .m .mm .lua .luau .nse .sh .bash .bats .zsh .ksh .ex .exs .erl .hrl .hs .zig .sql .proto .pl .pm .r
.ml .mli .hxx .inl .ipp .lisp .el .scm .rkt .clj .cljs .cljc .jl .fs .fsx .ps1 .psm1 .dart .md .rst
"""
SOURCE_SUFFIXES = frozenset(_SUFFIXES.split())
_VENDORED_OR_GENERATED = re.compile(
    r"(^|/)(_?vendor(ed|_packages)?|third[_-]?party|extern(als?)?|node_modules|umd|min|bundled?s?|locales?|i18n)/"
    r"|\.min\.|\.bundle\.|_pb2|\.pb\.|\.data/|dist-info/|generated",
    re.IGNORECASE,
)
_TEST_FOLDER = re.compile(r"(^|/)(tests?|testing|__tests__|specs?|testdata|examples?)/", re.IGNORECASE)
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx")
_NO_LICENCE = re.compile(r"^\s*(?:unlicensed|proprietary|see licen[cs]e.*)?\s*$", re.IGNORECASE)
_LICENCE_FILE = re.compile(r"(.*\.dist-info/(licenses/)?)?(licen[cs]e|copying)[^/]*", re.IGNORECASE)
_LICENCE_TEXTS = {
    "Apache-2.0": r"Apache License",
    "MPL-2.0": r"Mozilla Public License",
    "AGPL": r"GNU Affero General Public License",
    "LGPL": r"GNU (Lesser|Library) General Public License",
    "GPL": r"GNU General Public License",
    "MIT": r"MIT Licen[cs]e|Permission is hereby granted, free of charge",
    "BSD": r"BSD (\d-Clause )?Licen[cs]e|Redistribution and use in source and binary forms",
    "ISC": r"ISC Licen[cs]e|Permission to use, copy, modify, and/or distribute",
    "HPND": r"Permission to use, copy, modify, and distribute",
    "Unlicense": r"This is free and unencumbered software",
}
_PARAPHRASED = Path(__file__).parents[2] / "evals" / "paraphrased" / "repos.json"
_MODULE_FORMAT = re.compile(r"(^|/)(esm|cjs|es|es2015|esnext|commonjs|module|dist|build)/")
_MAX_FILE_BYTES = 300_000
_MIN_FILE_BYTES = 200
_MAX_LINE_BYTES = 1_500
_MAX_LICENCE_CHARS = 120
_MAX_PACKAGE_BYTES = 3_500_000
_MAX_STDLIB_BYTES = 8_000_000
_TEST_SHARE = 0.2
_BYTES_A_MEGABYTE = 1_000_000
_MIN_CLEAR_NAME_CHARS = (
    6  # shorter excluded names must equal a part of a package's name; others may occur anywhere in it
)
_CLIENT_TIMEOUT_S = 300
_CLIENTS = {
    "pypi": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"],
    "npm": ["npm", "pack", "--silent"],
    "debian": ["apt-get", "source", "--quiet", "--download-only", "--only-source"],
    "debian-binary": ["apt-get", "download", "--quiet"],
}
_ARCHIVES = frozenset({".whl", ".zip", ".tgz", ".gz", ".xz", ".bz2", ".deb"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Row of the manifest: the sample of a package, or the reason for skipping it."""

    ecosystem: Ecosystem
    name: str
    version: str = ""
    licence: str = ""
    files: int = 0
    size_bytes: int = 0
    skipped: str = ""


class Exclusions:
    """Projects that must not enter the corpus."""

    def __init__(self, names: Iterable[str]) -> None:
        squashed = {_normalize_name(name) for name in names}
        self._names = squashed
        self._clear = [name for name in squashed if len(name) >= _MIN_CLEAR_NAME_CHARS]

    def has_package(self, name: str) -> bool:
        """Return whether a package is, or is named after, an excluded project: ``golang-github-spf13-cobra`` is cobra."""
        squashed = _normalize_name(name)
        parts = {_normalize_name(part) for part in re.split(r"[^A-Za-z0-9]+", name)}
        parts |= {part.removeprefix("lib") for part in parts}
        return bool(self._names & (parts | {squashed})) or any(clear in squashed for clear in self._clear)

    def has_path(self, path: str) -> bool:
        """Return whether a folder or file of a path has exactly an excluded name, as a vendored copy does."""
        pure = PurePosixPath(path)
        return any(_normalize_name(part) in self._names for part in (*pure.parts[:-1], pure.stem))

    def remove_from(self, files: dict[str, bytes]) -> list[SourceFile]:
        """Return the files of a package without vendored copies of excluded projects and without paths outside its folder."""
        inside = (path for path in files if not path.startswith("/") and ".." not in PurePosixPath(path).parts)
        return [(path, files[path]) for path in inside if not self.has_path(path)]


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def is_source(path: str, data: bytes) -> bool:
    """Return whether a file is handwritten source: not vendored, generated, minified or oversized."""
    if PurePosixPath(path).suffix.lower() not in SOURCE_SUFFIXES or _VENDORED_OR_GENERATED.search(path):
        return False
    if not _MIN_FILE_BYTES < len(data) < _MAX_FILE_BYTES or b"\0" in data[:4096]:
        return False
    return max(map(len, data.split(b"\n"))) <= _MAX_LINE_BYTES


def sample_files(files: Iterable[SourceFile], *, seed: str, limit_bytes: int) -> list[SourceFile]:
    """Sample files of a package up to a size, deterministically: few tests, one build of each module."""
    rng = random.Random(seed)
    chosen: list[SourceFile] = []
    seen: set[str | bytes] = set()
    size = 0
    candidates = sorted(files)
    rng.shuffle(candidates)
    for path, data in candidates:
        if _TEST_FOLDER.search(path) and rng.random() >= _TEST_SHARE:
            continue
        keys: set[str | bytes] = {hashlib.sha256(data).digest(), _MODULE_FORMAT.sub(r"\1", path).rsplit(".", 1)[0]}
        if size + len(data) > limit_bytes or (keys & seen and path.endswith(("js", "ts"))) or not is_source(path, data):
            continue
        seen |= keys
        chosen.append((path, data))
        size += len(data)
    return chosen


def read_archive(archive: Path) -> Iterator[SourceFile]:
    """Yield the files of a wheel, zip, tar or Debian archive below the size limit."""
    if archive.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if info.file_size < _MAX_FILE_BYTES and not info.is_dir():
                    yield info.filename, opened.read(info)
        return
    if archive.suffix == ".deb":
        content_tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(content_tar)) as opened_tar:
            yield from _read_tar(opened_tar, top_folders=0)
    else:
        with tarfile.open(archive) as opened_tar:
            yield from _read_tar(opened_tar, top_folders=1)


def _read_tar(archive: tarfile.TarFile, *, top_folders: int) -> Iterator[SourceFile]:
    """Yield small files of a tar archive, with paths below its top folders (such as ``name-version``)."""
    for member in archive:
        if member.isfile() and member.size < _MAX_FILE_BYTES:
            content = archive.extractfile(member)
            if content is not None:
                yield member.name.removeprefix("./").split("/", top_folders)[-1], content.read()


def _run(command: list[str], folder: Path) -> None:
    """Run a package client in a folder; raise `OSError` with the last line of its output if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_CLIENT_TIMEOUT_S, check=False)
    if done.returncode:
        complaint = (done.stderr.strip() or done.stdout.strip() or "failed").splitlines()[-1]
        raise OSError(complaint)


def _fetch(ecosystem: Ecosystem, requirement: str, folder: Path) -> list[Path]:
    """Download a package with its ecosystem's client, unless it is cached; return its archives."""
    complete = folder / ".complete"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run([*_CLIENTS[ecosystem], requirement], folder)
        complete.touch()
    return sorted(path for path in folder.iterdir() if path.suffix in _ARCHIVES)


def _describe(ecosystem: Ecosystem, files: dict[str, bytes], archives: list[Path]) -> tuple[str, str]:
    """Return the declared version and licence of a package."""
    if ecosystem == "pypi":
        return _describe_wheel(files)
    if ecosystem == "npm":
        package = json.loads(files.get("package.json", b"{}"))
        licence = package.get("license", "")
        return package.get("version", ""), licence.get("type", "") if isinstance(licence, dict) else str(licence)
    packaging = next((path for path in archives if ".debian.tar" in path.name), archives[0])
    version = packaging.name.split("_")[1].split(".debian.tar")[0].replace("%3a", ":")
    copyrights = [data for path, data in files.items() if PurePosixPath(path).name == "copyright"]
    declared = re.findall(r"^License: *(\S.*)$", b"\n".join(copyrights).decode("utf-8", "replace"), re.MULTILINE)
    return version, "; ".join(sorted(set(declared)))[:_MAX_LICENCE_CHARS]


def _describe_wheel(files: dict[str, bytes]) -> tuple[str, str]:
    metadata = next((data for path, data in files.items() if path.endswith(".dist-info/METADATA")), b"")
    message = email.message_from_bytes(metadata)
    classifiers = [value.rsplit(" :: ", 1)[-1] for value in message.get_all("Classifier", []) if "License ::" in value]
    first_line = (message.get("License") or "").strip().partition("\n")[0]
    licence = message.get("License-Expression") or "; ".join(classifiers) or first_line
    return str(message.get("Version", "")), str(licence)[:_MAX_LICENCE_CHARS]


def detect_licence(files: Mapping[str, bytes]) -> str:
    """Detect the licence from the first matching line of a package's licence files; empty if none matches."""
    own = [files[path].decode("utf-8", "replace") for path in sorted(files) if _LICENCE_FILE.fullmatch(path)]
    lines = (line for text in own for line in text.splitlines())
    known = (name for line in lines for name, words in _LICENCE_TEXTS.items() if re.search(words, line, re.IGNORECASE))
    return next(known, "")


def collect_package(
    ecosystem: Ecosystem, requirement: str, *, corpus: Path, exclusions: Exclusions, limits: Mapping[str, int]
) -> Package:
    """Fetch one package, unpack its sample of sources, and return its manifest row.

    Args:
        limits: Sample sizes in bytes by name, where they differ from the default.
    """
    name = re.split(r"==|(?<=.)@|=", requirement)[0]
    if exclusions.has_package(name):
        return Package(ecosystem=ecosystem, name=name, skipped="evaluation only")
    label = re.sub(r"[^\w.-]+", "_", name).strip("_")
    try:
        archives = _fetch(ecosystem, requirement, corpus / "downloads" / ecosystem / label)
        files = {path: data for archive in archives for path, data in read_archive(archive)}
        version, declared = _describe(ecosystem, files, archives)
        licence = declared or detect_licence(files)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
        return Package(ecosystem=ecosystem, name=name, skipped=str(error)[:200])
    if ecosystem in {"npm", "pypi"} and _NO_LICENCE.match(licence):
        return Package(ecosystem=ecosystem, name=name, version=version, licence=licence, skipped="no licence")
    chosen = exclusions.remove_from(drop_builds(files) if ecosystem == "npm" else files)
    chosen = sample_files(chosen, seed=name, limit_bytes=limits.get(name, _MAX_PACKAGE_BYTES))
    store_files(chosen, corpus / "source" / ecosystem / label)
    return Package(
        ecosystem=ecosystem,
        name=name,
        version=version,
        licence=licence,
        files=len(chosen),
        size_bytes=sum(len(data) for _, data in chosen),
        skipped="" if chosen else "no source files",
    )


def drop_builds(files: dict[str, bytes]) -> dict[str, bytes]:
    """Drop built JavaScript of an npm package if it includes its sources."""
    sources = {path for path in files if re.match(r"(src|lib|source)/", path)}
    return {
        path: data for path, data in files.items() if not path.endswith(_JAVASCRIPT) or not sources or path in sources
    }


def collect_standard_library(*, corpus: Path, exclusions: Exclusions) -> Package:
    """Sample the standard library of the running Python."""
    root = Path(sysconfig.get_paths()["stdlib"])
    skipped = re.compile(r"(test|idlelib|lib2to3|site-packages|encodings)/")
    relative = {path: path.relative_to(root).as_posix() for path in root.rglob("*.py")}
    files = {name: path.read_bytes() for path, name in relative.items() if not skipped.match(name)}
    chosen = sample_files(exclusions.remove_from(files), seed="stdlib", limit_bytes=_MAX_STDLIB_BYTES)
    store_files(chosen, corpus / "source" / "python" / "stdlib")
    return Package(
        ecosystem="python",
        name="stdlib",
        version=sys.version.split()[0],
        licence="PSF-2.0",
        files=len(chosen),
        size_bytes=sum(len(data) for _, data in chosen),
    )


def store_files(files: Iterable[SourceFile], folder: Path) -> None:
    """Write a package's files into its folder, replacing the former content."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def format_requirement(name: str, ecosystem: Ecosystem, versions: dict[tuple[str, str], str]) -> str:
    """Return the requirement for a client: the name, pinned to the version of an earlier manifest if there is one."""
    version = versions.get((ecosystem, name))
    separator = {"pypi": "==", "npm": "@"}.get(ecosystem, "=")
    return f"{name}{separator}{version}" if version else name


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder to write")
    parser.add_argument("--packages", type=Path, default=Path(__file__).with_name("corpus.toml"), help="names (TOML)")
    parser.add_argument("--exclude", type=Path, required=True, help="names of projects that must not enter, one a line")
    parser.add_argument("--versions", type=Path, help="manifest.json of an earlier run: fetch exactly its versions")
    parser.add_argument("--workers", type=int, default=3, help="downloads at a time")
    arguments = parser.parse_args()

    names = tomllib.loads(arguments.packages.read_text("utf-8"))
    paraphrased = [row["name"] for row in json.loads(_PARAPHRASED.read_text("utf-8"))]
    exclusions = Exclusions([*arguments.exclude.read_text("utf-8").split(), *paraphrased])
    limits = {name: size * _BYTES_A_MEGABYTE for name, size in names.get("megabytes", {}).items()}
    earlier = json.loads(arguments.versions.read_text("utf-8"))["packages"] if arguments.versions else []
    versions = {(row["ecosystem"], row["name"]): row["version"] for row in earlier}
    ecosystems: tuple[Ecosystem, ...] = ("npm", "pypi", "debian", "debian-binary")
    requirements = [
        (ecosystem, format_requirement(name, ecosystem, versions))
        for ecosystem in ecosystems
        for name in names.get(ecosystem, {}).get("packages", "").split()
    ]
    collect = partial(collect_package, corpus=arguments.corpus, exclusions=exclusions, limits=limits)
    packages = [collect_standard_library(corpus=arguments.corpus, exclusions=exclusions)]
    with ThreadPoolExecutor(arguments.workers) as pool:
        for package in pool.map(lambda requirement: collect(*requirement), requirements):
            packages.append(package)
            outcome = package.skipped or package.licence
            print(f"{package.ecosystem:13} {package.name:36} {package.size_bytes / 1e6:6.2f} MB  {outcome}", flush=True)
    total = {
        "packages": sum(not package.skipped for package in packages),
        "files": sum(package.files for package in packages),
        "bytes": sum(package.size_bytes for package in packages),
    }
    manifest = {"total": total, "packages": [asdict(package) for package in packages]}
    (arguments.corpus / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    print(total)


if __name__ == "__main__":
    main()
