// The chain in small: every shown step as a picture without numbers, drawn whenever the hand rests.
import { span, spread } from "./drawing.js";
import { joinedThumb as joined } from "./horizon.js";
import { inks, pixels } from "./map.js";
import { number } from "./number.js";

export function thumbs({ element, pictures, values, ready, on }, canvases) {
  const draw = () => {
    const ink = { ...inks(element), ...lineInks(element) };
    pictures.forEach((picture, i) => thumb(canvases[i], picture, values()[picture.step.name], ink));
  };
  on("rest", draw);
  ready.then(() => {
    draw();
    new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }, () => {});
}

function thumb(canvas, picture, data, ink) {
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const draw = data.length === 1 ? lone : { lines, bars, joined }[picture.step.view] ?? grid;
  draw(pen, canvas, Array.from(data, Number), picture, ink);
}

// All grids of a heat map side by side, stretched to the canvas.
function grid(pen, { width, height }, data, { step: { dims }, scale }, ink) {
  const [rows, columns] = [dims.at(-2) ?? 1, dims.at(-1) ?? 1];
  const grids = data.length / rows / columns, top = spread(data);
  const small = new OffscreenCanvas(grids * columns, rows), pad = small.getContext("2d"), size = rows * columns;
  for (let g = 0; g < grids; g++) pad.putImageData(pixels(data.slice(g * size, (g + 1) * size), columns, scale, top, ink), g * columns, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, width, height);
}

function lone(pen, { width, height }, [value], picture, ink) {
  pen.font = "24px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.fillStyle = ink.text;
  pen.fillText(number(value), width / 2, height / 2 + 9, width);
}

function bars(pen, { width, height }, data, picture, ink) {
  const [low, high] = span([0, ...data]);
  const at = (v) => height * (1 - (v - low) / (high - low)), wide = width / data.length;
  pen.fillStyle = `rgb(${ink.warm.join()})`;
  data.forEach((v, i) => {
    if (Number.isFinite(v)) pen.fillRect((i + 0.12) * wide, Math.min(at(v), at(0)), 0.76 * wide, Math.max(1, Math.abs(at(v) - at(0))));
  });
}

function lines(pen, { width, height }, data, { curves }, ink) {
  const [low, high] = span(data);
  pen.lineWidth = 3;
  curves.forEach(({ from, by, points }, k) => {
    pen.strokeStyle = ink.curves[k % ink.curves.length];
    pen.beginPath();
    for (let i = 0; i < points; i++) {
      const v = data[from + i * by];
      if (Number.isFinite(v)) pen.lineTo((width * i) / Math.max(1, points - 1), 3 + (height - 6) * (1 - (v - low) / (high - low)));
    }
    pen.stroke();
  });
}

// The theme's colours of words and curves.
function lineInks(element) {
  const theme = getComputedStyle(element), colour = (name) => theme.getPropertyValue(`--ts-${name}`).trim();
  return { text: colour("fg"), curves: [0, 1, 2, 3, 4, 5].map((k) => colour(`curve${k}`)) };
}
