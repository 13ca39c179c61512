"""Files of secrets as names without values."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.text.readable_text import to_readable_text
from coderag.text.secret_values import REMOVED_VALUE, is_secret_file, remove_values

VALUE = "hunter2 or any word"

FILES = {
    ".env": '# database\nDB_PASSWORD={}\nexport API_KEY=\'{}\'\nURL="{}"\nMULTI="{}\nsecond {}\n"\n# OLD_KEY={}\n',
    "deploy/.env.production": "A={}\r\nB ={} # comment\r\n",
    "prod.env": "A:{}\n",
    ".npmrc": "//registry.example/:_authToken={}\nalways-auth={}\n",
    ".pypirc": "[pypi]\nusername = __token__\npassword = {}\n",
    ".pgpass": "localhost:5432:shop:admin:{}\n",
    ".htpasswd": "admin:{}\n",
    ".git-credentials": "https://admin:{}@host.example\n",
    "infra/prod.tfvars": 'db_password = "{}"\nkeys = [\n  "{}",\n]\nuser = {{\n  password = "{}"\n}}\ncert = <<EOF\n{}\nEOF\n',
    "config/secrets.yml": "production:\n  password: {}\n  list:\n    - {}\n    - token: '{}'\n  key: |\n    {}\n    {}\n"
    "  flow: {{a: {}}}\n",
    "secrets.toml": '[db]\npassword = "{}"\nlong = """\n{}\n"""\n',
    "secrets.json": '{{"db": {{"password": "{}", "pin": 123456}}, "list": ["{}"], "escaped": "a \\" {}"}}\n',
    "credentials": "[default]\naws_access_key_id = {}\naws_secret_access_key={}\n",
    "secrets.xml": '<resources>\n <string name="key">{}</string>\n <add key="{}" value=\'{}\'/>\n</resources>\n',
    "kubeconfig": "users:\n- name: admin\n  user:\n    token: {}\n    client-key-data: {}\n",
    "my-service-account.json": '{{"type": "{}", "private_key": "{}"}}',
    "app-secrets.properties": "db.password={}\ndb.user : {}\nlong=a\\\n  {}\n",
    "passwords.txt": "{}\nmail {}\n",
    "secrets.ini": "[mail]\npassword: {}\n; password = {}\n",
}


@pytest.mark.parametrize(("path", "template"), FILES.items(), ids=FILES)
def test_no_value_of_a_file_of_secrets_is_left(path: str, template: str) -> None:
    text = template.format(*[VALUE] * template.replace("{{", "").replace("}}", "").count("{}"))
    readable = to_readable_text(path, text)
    assert "hunter2" not in readable
    assert "word" not in readable.replace("password", "").replace("Word", "")
    assert "123456" not in readable
    assert readable.count("\n") == text.count("\n")
    assert readable.count("\r") == text.count("\r")


def test_quotes_and_commas_stay_so_that_the_format_is_valid() -> None:
    text = 'name = "abc"\nkeys = [\n  "abc",\n]\n'
    assert remove_values("prod.tfvars", text) == text.replace("abc", REMOVED_VALUE)


def test_logins_keep_their_machine() -> None:
    text = "machine api.example login bob password hunter2\nmachine b\n  password hunter2\n"
    assert remove_values(".netrc", text) == text.replace("hunter2", REMOVED_VALUE)


def test_names_comments_and_structure_stay() -> None:
    text = "# The key of the shop.\n\nSHOP_KEY=abc\n[section]\nexport OTHER='def'\n"
    expected = f"# The key of the shop.\n\nSHOP_KEY={REMOVED_VALUE}\n[section]\nexport OTHER='{REMOVED_VALUE}'\n"
    assert remove_values(".env", text) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "$HOME",
        "${API_KEY}",
        "{{ vault.key }}",
        "<your key>",
        "****",
        "xxxx",
        "...",
        "your-api-key",
        "changeme",
        "%KEY%",
        "null",
    ],
)
def test_references_and_placeholders_stay(value: str) -> None:
    for path, text in (
        (".env", f"KEY={value}\n"),
        ("secrets.yml", f"key: {value}\n"),
        ("secrets.json", f'{{"key": "{value}"}}'),
    ):
        assert remove_values(path, text) == text


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", "sample.env", ".env.template", "secrets.py", "lib/secret_store.rb", "docs/secrets.md", "env.py",
        "secrets.example.yml", "src/password.ts", "environment.ts", ".env.d.ts", "tokens.json", "credentials.schema.json",
    ],
)  # fmt: skip
def test_code_documents_and_examples_are_no_files_of_secrets(path: str) -> None:
    assert not is_secret_file(path)


def test_manifest_of_a_kubernetes_secret_loses_its_data_only() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  mode: fast\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n"
        "data:\n  password: aHVudGVyMg==\n  key: |\n    aHVudGVyMg==\nstringData:\n  user: hunter2\ntype: Opaque\n"
    )
    readable = to_readable_text("deploy/db.yaml", text)
    assert "hunter2" not in readable
    assert "aHVudGVyMg" not in readable
    assert "mode: fast" in readable
    assert "name: db" in readable
    assert readable.endswith("type: Opaque\n")


def test_secret_in_a_list_of_objects_loses_its_data_only() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n  - kind: Secret\n    metadata:\n      name: first\n    data:\n      a: b25l\n"
        "  - kind: ConfigMap\n    data:\n      mode: fast\n  - data:\n      b: dHdv\n    kind: Secret\n"
        "  - kind: Other\n    source:\n      kind: Secret\n    data:\n      color: blue\n"
    )
    readable = to_readable_text("deploy/all.yaml", text)
    assert "b25l" not in readable
    assert "dHdv" not in readable
    assert all(kept in readable for kept in ("mode: fast", "name: first", "color: blue"))
    assert readable.count("\n") == text.count("\n")


SECRETS = st.text(
    string.ascii_letters + string.digits + "+/=_-.!@%^&*()[]{}:;,<>?|~#$ ", min_size=8, max_size=60
).filter(lambda text: any(map(str.isdigit, text)) and text == text.strip())


@given(SECRETS)
def test_any_value_with_digits_goes(value: str) -> None:
    if value[0] in "#$<{*%[|>&(~" or "#" in value:
        return
    for path, text in {
        ".env": f'A={value}\nB="{value}"\n',
        "secrets.yml": f"a: {value}\nb:\n  - {value}\n",
        "secrets.json": json.dumps({"a": value, "b": [value]}),
        "prod.tfvars": f'a = "{value}"\n',
    }.items():
        assert value not in remove_values(path, text)


@given(st.text(max_size=300), st.sampled_from([*FILES, ".netrc", "db.yaml"]))
def test_any_text_keeps_its_lines(text: str, path: str) -> None:
    readable = remove_values(path, text)
    assert readable.count("\n") == text.count("\n")
