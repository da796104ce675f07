// The file of a reader's progress: {format, version, questions}. What is not one is refused, and nothing of it is used.
import { isEntry, VERSION } from "../progress.js";

const FORMAT = "tsattn-mini progress";
const LIMIT = 1000; // kilobytes; all questions of the book take about 20
const ID = /^[0-9]{2}(-[a-z0-9]+)+$/;

/** `message` is the name of a sentence in en.json, `values` what it says. */
export class Refused extends Error {
  constructor(message, values = {}) {
    super(message);
    this.values = values;
  }
}

export function asText(questions) {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, questions }, null, 1)}\n`;
}

/** {entries, skipped}: what the file says by question id, and the ids whose entries cannot be read. */
export async function entriesOf(file) {
  const size = Math.ceil(file.size / 1000);
  if (size > LIMIT) throw new Refused("tooLarge", { size, limit: LIMIT });
  const { format, version, questions } = parsed(await textOf(file));
  if (format !== FORMAT || version === undefined) throw new Refused("notOurs");
  if (version !== VERSION) throw new Refused("otherVersion", { version: JSON.stringify(version).slice(0, 40), mine: VERSION });
  if (questions?.constructor !== Object) throw new Refused("notOurs");
  const entries = {}, skipped = [];
  for (const [id, entry] of Object.entries(questions)) {
    if (!ID.test(id) || !isEntry(entry)) skipped.push(id.slice(0, 40));
    else entries[id] = { tries: entry.tries, right: entry.right, last: entry.last };
  }
  return { entries, skipped };
}

async function textOf(file) {
  try {
    return await file.text();
  } catch {
    throw new Refused("unreadable");
  }
}

function parsed(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new Refused("notJson");
  }
}
