// The one script of a built page.
import { mountExplorer } from "./explorer.js";
import { link } from "./link.js";
import { mountQuestion } from "./question.js";
import { graphBackend } from "./runtime.js";

for (const element of document.querySelectorAll("[data-explorer]")) mountExplorer(element, graphBackend, link);
for (const element of document.querySelectorAll("[data-question]")) mountQuestion(element, graphBackend);
