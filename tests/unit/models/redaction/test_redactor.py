"""What a model's server is sent has no secrets, and is otherwise what it was."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.models.llms.scripted import ScriptedModel
from coderag.models.redaction.redacting_llm import RedactingModel
from coderag.models.redaction.redactor import get_redactor
from coderag.schema.prompts import ModelPrompt

# Secrets are put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zC"
KEY_BODY = "\n".join(base64.b64encode(bytes((i * 7 + j * 13) % 256 for j in range(48))).decode() for i in range(12))


def pem(name: str) -> str:
    return f"-----BEGIN {name}-----\n{KEY_BODY}\nQUJD\n-----END {name}-----"


def jwt(claims: bytes = b'{"sub":"1"}') -> str:
    parts = (b'{"alg":"HS256"}', claims, b"signature-of-32-bytes-or-so-0123")
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


TOKENS = {
    "GitHub Token": "ghp_" + LETTERS + "Ab12",
    "GitHub Token, fine-grained": "github_pat_" + LETTERS + "_" + LETTERS,
    "GitLab Token": "glpat-" + LETTERS[:20],
    "Anthropic API Key": "sk-ant-api03-" + LETTERS + "-" + LETTERS,
    "OpenAI API Key": "sk-proj-" + LETTERS + LETTERS,
    "OpenAI API Key, old": "sk-" + LETTERS + LETTERS[:16],
    "Google API Key": "AIza" + LETTERS + "x_Y",
    "Hugging Face Token": "hf_" + LETTERS + "ab",
    "npm Token": "npm_" + LETTERS + "abcd",
    "PyPI Token": "pypi-AgEIcHlwaS5vcmc" + LETTERS * 3,
    "AWS Access Key": "AKIA" + "ABCDEFGH23456789",
    "Slack Token": "xoxb-" + "123456789012-123456789012-" + LETTERS[:24],
    "Stripe Key": "sk_live_" + LETTERS[:24],
    "SendGrid API Key": "SG." + LETTERS[:22] + "." + LETTERS + LETTERS[:11],
    "Twilio API Key": "SK" + "0123456789abcdef" * 2,
    "Voyage API Key": "pa-" + LETTERS + LETTERS[:11],
    "Groq API Key": "gsk_" + LETTERS + LETTERS[:20],
    "Vault Token": "hvs." + LETTERS,
    "JSON Web Token": jwt(),
}
ASSIGNED = [
    'password = "{}"',
    "PASSWORD='{}'",
    'db_password: str = "{}"',
    '{{"password": "{}"}}',
    'if user.password == "{}":',
    'if "{}" == password:',
    'config.setPassword("{}");',
    'props.put("db.password", "{}");',
    "DB_PASSWORD={}",
    "export API_KEY={}",
    "  password: {}",
    "curl --password {} example.org",
    "<password>{}</password>",
    "postgres://user:{}@db.example.org/shop",
    "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true",
    'const char pwd[32] = "{}";',
    'client_secret => "{}",',
    'secret := "{}"',
    '<add key="ApiSecret" value="{}"/>',
    '{{"name": "DB_PASSWORD", "value": "{}"}},',
    'curl -H "X-Api-Key: {}" example.org',
    "curl -s -u joe:{} https://example.org",
    "PGPASSWORD={} psql shop",
    "docker run -e POSTGRES_PASSWORD={} postgres",
    "ENV API_KEY {}",
    "config.password ||= '{}'",
    'options.secret ??= "{}"',
    'let accessToken: string = "{}";',
]
PASSWORDS = ["hunter2", "S3cr3t!pass", "p4ss-w0rd.X", "aB3dE5gH7jK9mN1p"]

WORDS_ASSIGNED = [
    "DB_PASSWORD={}",
    "API_KEY={}",
    "  client-secret: {}",
    "password={}",
    'api_key = "{}"',
    "'client_secret' => '{}',",
    'secret: "{}"',
    "define('DB_PASSWORD', '{}');",
    'props.setProperty("db.password", "{}");',
    '<property name="password" value="{}"/>',
    "PGPASSWORD={} psql shop",
    "ENV API_KEY {}",
    "refreshToken: '{}',",
]

PLAIN = [
    "password = letmein",
    "password: Letmein;",
    "secret: SecretStr",
    'password = getpass("Password: ")',
    "def login(user: str, password: str) -> None:",
    "password: string;",
    'FIELDS = ["username", "password", "email"]',
    '<input type="password" name="password" placeholder="Password">',
    "password = os.environ['PASSWORD']",
    "password: ${DB_PASSWORD}",
    'password = "{password}"',
    'PASSWORD_LABEL = "password"',
    "self.token = token",
    "key = lambda item: item.name",
    'raise ValueError("Password: incorrect")',
    'fields("password", "confirmation")',
    'data = {"grant_type": "refresh_token"}',
    "access_token = response.json()",
    "docker run -u 1000:1000 postgres",
    "curl -u $LOGIN:$PASSWORD example.org",
    'PGPASSWORD="$PASSWORD" psql shop',
    '<input name="password" value="">',
    'sha = "da39a3ee5e6b4b0d3255bfef95601890afd80709"',
    'id = "123e4567-e89b-12d3-a456-426614174000"',
    "from company.authentication.tokens import TokenAuthenticationMiddleware",
    "https://example.org/a/b:c@2.0",
    "git@github.com:owner/name.git",
    "ssh://git@example.org:22/name.git",
    'token_url = "https://example.org/oauth/token"',
    'BEGIN = "-----BEGIN PRIVATE KEY-----"\nEND = "-----END PRIVATE KEY-----"',
    "-----BEGIN CERTIFICATE-----\n" + KEY_BODY + "\n-----END CERTIFICATE-----",
    '"integrity": "sha512-9vFKkqH3hCmkC8VKQ9CW0aYpCvqQyVbDZr2YJz1n0lV3Lw=="',
    "[secret removed: Password]",
]

surroundings = st.text(st.sampled_from("ab c1(){}=:;,.'\"\n\t#/-_@<>[]"), max_size=60)


@pytest.mark.parametrize("kind", TOKENS)
@settings(max_examples=25, deadline=None)
@given(before=surroundings, after=surroundings)
def test_token_is_removed_everywhere(kind, before, after):
    text = f"{before} {TOKENS[kind]} {after}"
    redacted = get_redactor().redact(text)
    assert TOKENS[kind] not in redacted.text
    assert TOKENS[kind][-12:] not in redacted.text
    assert redacted.secrets >= 1
    assert redacted.text.count("\n") == text.count("\n")


@pytest.mark.parametrize("form", ASSIGNED)
@pytest.mark.parametrize("password", PASSWORDS)
def test_password_is_removed_in_every_assignment_form(form, password):
    redacted = get_redactor().redact(f"first\n{form.format(password)}\nlast")
    assert password not in redacted.text
    assert redacted.text.startswith("first\n") and redacted.text.endswith("\nlast")
    assert redacted.secrets == 1


@pytest.mark.parametrize("form", WORDS_ASSIGNED)
def test_plain_word_is_removed_where_the_name_says_so(form):
    assert "swordfish" not in get_redactor().redact(form.format("swordfish")).text
    for value in ("${PASSWORD}", "<your key>", "xxxx"):
        assert value in get_redactor().redact(form.format(value)).text


def test_text_around_a_secret_is_kept():
    assert get_redactor().redact('db.connect(host, password="hunter2", port=1)').text == (
        'db.connect(host, password="[secret removed: Password]", port=1)'
    )
    assert (
        get_redactor().redact("postgres://shop:hunter2@db/x").text
        == "postgres://shop:[secret removed: Basic Auth Credentials]@db/x"
    )


@pytest.mark.parametrize(
    "name", ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("around", ["{}", '    "{}\\n" +', "# {}", "b'{}\\n'"])
def test_private_key_is_removed_line_by_line(name, around):
    lines = [around.format(line) for line in pem(name).split("\n")]
    redacted = get_redactor().redact("\n".join(["before = 1", *lines, "after = 2"]))
    marker = "[secret removed: Private Key]"
    assert redacted.text.split("\n") == ["before = 1", *[marker] * len(lines), "after = 2"]
    assert redacted.secrets == 1


def test_key_with_headers_and_one_in_a_line_are_removed():
    with_headers = pem("RSA PRIVATE KEY").replace(
        "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n", 1
    )
    assert KEY_BODY[:30] not in get_redactor().redact(with_headers).text
    in_json = '{"type": "account", "private_key": "' + pem("PRIVATE KEY").replace("\n", "\\n") + '", "id": 7}'
    assert get_redactor().redact(in_json).text == (
        '{"type": "account", "private_key": "[secret removed: Private Key]", "id": 7}'
    )


def test_key_that_is_cut_off_at_either_end_is_removed():
    lines = pem("PRIVATE KEY").split("\n")
    for part in (lines[:6], lines[5:]):
        redacted = get_redactor().redact("\n".join(part))
        assert redacted.text == "\n".join(["[secret removed: Private Key]"] * len(part))


def test_key_of_putty_is_removed():
    data = KEY_BODY.split("\n")
    key = [
        "PuTTY-User-Key-File-2: ssh-rsa",
        "Public-Lines: 2",
        *data[:2],
        "Private-Lines: 3",
        *data[2:5],
        "Private-MAC: 0a1b",
    ]
    redacted = get_redactor().redact("\n".join([*key, "after"]))
    assert redacted.text.split("\n") == ["[secret removed: Private Key]"] * len(key) + ["after"]


@pytest.mark.parametrize("text", PLAIN)
def test_text_without_secrets_is_unchanged(text):
    assert get_redactor().redact(text) == type(get_redactor().redact(""))(text, 0)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*TOKENS.values(), *PLAIN, *(form.format("x1y2z3") for form in ASSIGNED), "", "\r"])))
def test_redaction_is_idempotent(parts):
    for joint in ("\n", " ", ""):
        once = get_redactor().redact(joint.join(parts))
        assert get_redactor().redact(once.text) == type(once)(once.text, 0)
        assert once.text.count("\n") == joint.join(parts).count("\n")


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_keeps_its_lines_and_terminates(text):
    once = get_redactor().redact(text)
    assert once.text.count("\n") == text.count("\n")
    assert get_redactor().redact(once.text).secrets == 0


def test_windows_line_ends_are_kept():
    text = pem("PRIVATE KEY").replace("\n", "\r\n") + "\r\npassword = 'hunter2'\r\n"
    assert get_redactor().redact(text).text.count("\r\n") == text.count("\r\n")


def test_secret_in_a_very_long_line_is_found():
    for at in (0, 1_990, 2_480, 7_000):
        text = "x" * at + " " + TOKENS["GitHub Token"] + " " + "y" * 8_000
        assert TOKENS["GitHub Token"] not in get_redactor().redact(text).text
    token = jwt(b'{"sub":"' + b"a1" * 3_000 + b'"}')
    assert token[-20:] not in get_redactor().redact(f"x = '{token}'").text


async def test_model_is_shown_no_secret_of_either_part_of_the_prompt():
    inner = ScriptedModel("fine", "fine")
    model = RedactingModel(inner)
    prompt = ModelPrompt(user='key = "' + TOKENS["Hugging Face Token"] + '"', system="password = 'hunter2'")
    assert (await model.complete(prompt)).text == "fine"
    assert "".join([piece async for piece in model.stream(prompt)]) == "fine"
    assert [(sent.user, sent.system) for sent in inner.prompts] == 2 * [
        ('key = "[secret removed: Hugging Face Token]"', "password = '[secret removed: Password]'")
    ]
    assert model.redact_prompt(prompt)[1] == 2
    assert (model.name, model.context_window) == (inner.name, inner.context_window)


def test_detector_is_imported_on_first_use():
    code = "import coderag.models.redaction, sys; sys.exit('detect_secrets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[4], check=False).returncode == 0
