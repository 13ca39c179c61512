"""A repository whose own configuration of git names a command wherever it can name one."""

import os
import subprocess
from pathlib import Path

COMMAND_SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "diff.external", "gpg.program", "gpg.ssh.program", "diff.evil.command",
    "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver",
    "credential.helper", "uploadpack.packObjectsHook", "interactive.diffFilter", "pager.log", "pager.diff-tree",
    "pager.ls-files", "pager.config", "sequence.editor", "remote.origin.uploadpack", "remote.origin.vcs",
    "trace2.eventTarget", "browser.evil.cmd", "web.browser", "sendemail.smtpServer",
)  # fmt: skip
HOOKS = (
    "post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc",
    "post-rewrite", "proc-receive", "push-to-checkout",
)  # fmt: skip


def run_plainly(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git as a user would."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, input=stdin).stdout


def plant_commands(folder: Path, canary: Path) -> None:
    """Name a command in each setting, hook and attribute of a repository with a commit; it writes to the canary."""
    script = canary.with_name("canary.sh")
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {canary}\ncat\n')
    script.chmod(0o755)
    hooks = canary.with_name("hooks")
    for place in (hooks, folder / ".git" / "hooks"):
        place.mkdir(exist_ok=True)
        for name in HOOKS:
            (place / name).write_text(script.read_text())
            (place / name).chmod(0o755)
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    included = canary.with_name("included")
    included.write_text("".join(_format_setting(name, str(script)) for name in COMMAND_SETTINGS))
    with (folder / ".git" / "config").open("a") as config:
        config.write("".join(_format_setting(name, str(script)) for name in COMMAND_SETTINGS))
        for name, value in (
            ("core.hooksPath", str(hooks)), ("remote.origin.url", f"ext::{script} %S"), ("remote.origin.promisor", "true"),
            ("extensions.partialClone", "origin"), ("log.showSignature", "true"), ("diff.submodule", "log"),
            ("submodule.lib.update", f"!{script}"), ("include.path", str(included)), ("protocol.ext.allow", "always"),
            *((f"alias.{name}", f"!{script}") for name in ("ls-files", "log", "config", "ls-tree", "cat-file", "rev-list")),
        ):  # fmt: skip
            config.write(_format_setting(name, value))
    canary.unlink(missing_ok=True)


def plant_environment(monkeypatch, canary: Path) -> None:
    """Name the command in the variables of git, too."""
    for name in ("PAGER", "EXTERNAL_DIFF", "SSH_COMMAND", "ASKPASS", "EDITOR", "PROXY_COMMAND", "SEQUENCE_EDITOR"):
        monkeypatch.setenv(f"GIT_{name}", str(canary.with_name("canary.sh")))


def sign_head(folder: Path) -> None:
    """Give the commit of HEAD a signature, which git would check with the program of the configuration."""
    commit = run_plainly(folder, "cat-file", "commit", "HEAD")
    header, _, message = commit.partition(b"\n\n")
    signature = b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"
    signed = run_plainly(
        folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=header + signature + b"\n" + message
    )
    run_plainly(folder, "update-ref", "HEAD", os.fsdecode(signed).strip())


def _format_setting(name: str, value: str) -> str:
    section, _, key = name.rpartition(".")
    first, _, rest = section.partition(".")
    head = f'{first} "{rest}"' if rest else first
    return f'[{head}]\n\t{key} = "{value}"\n'
