"""axe-core in an open page: every rule of WCAG 2.0 to 2.2, A and AA, and its best practices."""

from browsing import ROOT
from live import ask

SCRIPT = (ROOT / "node_modules/axe-core/axe.min.js").read_text("utf8")
OFF = {"target-size": True}  # a rule of WCAG 2.2 that axe leaves to whoever asks for it
BY_COLOUR = ("color-contrast", "link-in-text-block")
BY_WIDTH = ("target-size", "scrollable-region-focusable")
RUN = """async (page, rules, only, skip) => {
  const runOnly = only.length ? { runOnly: only } : {};
  const found = await axe.run({ exclude: skip }, { resultTypes: ["violations"], ...runOnly,
    rules: Object.fromEntries(Object.entries(rules).map(([id, enabled]) => [id, { enabled }])) });
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => [id, target.join(" "), failureSummary]));
}"""


def violations(page, *only, skip=()):
    """What axe finds on an open page, by all rules or by those in `only`; what `skip` selects is left out."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT + "\nundefined")  # else what it evaluates to is brought over
    return ask(page.locator("html"), RUN, {} if only else OFF, only, skip)
