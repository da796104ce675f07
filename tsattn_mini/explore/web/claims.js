// The ledger of claims: shows only those of one verdict, or that hold every word typed; a number finds its claim.
import { fill, words } from "./words.js";

/** Makes the form above the rows work; until then all rows show and the form keeps its place unseen. */
export function mountClaims(form) {
  const say = words("claims");
  const { verdict, words: typed } = form.elements;
  const rows = [...document.querySelectorAll(".ts-claim")].map((element) => ({
    element, number: element.id.replace("claim-", ""), text: element.textContent.toLowerCase(),
  }));

  function holds({ element, number, text }) {
    const query = typed.value.normalize("NFKC").trim().toLowerCase();
    const [, asked] = /^(?:claim ?|#)?0*(\d+)$/.exec(query) ?? [];
    if (verdict.value && element.dataset.verdict !== verdict.value) return false;
    return asked ? number === asked : query.split(/\s+/).every((word) => text.includes(word));
  }

  function show() {
    for (const row of rows) row.element.hidden = !holds(row);
    const shown = rows.filter((row) => !row.element.hidden).length;
    form.querySelector("[role=status]").textContent = fill(say.found, { shown, total: rows.length });
  }

  // A link to a claim that is filtered out brings all of them back.
  addEventListener("hashchange", () => {
    const row = document.getElementById(location.hash.slice(1));
    if (!row?.hidden) return;
    form.reset();
    show();
    row.scrollIntoView();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", show);
  form.dataset.ledger = "ready";
  show();
}
