// Numbers as people type them: "0,5", " 0.5 ", "5e-1", "1/2", "50 %", "−0.5", "1 000", full-width digits.

const DECIMAL = "(?:[1-9]\\d{0,2}(?:\\s\\d{3})+(?:[.,]\\d*)?|\\d+(?:[.,]\\d*)?|[.,]\\d+)(?:e[+-]?\\d+)?";
const NUMBER = new RegExp(`^([+-]?)\\s*(${DECIMAL})(?:\\s*/\\s*(${DECIMAL}))?\\s*(%?)$`, "i");
const THOUSANDS = /(^|[^\d.,])[1-9]\d{0,2}(,\d{3})+(?!\d)/;

/**
 * {value, plain} or {problem}: "empty", "notNumber", or "thousands" for a comma that could mean either thing.
 * `plain` says that the text needs no translation. A trailing `unit` may be typed or left out.
 */
export function readNumber(typed, unit = "") {
  let text = ascii(typed).trim();
  if (text === "") return { problem: "empty" };
  if (unit && text.endsWith(ascii(unit))) text = text.slice(0, -ascii(unit).length).trim();
  if (THOUSANDS.test(text)) return { problem: "thousands" };
  const [, sign, top, bottom = "1", percent] = NUMBER.exec(text) ?? [];
  if (top === undefined) return { problem: "notNumber" };
  const value = ((sign === "-" ? -1 : 1) * decimal(top)) / decimal(bottom) / (percent ? 100 : 1);
  return Number.isFinite(value) ? { value, plain: !/[\s,/%]/.test(text) } : { problem: "notNumber" };
}

function ascii(text) {
  return text
    .replace(/[！-～]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0))
    .replace(/\p{Cf}/gu, "") // unseen marks that come along with what is copied
    .replace(/[‐‑‒–−]/g, "-")
    .replace(/[⁄∕]/g, "/");
}

function decimal(text) {
  return Number(text.replace(/\s/g, "").replace(",", "."));
}
