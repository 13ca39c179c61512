"""Settings in force, with their sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SettingSource = Literal["default", "committed file", "local file", "environment", "argument", "restriction"]
"""Source of a value. ``restriction``: it follows from the missing trust in the repository."""


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting in force.

    Attributes:
        key: Key with its sections, such as ``search.top_k``.
        value: Its value as text; never a secret.
        default: Its default as text.
        place: File and line, or variable, that sets it; empty for a default.
        variable: Environment variable that can set it.
        choices: Possible values, or bounds, as text; empty for any.
        description: Sentence of the documentation.
        is_secret: Whether it is a key or password, of which only its presence is reported.
        is_masked: Whether a part of the value was removed as a secret.
        rule: What an untrusted repository may not set, and why; empty if it may set any value.
    """

    key: str
    value: str
    default: str
    source: SettingSource
    place: str
    variable: str
    choices: str
    description: str
    is_secret: bool
    is_masked: bool
    rule: str


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """Settings of a section, in the order of the documentation; the first section has no name."""

    name: str
    description: str
    settings: Sequence[EffectiveSetting]


@dataclass(frozen=True, slots=True)
class IgnoredSetting:
    """A setting or file of an untrusted repository that is ignored.

    Attributes:
        place: File and line.
        key: The setting; empty for a whole file or folder.
        value: Its value as written; never a secret.
    """

    place: str
    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class SettingsFileState:
    """A file that configures the repository, and its purpose."""

    name: str
    purpose: str
    exists: bool


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Settings of a repository in force, with their sources and restrictions.

    Attributes:
        trusted: Whether the repository's files may set everything.
        trusted_by: Trusted folder that covers the repository; empty without one.
        trust_file: File of the trust marks, outside every repository.
        files: Files that configure the repository.
        ignored: What is ignored because the repository is not trusted.
    """

    root: str
    trusted: bool
    trusted_by: str
    trust_file: str
    files: Sequence[SettingsFileState]
    sections: Sequence[SettingsSection]
    ignored: Sequence[IgnoredSetting]
