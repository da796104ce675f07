"""What the theme gets wrong on a page that must stand alone, put right.

The templates in book/_templates and the settings in _config.yml do most of it; this module does the rest.
"""

import re
from itertools import count
from pathlib import Path

REDIRECT = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={page}">
<link rel="icon" href="data:,">
</head>
<body><p><a href="{page}">{title}</a></p></body>
</html>
"""
MISNAMED = ' aria-label="Toggle hidden content"'
FOLD = re.compile(r'<p class="collapsed (admonition-title)">(.*?)</p>\s*<p class="expanded \1">.*?</p>')
NO_HEADING = re.compile(r"<th[^>]*>(?:<p></p>)?</th>")
PARENT = re.compile(r"(<a [^>]*>([^<]*)</a>\s*<details[^>]*>\s*)<summary>")
CHATTY = ("_static/scripts/pydata-sphinx-theme.js", "_static/scripts/sphinx-book-theme.js", "search.html")


def rank_what_is_found(app, config):
    """A search tells sections, and pages whose titles hold what is searched for come first."""
    config.html_search_scorer = str(Path(__file__).with_name("search.js"))


def drop_inline_handlers(app, pagename, templatename, context, doctree):
    """Header buttons that carry their script in an attribute are left out."""
    for group in context.get("header_buttons", ()):
        group["buttons"] = [button for button in group.get("buttons", ()) if button["type"] != "javascript"]


def name_folds_by_their_words(app, pagename, templatename, context, doctree):
    """A folded cell has one title, open or closed, and for listeners, who hear many alike, its number on the page.

    It comes with two titles, of which a style hides one, in paragraphs, which HTML does not allow inside a summary.
    """
    def named(fold):
        number = f'<span class="visually-hidden">{next(numbers)} / {total}</span>'
        return f'<span class="{fold[1]}">{fold[2]} {number}</span>'

    if "body" in context:
        numbers, total = count(1), len(FOLD.findall(context["body"]))
        context["body"] = FOLD.sub(named, context["body"].replace(MISNAMED, ""))


def leave_corners_empty(app, pagename, templatename, context, doctree):
    """The empty corner of a table heads nothing, so it is a cell: a heading without words is read out as one."""
    if "body" in context:
        context["body"] = NO_HEADING.sub("<td></td>", context["body"])


def name_branches(app, pagename, templatename, context, doctree):
    """The arrow that opens a branch of the contents says which; alone it has no name."""
    plain = context.get("generate_toctree_html")

    def named(*kinds, **options):
        return PARENT.sub(r'\1<summary aria-label="\2">', str(plain(*kinds, **options)))

    if plain:
        context["generate_toctree_html"] = named


def write_front_door(app, exception):
    """`index.html` opens the first page of the book; the theme's own redirect is not a whole HTML document."""
    if exception or app.builder.format != "html":
        return
    page = app.builder.get_target_uri(app.config.root_doc)
    text = REDIRECT.format(language=app.config.language, title=app.config.html_title, page=page)
    Path(app.outdir, "index.html").write_text(text, "utf8")


def hush_theme_scripts(app, exception):
    """The theme reports each change of colour mode and each scroll to the console; a reader's console stays empty."""
    if exception or app.builder.format != "html":
        return
    for name in CHATTY:
        script = Path(app.outdir, name)
        script.write_text(script.read_text("utf8").replace("console.log(", "void("), "utf8")


def setup(app):
    app.connect("config-inited", rank_what_is_found)
    # Late: after the theme has filled in its buttons, after sphinx_external_toc has written its redirect.
    app.connect("html-page-context", drop_inline_handlers, priority=900)
    app.connect("html-page-context", name_folds_by_their_words)
    app.connect("html-page-context", leave_corners_empty)
    app.connect("html-page-context", name_branches, priority=900)
    app.connect("build-finished", write_front_door, priority=900)
    app.connect("build-finished", hush_theme_scripts, priority=900)
