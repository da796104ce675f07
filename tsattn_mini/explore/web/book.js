// The one script of a built page.
import { mountClaims } from "./claims.js";
import { mountDoor } from "./door.js";
import { mountExplorer } from "./explorer.js";
import { link } from "./link.js";
import { mountQuestion } from "./question.js";
import { graphBackend } from "./runtime.js";
import { reachable } from "./scrolls.js";
import { mountSelfTest } from "./self_test/page.js";
import { mountSorting } from "./sorting.js";
import { mountTerms } from "./terms.js";

// What may be wider than a phone: tables, code, formulas.
const SCROLLERS = ".ts-block, .bd-article :is(pre, div.math, .cell_output .output, .pst-scrollable-table-container, .ts-eq)";

for (const element of document.querySelectorAll("[data-explorer]")) mountExplorer(element, graphBackend, link);
for (const element of document.querySelectorAll("[data-self-test]")) mountSelfTest(element);
for (const element of document.querySelectorAll("[data-question]")) mountQuestion(element, graphBackend);
for (const block of document.querySelectorAll(SCROLLERS)) reachable(block);
for (const form of document.querySelectorAll("[data-ledger]")) mountClaims(form);
mountTerms();
mountSorting();
mountDoor();
