// Numbers as people type them: "0,5", " 0.5 ", "5e-1", "1/2", "50 %", "−0.5", "1 000", full-width digits.

const DECIMAL = "(?:\\d+(?:[.,]\\d*)?|[.,]\\d+)(?:e[+-]?\\d+)?";
const NUMBER = new RegExp(`^([+-]?${DECIMAL})(?:/(${DECIMAL}))?(%?)$`, "i");

/**
 * {value, plain} or {problem}: "empty", "notNumber", or "thousands" for a comma that could mean either thing.
 * `plain` says that the text needs no translation. A trailing `unit` may be typed or left out.
 */
export function readNumber(typed, unit = "") {
  let text = ascii(typed).trim();
  if (text === "") return { problem: "empty" };
  if (unit && text.endsWith(ascii(unit))) text = text.slice(0, -ascii(unit).length).trim();
  text = withoutSpaces(text);
  if (/(^|\D)[1-9]\d{0,2}(,\d{3})+(?!\d)/.test(text)) return { problem: "thousands" };
  const [, top, bottom = "1", percent] = NUMBER.exec(text) ?? [];
  if (top === undefined) return { problem: "notNumber" };
  const value = point(top) / point(bottom) / (percent ? 100 : 1);
  return Number.isFinite(value) ? { value, plain: !/[,/%]/.test(text) } : { problem: "notNumber" };
}

function ascii(text) {
  return text
    .replace(/[！-～]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0))
    .replace(/[−–]/g, "-");
}

/** Spaces between groups of three digits, around "/", before "%" and after a sign say nothing; others are kept. */
function withoutSpaces(text) {
  return text
    .replace(/^([+-]?\s*[1-9]\d{0,2})((?:\s\d{3})+)(?!\s?\d)/, (_, head, groups) => head + groups.replace(/\s/g, ""))
    .replace(/\s*\/\s*/, "/")
    .replace(/\s+%$/, "%")
    .replace(/^([+-])\s+/, "$1");
}

function point(text) {
  return Number(text.replace(",", "."));
}
