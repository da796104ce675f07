"""What `make audit` makes of the answers of the services: silence about a package is never good news."""

import importlib.util
import sys

import pytest
from browsing import ROOT

SPEC = importlib.util.spec_from_file_location("audit", ROOT / ".ci/audit.py")
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)

GOOD = {"dependencies": [{"name": "torch", "version": "2.13.0", "vulns": []}]}, {"vulnerabilities": {}}
WEAK = {"dependencies": [{"name": "torch", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]}]}
SKIPPED = {"dependencies": [{"name": "torch", "skip_reason": "not found"}, *GOOD[0]["dependencies"]]}
WEAK_NPM = {"vulnerabilities": {"ws": {"via": [{"url": "https://github.com/advisories/GHSA-1"}]},
                                "above": {"via": ["ws"]}}}
DENIED = {"message": "405 Method Not Allowed", "method": "POST"}


@pytest.mark.parametrize(("python", "npm", "known", "code", "said"), [
    (*GOOD, {}, 0, "every package was answered for"),
    (WEAK, GOOD[1], {}, 1, "torch 1.0: PYSEC-1"),
    (GOOD[0], WEAK_NPM, {}, 1, "ws: GHSA-1"),
    (WEAK, WEAK_NPM, {"PYSEC-1": "not called", "GHSA-1": "tests only"}, 0, "PYSEC-1 (known: not called)"),
    (*GOOD, {"PYSEC-1": "not called"}, 1, "take it out"),
    (SKIPPED, GOOD[1], {}, 3, "no answer for 1 packages: torch"),
    ({}, GOOD[1], {}, 3, "PyPI: no answer"),
    ({"message": "no route to pypi.org"}, GOOD[1], {}, 3, "its packages (no route to pypi.org)"),
    (GOOD[0], DENIED, {}, 3, "npm: no answer, so nothing is known about its packages (405 Method Not Allowed)"),
    (SKIPPED, DENIED, {"PYSEC-1": "not called"}, 3, "npm: no answer"),
    (WEAK, DENIED, {}, 1, "PYSEC-1"),
])
def test_an_answer_is_read(python, npm, known, code, said):
    lines, ended = audit.judge(python, npm, known)
    assert ended == code
    assert said in "\n".join(lines)


@pytest.mark.parametrize(("code", "message"), [
    ("import sys; print('half'); sys.exit('one\\nConnectionError: no route')", "ConnectionError: no route"),
    ("raise SystemExit(7)", "it ended with 7"),
])
def test_a_tool_that_gives_no_answer_says_why(code, message):
    assert audit.ask([sys.executable, "-c", code]) == {"message": message}


def test_a_tool_that_is_not_there_is_named():
    assert "no-such-tool" in audit.ask(["no-such-tool"])["message"]


def test_every_known_finding_has_a_reason():
    assert all(reason.strip() for reason in audit.KNOWN.values())
