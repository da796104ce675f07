"""Docstrings as Markdown.

A docstring of the package is Markdown already, but for three things: the headings `Args:`, `Attributes:`, `Raises:` and
`Warns:` with an indented `name: text` below them, examples that begin with `>>>`, and formulas set off by four spaces
or aligned by several.
"""

import re
from textwrap import dedent

HEADINGS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises", "Warns": "Warns"}
HEADING = re.compile(rf"({'|'.join(HEADINGS)}):$")
EXAMPLE, INDENTED, ALIGNED = re.compile(r"\s*>>> "), re.compile(r"    +\S"), re.compile(r"\S {2,}\S")


def markdown(doc):
    """The Markdown of a docstring that `ast.get_docstring` has cleaned."""
    lines, made = doc.splitlines(), []
    while lines:
        if found := HEADING.match(lines[0]):
            made += listed(HEADINGS[found[1]], taken(lines[1:], lambda line: line.startswith(" ") or not line))
            del lines[:1 + len(taken(lines[1:], lambda line: line.startswith(" ") or not line))]
        elif EXAMPLE.match(lines[0]):
            block = taken(lines, bool)
            made += ["```pycon", *dedent("\n".join(block)).splitlines(), "```"]
            del lines[:len(block)]
        elif INDENTED.match(lines[0]) and not (made and made[-1]):
            block = taken(lines, lambda line: line.startswith("    ") or not line)
            made += ["```text", *dedent("\n".join(block)).strip().splitlines(), "```", ""]
            del lines[:len(block)]
        elif any(map(ALIGNED.search, taken(lines, bool))):
            block = taken(lines, bool)
            made += ["```text", *block, "```"]
            del lines[:len(block)]
        else:
            made.append(lines.pop(0))
    return "\n".join(made)


def taken(lines, belongs):
    """The first of the lines, as long as they belong."""
    end = next((i for i, line in enumerate(lines) if not belongs(line)), len(lines))
    return lines[:end]


def listed(title, lines):
    """A heading and its list: what stands furthest left is an item, what is indented further goes on with it."""
    made, text = ["", f"**{title}**", ""], dedent("\n".join(lines)).strip()
    for line in text.splitlines():
        found = re.match(r"([*\w.]+(?:, [*\w.]+)*): ?(.*)", line)
        made.append(f"- {', '.join(f'`{name}`' for name in found[1].split(', '))}: {found[2]}" if found
                    else f"  {line.strip()}")
    return [*made, ""]
