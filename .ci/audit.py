"""Known weaknesses of the pinned packages: asks pip-audit and npm, and reads what they answer.

Ends with 0 when every package was answered for and nothing new is known, with 1 when something is, and with 3 when a
service left a package out: silence is no good news. `KNOWN` has the findings that do not matter here.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAID = 6  # names in one line
KNOWN: dict[str, str] = {}  # {id of a finding: why it does not matter here}
ASKED = {
    "PyPI": [sys.executable, "-m", "pip_audit", "-r", "requirements.txt", "--no-deps", "--disable-pip", "-s", "pypi",
             "--format", "json", "--progress-spinner", "off"],
    "npm": ["npm", "audit", "--json", "--package-lock-only"],
}


def python_findings(answer):
    """{id of a finding: package} and the packages that were left out, of pip-audit's answer; None when it is none."""
    packages = answer.get("dependencies")
    if not packages:
        return None
    found = {weak["id"]: f"{one['name']} {one['version']}" for one in packages for weak in one.get("vulns", ())}
    return found, [one["name"] for one in packages if "skip_reason" in one]


def npm_findings(answer):
    """The same of npm's answer."""
    if "vulnerabilities" not in answer:
        return None
    causes = [(name, cause) for name, one in answer["vulnerabilities"].items() for cause in one["via"]]
    return {cause["url"].rpartition("/")[2]: name for name, cause in causes if isinstance(cause, dict)}, []


def judge(python, npm, known=KNOWN):
    """What the two answers mean: a line for each thing to say, and the number to end with."""
    lines, found, silent = [], {}, False
    for service, answer, findings in (("PyPI", python, python_findings), ("npm", npm, npm_findings)):
        read = findings(answer)
        if read is None:
            why = f" ({answer['message']})" if answer.get("message") else ""
            lines.append(f"{service}: no answer, so nothing is known about its packages{why}")
            silent = True
            continue
        found |= read[0]
        if read[1]:
            lines.append(f"{service}: no answer for {len(read[1])} packages: {', '.join(read[1][:SAID])}"
                         + " …" * (len(read[1]) > SAID))
            silent = True
    new = {id: package for id, package in found.items() if id not in known}
    lines += [f"{package}: {id}" + (f" (known: {known[id]})" if id in known else "") for id, package in found.items()]
    stale = [] if silent else [id for id in known if id not in found]
    lines += [f"{id}: no longer found; take it out of KNOWN" for id in stale]
    if not (lines or silent):
        lines.append("every package was answered for, and nothing is known against any")
    return lines, 1 if new or stale else 3 if silent else 0


def ask(command):
    """What `command` answers; where that is no JSON, the last line of its complaint as `message`, as npm has it."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"message": (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]}
    except OSError as error:
        return {"message": str(error)}


if __name__ == "__main__":
    lines, code = judge(*map(ask, ASKED.values()))
    print("\n".join(f"audit: {line}" for line in lines))
    sys.exit(code)
