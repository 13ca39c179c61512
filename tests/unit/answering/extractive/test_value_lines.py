import pytest

from coderag.answering.evidence.value_lines import find_value_lines


@pytest.mark.parametrize(
    ("code", "name", "value"),
    [
        ("    retries: int = 3,", "retries", "3"),
        ("def send(url, retries=3, wait=None):", "wait", "None"),
        ("pub const DEFAULT_PORT: u16 = 6379;", "DEFAULT_PORT", "6379"),
        ("#define BULK_MOVE 1", "BULK_MOVE", "1"),
        ("static const size_t queue_size = 8192;", "queue_size", "8192"),
        ("    Interval: 30 * time.Second, // as before", "Interval", "30 * time.Second"),
        ("private $maxJobs = 12;", "$maxJobs", "12"),
        ("public int Workers { get; set; } = 5;", "Workers", "5"),
        ("connection_timeout: 30", "connection_timeout", "30"),
        ("const wait = options.wait || WAIT_TIMEOUT;", "options.wait", "WAIT_TIMEOUT"),
        ("let port = cli.port.unwrap_or(DEFAULT_PORT);", "cli.port", "DEFAULT_PORT"),
        ("val on = options[KEY]?.toBoolean() ?: true", "KEY", "true"),
        ("$algo = $config->get('checksum_algo', 'md5');", "checksum_algo", "'md5'"),
        ("parser.add_argument('--depth', type=int, default=4)", "--depth", "4"),
        ("@option(\n    '--depth',\n    type=int,\n    default=4,\n)", "--depth", "4"),
        ("  depth: [\n    type: :pos_integer,\n    default: 4,\n  ]", "depth", "4"),
        ('    .long("tabs")\n    .value_name("T")\n    .default_value("4")', "tabs", '"4"'),
    ],
)
def test_values_are_found_in_the_syntax_of_many_languages(code, name, value):
    found = [line for line in find_value_lines(code.split("\n")) if name in line.names and line.is_literal]
    assert value in [line.value for line in found]


@pytest.mark.parametrize(
    "code",
    [
        "if retries == 3:",
        "# retries = 3",
        ">>> send(url, retries=3)",
        'environ["RETRIES"] = "3"',
        "log('retries', count)",
    ],
)
def test_comparisons_comments_and_writes_give_no_default(code):
    assert not [line for line in find_value_lines([code]) if line.is_literal]


@pytest.mark.parametrize("code", ["retries = load(config)", "retries = other", "retries: int,"])
def test_computed_values_are_no_literals(code):
    assert not any(line.is_literal for line in find_value_lines([code]))
