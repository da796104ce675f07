// What a search of the book finds first, and in which sections. A page opened from the disk cannot read the others, so
// all of it comes from Sphinx's own index, which holds every title; Sphinx puts this file before its script.
const mostSections = 5;

/** The words searched for, in small letters; single letters only where they are Greek or Chinese. */
function searched() {
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const found = query.toLowerCase().split(/[^\p{Letter}\p{Number}]+/u);
  return found.filter((word) => (word.length > 1 || word > "z") && !stopwords.includes(word));
}

/** The sections of a page whose titles hold a word searched for, those with more of the words first. */
function sectionsOf(page) {
  const { alltitles, docnames } = Search._index, words = searched(), found = [];
  for (const [title, places] of Object.entries(alltitles)) {
    const hits = words.filter((word) => title.toLowerCase().includes(word)).length;
    for (const [file, id] of places) if (hits && docnames[file] === page) found.push({ title, id, hits });
  }
  return found.sort((a, b) => b.hits - a.hits);
}

var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  // A page, not a section or a function: the more of its titles speak of it, the earlier; its own title counts most.
  score([page, , anchor, , score]) {
    return anchor ? score : sectionsOf(page).reduce((sum, { id, hits }) => sum + hits * (id ? 1 : 20), score);
  },
};

document.addEventListener("DOMContentLoaded", () => {
  const page = (link) => link.getAttribute("href").replace(/\.html$/, "");
  const results = document.getElementById("search-results"), seen = new WeakSet();
  const grown = new MutationObserver(() => {
    for (const item of results.querySelectorAll("ul.search > li")) {
      const link = item.querySelector("a");
      if (seen.has(item) || link.hash) continue;
      seen.add(item);
      const sections = sectionsOf(page(link)).filter(({ id }) => id).slice(0, mostSections);
      const list = document.createElement("ul");
      for (const { title, id } of sections) {
        const to = Object.assign(document.createElement("a"), { href: `${link.href}#${id}`, innerHTML: title });
        list.appendChild(document.createElement("li")).append(to);
      }
      if (sections.length) item.append(list);
    }
  });
  grown.observe(results, { childList: true, subtree: true });
});
