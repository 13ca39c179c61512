"""Reading one file: bytes in, text or a reason out."""

import base64
import hashlib
import os
import random
from pathlib import Path

import pytest

from coderag.ingestion.files import file_text, regular_files
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import SECRETS_NOTE, FileText, SkippedFile, read_file_text
from coderag.text import encodings


def read(root: Path, data: bytes, name: str = "a.py", **limits: int) -> FileText | SkippedFile:
    (root / name).write_bytes(data)
    return read_file_text(root, FileCandidate(name, len(data), 0, 0), **limits)


def read_text(root: Path, data: bytes, name: str = "a.py") -> FileText:
    result = read(root, data, name)
    assert isinstance(result, FileText), result
    return result


def read_skip_reason(root: Path, data: bytes | str, name: str = "a.py") -> str:
    result = read(root, data.encode() if isinstance(data, str) else data, name)
    return result.reason if isinstance(result, SkippedFile) else ""


def test_file_text_has_text_hash_size_and_time(tmp_path: Path) -> None:
    data = "x = 'é'\r\ny = 1\n".encode()
    result = read_text(tmp_path, data)
    status = (tmp_path / "a.py").stat()
    assert result == FileText(
        "x = 'é'\r\ny = 1\n", "utf-8", hashlib.sha256(data).hexdigest(), "source", len(data), status.st_mtime_ns
    )


def test_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    assert read_text(tmp_path, b"").text == ""


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
def test_unicode_is_read_with_and_without_a_mark(tmp_path: Path, codec: str, encoding: str) -> None:
    text = "# Grüße\ndef greet():\n    return 'hello'\n"
    result = read_text(tmp_path, text.encode(codec))
    assert (result.text, result.encoding) == (text, encoding)


def test_big_endian_marks_are_understood(tmp_path: Path) -> None:
    assert read_text(tmp_path, b"\xfe\xff" + "héllo".encode("utf-16-be")).text == "héllo"
    assert read_text(tmp_path, b"\x00\x00\xfe\xff" + "héllo".encode("utf-32-be")).text == "héllo"


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("latin-1", "# Auteur : François Lefèvre, déjà vu\nx = 1\n"),
        ("latin-1", "# © 2010 Jürgen Müller\n"),
        ("cp1252", "# “quoted” – with dashes…\n"),
        ("cp1250", "# Příliš žluťoučký kůň úpěl ďábelské ódy\n"),
        ("shift_jis", "# これは日本語のコメントです。\nx = 1\n"),
        ("euc_jp", "# これは日本語のコメントです。関数を定義します\n"),
        ("gbk", "// 这是一个测试文件，用于检测编码\nint x;\n"),
        ("big5", "// 這是一個測試檔案，用於檢測編碼\nint x;\n"),
        ("euc_kr", "// 이것은 한국어 주석입니다\nint x;\n"),
        ("cp1251", "// Это комментарий на русском языке\n"),
        ("koi8_r", "// Это комментарий на русском языке\n"),
    ],
)
def test_legacy_encodings_are_detected(tmp_path: Path, codec: str, text: str) -> None:
    result = read_text(tmp_path, text.encode(codec))
    assert result.text == text
    assert result.encoding in encodings._LEGACY_ENCODINGS


def test_utf8_file_with_one_latin1_line_keeps_both_readable(tmp_path: Path) -> None:
    data = "# naïve\n# 日本語\n".encode() + "# François\r\nx = 1".encode("latin-1")
    result = read_text(tmp_path, data)
    assert result.text == "# naïve\n# 日本語\n# François\r\nx = 1"
    assert result.encoding == "utf-8+cp1252"


def test_encoding_is_detected_at_the_end_of_a_large_file(tmp_path: Path) -> None:
    text = "x = 1  # plain\n" * 20_000 + "# これは日本語のコメントです。\n"
    assert read_text(tmp_path, text.encode("shift_jis")).text == text


@pytest.mark.parametrize(
    ("name", "head", "codec"),
    [
        ("stock.py", "# -*- coding: euc-jp -*-\n# 在庫\n", "euc_jp"),
        ("stock.py", "#!/usr/bin/env python\n# vim: set fileencoding=big5 :\n# 計\n", "big5"),
        ("a.rb", "# encoding: Windows-1251\n# ИТОГ\n", "cp1251"),
        ("a.xml", '<?xml version="1.0" encoding="koi8-r"?>\n<a>ИТОГ</a>\n', "koi8_r"),
        ("a.html", '<html><head><meta charset="shift_jis">\n<title>在庫</title>\n', "shift_jis"),
        ("a.css", '@charset "gb2312";\n.a::before { content: "价"; }\n', "gb2312"),
        ("a.py", "# coding: iso-2022-jp\n# 在庫\n", "iso2022_jp"),
    ],
)
def test_declared_encoding_decides(tmp_path: Path, name: str, head: str, codec: str) -> None:
    assert read_text(tmp_path, head.encode(codec), name).text == head


@pytest.mark.parametrize("declared", ["no-such-codec", "rot13", "utf-8", "ascii"])
def test_wrong_declaration_is_no_obstacle(tmp_path: Path, declared: str) -> None:
    result = read_text(tmp_path, f"# coding: {declared}\n# caf\xe9 ol\xe9\n".encode("cp1252"))
    assert result.text.endswith("# café olé\n")


@pytest.mark.parametrize(
    ("codec", "comment"),
    [
        ("gb18030", "// 订单总价的计算方法\n"),
        ("euc_jp", "// 在庫がありません\n"),
        ("cp932", "// 在庫がありません\n"),
        ("cp949", "// 주문 합계를 계산한다\n"),
        ("big5", "// 計算訂單的總價\n"),
    ],
)
def test_short_east_asian_comment_is_read(tmp_path: Path, codec: str, comment: str) -> None:
    assert read_text(tmp_path, comment.encode(codec), "A.java").text == comment


def test_file_of_secrets_has_names_without_values_and_a_note(tmp_path: Path) -> None:
    result = read_text(tmp_path, b"SHOP_KEY=abc\n", ".env")
    assert (result.text, result.note) == ("SHOP_KEY=[value removed]\n", SECRETS_NOTE)
    assert result.hash == hashlib.sha256(b"SHOP_KEY=abc\n").hexdigest()
    assert read_text(tmp_path, b"SHOP_KEY=\n", ".env").note == ""


def test_pointer_of_large_file_storage_is_skipped(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
    assert read_skip_reason(tmp_path, pointer, "weights.py") == "pointer of Git LFS"
    assert read_skip_reason(tmp_path, f'POINTER = """{pointer}"""\n', "pointer.py") == ""


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-32-le"])
def test_lone_surrogates_never_reach_the_text(tmp_path: Path, codec: str) -> None:
    data = "\ufeffab\ud800cd".encode(codec, "surrogatepass")
    assert read_text(tmp_path, data).text.encode().startswith(b"ab")


def test_surrogates_written_as_utf8_never_reach_the_text(tmp_path: Path) -> None:
    read_text(tmp_path, b"# \xed\xa0\x80 half a pair\n").text.encode()


def test_large_legacy_file_is_detected_from_a_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    choose = encodings._choose_encoding
    monkeypatch.setattr(encodings, "_choose_encoding", lambda sample: sizes.append(len(sample)) or choose(sample))
    text = "# これは日本語のコメントです。\n" * 20_000
    assert read_text(tmp_path, text.encode("shift_jis")).text == text
    assert sizes[0] < 2 * encodings._SAMPLE_BYTES


def test_no_plausible_encoding_means_latin1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_LEGACY_ENCODINGS", ["euc_jp"])
    result = read_text(tmp_path, b"# caf\xe9\n")
    assert (result.text, result.encoding) == ("# café\n", "latin-1")


def test_bytes_that_the_detected_encoding_lacks_are_read_as_latin1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encodings, "_detect_encoding", lambda lines: "euc_jp")
    assert read_text(tmp_path, b"# caf\xe9\n").text == "# café\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01\x00\x00\x00",
        b"text and then\x00 a NUL",
        random.Random(1).randbytes(300).replace(b"\0", b"\1"),
        "x\0y".encode("utf-16-le") * 100,
        "abc".encode("utf-16-le") * 100 + b"\x01",
    ],
    ids=["elf", "nul", "noise without NUL", "utf-16 with controls", "utf-16 with half a character"],
)
def test_binary_content_is_skipped(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == SkippedFile(
        "skipped", "binary file", hashlib.sha256(data).hexdigest(), len(data), mtime(tmp_path)
    )


def mtime(root: Path) -> int:
    return (root / "a.py").stat().st_mtime_ns


def test_nul_far_from_the_beginning_is_text_as_in_git(tmp_path: Path) -> None:
    assert read_text(tmp_path, b"# x\n" * 5_000 + b"\0").text.endswith("\0")


@pytest.mark.parametrize(
    "head",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.\n",
        "# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n",
        "/**\n * @generated SignedSource<<abc>>\n */\n",
        "// <auto-generated>\n//   text\n// </auto-generated>\n",
        "/* AUTOGENERATED FILE - DO NOT EDIT */\n",
        "/*\n  This file was automatically generated by x.\n  Please do not modify it.\n*/\n",
        "# Do not edit: this file is generated\n",
        "#\n# This file is autogenerated by pip-compile\n#\n",
        "<?xml version='1.0'?>\n<!-- auto-generated, do not edit -->\n",
        "-- Code generated from schema. Do not change.\r\n",
    ],
)
def test_generated_code_is_distinguished_from_written_code(tmp_path: Path, head: str) -> None:
    assert read_text(tmp_path, (head + "x = 1\n").encode()).role == "generated"
    skip = read(tmp_path, (head + "x = 1\n").encode(), include_generated=False)
    assert isinstance(skip, SkippedFile)
    assert skip.reason == "generated file"


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("api/user.go", "generated"),
        ("examples/user.go", "generated"),
        ("api/user_test.go", "test"),
        ("vendor/api/user.go", "vendored"),
        ("requirements.txt", None),
        ("docs/api.md", None),
        ("ci.yml", None),
    ],
)
def test_generated_tests_and_vendored_code_retain_their_role(tmp_path: Path, path: str, role: str | None) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    result = read(tmp_path, b"# Code generated by x. DO NOT EDIT.\nx = 1\n", path)
    assert (result.role if isinstance(result, FileText) else None) == role
    assert isinstance(result, FileText) or result.reason == "generated file"


@pytest.mark.parametrize(
    "text",
    [
        'HEADER = "// Code generated by us. DO NOT EDIT."\n',
        "def f():\n    '''Return the generated file.'''\n",
        "# The ids are generated by the database.\n",
        "# Generated by Django 3.2 on 2021-01-01\n",
        "# see the @generated marker of other tools\n",
        "# Code\n" * 30 + "# Code generated by x. DO NOT EDIT.\n",
    ],
)
def test_mention_of_generated_code_is_not_generated_code(tmp_path: Path, text: str) -> None:
    assert read_text(tmp_path, text.encode()).role == "source"


MINIFIED_LINE = "function a(b,c){return b(c)};if(d){e()};" * 200
DATA = base64.b64encode(random.Random(2).randbytes(30_000)).decode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", MINIFIED_LINE),
        ("a.js", "/*\n * licence\n */\n" * 5 + MINIFIED_LINE),
        ("a.css", ".a{color:red;margin:0}.b{color:blue}" * 100),
    ],
)
def test_minified_files_are_skipped(tmp_path: Path, name: str, text: str) -> None:
    assert read_skip_reason(tmp_path, text, name) == "minified file"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "def f():\n    return 1\n" * 10 + f"X = '{DATA}'\n"),
        ("font.ts", f"export const fontUrl = '{DATA}';\n"),
        ("seed.sql", "INSERT INTO users VALUES " + "(1,'a')," * 5_000 + "(2,'b');\n"),
        ("a.json", '{"a":[' + "1," * 10_000 + "1]}"),
        ("a.js", "const a = 1;\n" * 10 + f"const wasm = '{DATA}';\n"),
        ("a.js", "function f() { return 1; }\n" * 1_000 + MINIFIED_LINE),
        ("a.js", ""),
        ("a.md", "A paragraph on one line. " * 400),
    ],
    ids=["long data", "only data", "rows", "numbers", "long data in JavaScript", "mostly normal", "empty", "prose"],
)
def test_a_long_line_alone_does_not_make_a_file_minified(tmp_path: Path, name: str, text: str) -> None:
    assert read_skip_reason(tmp_path, text, name) == ""


def test_file_that_grew_over_the_limit_is_skipped(tmp_path: Path) -> None:
    result = read(tmp_path, b"x" * 101, max_file_bytes=100)
    assert isinstance(result, SkippedFile)
    assert result[:4] == ("skipped", "larger than 100 bytes", "", 101)
    assert isinstance(read(tmp_path, b"x" * 100, max_file_bytes=100), FileText)


def test_file_that_grows_during_reading_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n" * 10)
    earlier = os.stat_result([*list((tmp_path / "a.py").stat())[:6], 12, 0, 0, 0])
    monkeypatch.setattr(regular_files.os, "fstat", lambda descriptor: earlier)
    assert text_of_existing(tmp_path).text == "x = 1\n" * 10


def text_of_existing(root: Path) -> FileText:
    result = read_file_text(root, FileCandidate("a.py", 0, 0, 0))
    assert isinstance(result, FileText)
    return result


def test_removed_file_fails(tmp_path: Path) -> None:
    assert read_file_text(tmp_path, FileCandidate("gone.py", 7, 5, 0)) == SkippedFile(
        "failed", "no such file or directory", "", 7, 5
    )


def test_directory_in_place_of_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "a.py").mkdir()
    result = read_file_text(tmp_path, FileCandidate("a.py", 7, 5, 0))
    assert isinstance(result, SkippedFile)
    assert result.outcome == "failed"


def test_unreadable_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(regular_files.os, "open", refuse)  # chmod does not stop root
    assert read(tmp_path, b"x") == SkippedFile("failed", "permission denied", "", 1, 0)


@pytest.mark.parametrize("native", [True, False], ids=["O_NOFOLLOW", "as on Windows"])
def test_link_in_place_of_a_file_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    if not native:
        monkeypatch.setattr(regular_files, "_NO_FOLLOW", 0)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a.py").symlink_to(tmp_path / "secret")
    result = read_file_text(tmp_path, FileCandidate("a.py", 6, 0, 0))
    assert isinstance(result, SkippedFile)
    assert result.outcome == "failed"
    assert "symbolic link" in result.reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    assert read_file_text(tmp_path, FileCandidate("a.py", 6, 0, 0)) == SkippedFile(
        "failed", "not a regular file", "", 6, 0
    )


# ---- between the scan and the reading ----------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"y = 2\n", b"y\n", b"", b"y = 2\n" * 50], ids=["same size", "less", "nothing", "more"]
)
def test_changed_file_is_read_in_its_current_state(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.py").write_bytes(data)
    result = read_file_text(tmp_path, FileCandidate("a.py", len(b"x = 1\n"), 5, 0))
    assert result == FileText(
        data.decode(), "utf-8", hashlib.sha256(data).hexdigest(), "source", len(data), mtime(tmp_path)
    )


def test_file_that_shrinks_during_reading_is_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    earlier = os.stat_result([*list((tmp_path / "a.py").stat())[:6], 6_000, 0, 0, 0])
    monkeypatch.setattr(regular_files.os, "fstat", lambda descriptor: earlier)
    result = text_of_existing(tmp_path)
    assert (result.text, result.size) == ("x = 1\n", 6)


def test_file_that_grows_over_the_limit_during_reading_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_bytes(b"x" * 200)
    earlier = os.stat_result([*list((tmp_path / "a.py").stat())[:6], 50, 0, 0, 0])
    monkeypatch.setattr(regular_files.os, "fstat", lambda descriptor: earlier)
    result = read_file_text(tmp_path, FileCandidate("a.py", 50, 0, 0), max_file_bytes=100)
    assert isinstance(result, SkippedFile)
    assert result.reason == "larger than 100 bytes"


def test_folder_replaced_by_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("x")
    result = read_file_text(tmp_path, FileCandidate("d/a.py", 7, 5, 0))
    assert isinstance(result, SkippedFile)
    assert result.outcome == "failed"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_fails(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "a.py").chmod(0)
    assert read_file_text(tmp_path, FileCandidate("a.py", 1, 0, 0)) == SkippedFile(
        "failed", "permission denied", "", 1, 0
    )


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), OSError(116, "Stale file handle"), OSError()])
def test_disk_error_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail(path: Path, limit: int) -> tuple[bytes, os.stat_result]:
        raise error

    monkeypatch.setattr(file_text, "read_regular_file", fail)
    result = read_file_text(tmp_path, FileCandidate("a.py", 1, 0, 0))
    assert isinstance(result, SkippedFile)
    assert (result.outcome, result.reason) == ("failed", (error.strerror or "oserror").lower())


# ---- size and broken text ----------------------------------------------------------------------


def test_large_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(50_000_000)
    data, status = regular_files.read_regular_file(tmp_path / "a.py", 1_000)
    assert (len(data), status.st_size) == (1_001, 50_000_000)


def test_a_line_of_fifty_megabytes_is_skipped(tmp_path: Path) -> None:
    data = b"x = 1; " * 7_200_000
    assert read_skip_reason(tmp_path, data) == "larger than 1,000,000 bytes"
    result = read_file_text(tmp_path, FileCandidate("a.py", len(data), 0, 0), max_file_bytes=100_000_000)
    assert isinstance(result, SkippedFile)
    assert result.reason == "minified file"


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"\xef\xbb\xbfx\xff", "x�", "utf-8-sig"),
        (b"\xff\xfex\x00y", "x�", "utf-16"),
        (b"\xfe\xff\x00x\xd8", "x�", "utf-16"),
        (b"\xff\xfe", "", "utf-16"),
        (b"\xff\xfe\x00\x00x", "�", "utf-32"),
        ("# naïve\n# naïve\nx = 1 # ".encode() + b"\xe2\x82", "# naïve\n# naïve\nx = 1 # â‚", "utf-8+cp1252"),
        (b"x = 1\ry = 2\r", "x = 1\ry = 2\r", "utf-8"),
    ],
    ids=["UTF-8", "half a unit", "big endian", "a mark alone", "UTF-32", "cut in a character", "old line ends"],
)
def test_broken_text_is_read_with_replacements(tmp_path: Path, data: bytes, text: str, encoding: str) -> None:
    result = read_text(tmp_path, data)
    assert (result.text, result.encoding) == (text, encoding)


@pytest.mark.parametrize("data", [b"\xc0\xaf", b"\xf8\x88\x80\x80\x80", b"\xff" * 40, "日本".encode("iso2022_jp")])
def test_bytes_without_valid_encoding_are_text(tmp_path: Path, data: bytes) -> None:
    read_text(tmp_path, data).text.encode()


def test_notebook_text_is_its_cells_and_hash_is_of_the_file(tmp_path: Path) -> None:
    data = b'{"cells": [\n{"cell_type": "code", "source": [\n"x = 1"\n]}]}\n'
    result = read_text(tmp_path, data, "a.ipynb")
    assert result.text == "\n# %%\nx = 1\n\n"
    assert (result.hash, result.size) == (hashlib.sha256(data).hexdigest(), len(data))
