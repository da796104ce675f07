"""The pages of functions and classes: written from the source of the package when Sphinx reads them.

A page below book/api lists modules in a block `{api}`, those that only other modules call in a block `{api-inner}`;
each becomes a section with an entry for every public name. In book/api.md the blocks `{api-index}` and `{inner-index}`
become the names of all pages, in book/api/cli.md `{cli-help}` what the command line says of itself. In the lessons,
what stands under "Where it lives" leads to its entry.
"""

import os
import re
import subprocess
import sys
from functools import cache

from docutils import nodes
from sphinx.addnodes import desc_sig_literal_string

from tsbook import docstrings, public

FOLDER = "book/api"
BLOCK = re.compile(r"```\{(api|api-inner|api-index|inner-index|cli-help)\}\n(.*?)```\n", re.S)
ARGUMENTS = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>", re.S)
COMMANDS = ("", "lessons", "quiz", "settings", "trace", "page")
SETTING = {"COLUMNS": "88", "PYTHONIOENCODING": "utf8", "PATH": os.environ["PATH"]}  # what `--help` is asked in
LIVES = "Where it lives"

modules = cache(public.read)


def write_entries(app, docname, source):
    """Put what a block stands for in its place."""
    if not docname.startswith(FOLDER):
        return
    for path in public.files(app.srcdir).values():
        app.env.note_dependency(str(path))
    made = {"api": sections, "api-inner": sections, "api-index": index, "inner-index": inner_index, "cli-help": helps}
    source[0] = BLOCK.sub(lambda found: made[found[1]](app, found[2].split()), source[0])


def listed(text, block="api"):
    """The modules that a page lists in its blocks of one kind."""
    return [name for kind, names in BLOCK.findall(text) if kind == block for name in names.split()]


def sections(app, names):
    """A section for each module: what it says of itself, then its entries."""
    known = modules(app.srcdir)
    made = []
    for name in names:
        module = known[dotted(name)]
        made += [f"({module.name})=", f"## {name}", f"`{module.path}`", docstrings.markdown(module.doc),
                 f"```{{py:currentmodule}} {module.name}\n```", *map(entry, module.things)]
    return "\n\n".join(made)


def dotted(name):
    return f"{public.PACKAGE}.{name}" if name != public.PACKAGE else name


def entry(thing, fence="::::"):
    """The directive of one thing; a class holds those of its methods."""
    inside = "\n\n".join([docstrings.markdown(thing.doc), *(entry(method, ":::") for method in thing.methods)])
    options = "".join(f"{option}\n" for option in thing.options)
    return f"{fence}{{py:{thing.kind}}} {thing.name}{thing.signature}\n{options}\n{inside}\n{fence}"


def index(app, pages):
    """The functions and classes that a reader calls: the pages, and in each a line a module."""
    made = []
    for page in pages:
        text = (app.srcdir / FOLDER / f"{page}.md").read_text("utf8")
        made.append(f"**[{text.splitlines()[0].removeprefix('# ')}](api/{page}.md)**\n\n{lines(app, listed(text))}")
    return boxed(made)


def inner_index(app, pages):
    """The functions and classes that only other modules call, a line a module."""
    texts = [(app.srcdir / FOLDER / f"{page}.md").read_text("utf8") for page in pages]
    return boxed([lines(app, [name for text in texts for name in listed(text, "api-inner")])])


def lines(app, names):
    """A list of modules, each with its functions and classes."""
    return "\n".join(f"- [{name}](#{dotted(name)}) {' · '.join(entries_of(app, name))}" for name in names)


def boxed(blocks):
    return ":::{container} ts-api-index\n" + "\n\n".join(blocks) + "\n:::\n"


def entries_of(app, name):
    """A link to each function and class of a module."""
    return [f"{{py:obj}}`{thing.name} <{dotted(name)}.{thing.name}>`"
            for thing in modules(app.srcdir)[dotted(name)].things]


def helps(app, _):
    """What the command line says for `--help`, command by command."""
    made = []
    for command in COMMANDS:
        asked = [sys.executable, "-m", public.PACKAGE, *filter(None, [command]), "--help"]
        said = subprocess.run(asked, capture_output=True, encoding="utf8", check=True, cwd=app.srcdir,
                              env=os.environ | SETTING)
        name = " ".join(filter(None, ["tsattn-mini", command]))
        made.append(f"## `{name} --help`\n\n```text\n{said.stdout.strip()}\n```\n")
    return "\n".join(made)


def quote_axes(app, doctree):
    """Axes stand in double quotes, as in the source; Sphinx writes every word of a signature in single ones."""
    for word in doctree.findall(desc_sig_literal_string):
        if word.astext().startswith("'"):
            word.replace(word[0], nodes.Text(f'"{word.astext()[1:-1]}"'))


def unlist_arguments(app, pagename, templatename, context, doctree):
    """The lines of a signature are no list of definitions without a term, which is not valid HTML."""
    if pagename.startswith(FOLDER) and "body" in context:
        context["body"] = ARGUMENTS.sub(
            lambda found: f"<span class='ts-arguments'>{found[1].replace('dd>', 'span>')}</span>", context["body"])


def link_lessons(app, doctree, docname):
    """Under "Where it lives", names lead to their entries."""
    entries = app.env.get_domain("py").objects
    for section in doctree.findall(nodes.section):
        if section.next_node(nodes.title).astext() == LIVES:
            for item in section.findall(nodes.list_item):
                link_item(app, item, docname, entries)


def link_item(app, item, docname, entries):
    """A path opens what is meant by the names behind it."""
    inside = ()
    for literal in list(item.findall(nodes.literal)):
        text = literal.astext()
        if text.startswith(public.PACKAGE):
            home = text.removesuffix("/").removesuffix(".py").replace("/", ".")
            inside = [name for name in entries if f"{name}.".startswith(f"{home}.")]
        found = next((name for name in inside if name.endswith(f".{text.partition('(')[0]}")), None)
        if found:
            target = entries[found]
            uri = app.builder.get_relative_uri(docname, target.docname)
            literal.replace_self(nodes.reference("", "", literal.deepcopy(), refuri=f"{uri}#{target.node_id}",
                                                 internal=True))


def forget(app, config):
    """A build reads the package once."""
    modules.cache_clear()


def setup(app):
    app.connect("config-inited", forget)
    app.connect("source-read", write_entries)
    app.connect("doctree-read", quote_axes)
    app.connect("html-page-context", unlist_arguments)
    app.connect("doctree-resolved", link_lessons, priority=400)  # before marking.py
