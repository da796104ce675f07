// The shown pictures as one SVG that needs no style sheet: what the theme decides is written into every mark.
const WIDTH = 900, GAP = 24, HEAD = 40; // pixels: a row of pictures, between two, and for the words above one
const SPACE = "http://www.w3.org/2000/svg";
const STYLED = ["font-family", "font-size", "font-weight", "text-anchor", "stroke-width", "stroke-dasharray", "vector-effect", "opacity"];

export function pictureOf({ element, spec, pictures }) {
  const theme = getComputedStyle(element), sheet = node("svg", { xmlns: SPACE });
  const colour = colours();
  let x = GAP, y = GAP, low = y, right = 0;
  for (const { step, figure } of pictures) {
    const words = [`${step.label}  ${figure.querySelector(".ts-axes").textContent}`, step.eq ?? ""];
    const drawn = [...figure.querySelectorAll(".ts-plot svg")];
    const inside = drawn.reduce((sum, { viewBox }) => sum + viewBox.baseVal.width + GAP / 2, 0);
    const wide = Math.max(inside, ...words.map((text) => 7.5 * text.length));
    if (x > GAP && x + wide > WIDTH) [x, y] = [GAP, low + GAP];
    words.forEach((text, i) => sheet.append(label(text, x, y + 12 + 17 * i, colour(i ? theme.getPropertyValue("--ts-soft") : theme.color), i)));
    let at = x;
    for (const svg of drawn) {
      const { width, height } = svg.viewBox.baseVal;
      const copy = plainly(svg, colour);
      for (const [name, value] of Object.entries({ x: at, y: y + HEAD, width, height })) copy.setAttribute(name, value);
      sheet.append(copy);
      at += width + GAP / 2;
      low = Math.max(low, y + HEAD + height);
    }
    x += wide + GAP;
    right = Math.max(right, x);
  }
  sheet.setAttribute("viewBox", `0 0 ${right} ${low + GAP}`);
  sheet.setAttribute("width", right);
  sheet.setAttribute("height", low + GAP);
  const title = node("title");
  title.textContent = spec.title;
  sheet.prepend(title, node("rect", { width: right, height: low + GAP, fill: colour(theme.getPropertyValue("--ts-bg")) }));
  return new XMLSerializer().serializeToString(sheet);
}

function label(text, x, y, fill, small) {
  const line = node("text", { x, y, fill, "font-family": "ui-sans-serif, system-ui, sans-serif", "font-size": small ? 12 : 14, "font-weight": small ? 400 : 600 });
  line.textContent = text;
  return line;
}

// A copy of a drawing with its computed style as attributes.
function plainly(svg, colour) {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((mark, i) => {
    const style = getComputedStyle(from[i]);
    for (const { name } of [...mark.attributes]) if (/^(class|style|data-|role|aria-|tabindex)/.test(name)) mark.removeAttribute(name);
    if (["svg", "g"].includes(mark.tagName)) return;
    mark.setAttribute("fill", colour(style.fill));
    mark.setAttribute("stroke", colour(style.stroke));
    for (const name of STYLED) mark.setAttribute(name, style.getPropertyValue(name));
  });
  return copy;
}

// Any colour of CSS as #rrggbb, which every program that opens an SVG knows.
function colours() {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }), known = new Map([["none", "none"]]);
  return (name) => {
    if (!known.has(name)) {
      pen.fillStyle = name;
      pen.fillRect(0, 0, 1, 1);
      known.set(name, `#${[...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((v) => v.toString(16).padStart(2, "0")).join("")}`);
    }
    return known.get(name);
  };
}

function node(tag, attributes = {}) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
