import subprocess
import sys

import pytest

from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.part", "json.no_such_part"])
def test_missing_module_error_names_its_extra(module):
    with pytest.raises(
        ConfigurationError, match=f"this thing needs an extra that is not installed.*{module}"
    ) as caught:
        require_extra(module, "some-extra", "this thing")
    assert 'pip install ".[some-extra]"' in caught.value.hint


def test_installed_module_is_detected_without_import():
    code = """
import sys
from coderag.models.extras import require_extra
require_extra("wave", "x", "x")
require_extra("xml.dom.minidom", "x", "x")
print("wave" in sys.modules, "xml.dom.minidom" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]
