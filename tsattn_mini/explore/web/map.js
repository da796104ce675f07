// A heat map of many cells is one image, a pixel for each number (see figures.py); here it gets new ones.
import { shade, spread } from "./drawing.js";
import { number } from "./number.js";

const COST = 60; // of one image, in cells of a grid

// One part for each image, as `drawing.js` wants them.
export function map(picture, plot) {
  const images = [...plot.querySelectorAll("image")], top = picture.figure.querySelector("[data-top]");
  return images.map((image, k) => ({
    cost: COST,
    draw(data) {
      const size = data.length / images.length, columns = Number(image.getAttribute("width")), most = spread(data);
      image.setAttribute("href", address(pixels(data.slice(k * size, (k + 1) * size), columns, picture.scale, most, inks(image))));
      if (top && !k) top.firstChild.data = `± ${number(most)}`;
    },
  }));
}

// The first image was made for a light page. Colours of the theme come with the first look, and whenever it changes.
export function maps({ pictures, ready }) {
  const own = pictures.filter(({ step }) => step.view === "map");
  const draw = () => { for (const picture of own) for (const part of picture.parts) part.draw(picture.data()); };
  if (own.length) ready.then(draw, () => {}).then(() => new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] }));
}

// Where numbers stand, as `pick.js` wants it.
export function mapGround(_, plot) {
  const images = [...plot.querySelectorAll("image")];
  const [columns, rows] = ["width", "height"].map((side) => Number(images[0].getAttribute(side)));
  return {
    find({ target, clientX, clientY }) {
      const k = images.indexOf(target);
      if (k < 0) return undefined;
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(target.getScreenCTM().inverse());
      const [row, column] = [Math.floor(y), Math.floor(x)];
      return row >= 0 && row < rows && column >= 0 && column < columns ? (k * rows + row) * columns + column : undefined;
    },
    frame(path, i, name) {
      const row = Math.floor(i / columns) % rows;
      path.setAttribute("class", name);
      path.setAttribute("d", `M${i % columns} ${row}h1v1h-1z`);
      const into = images[Math.floor(i / columns / rows)].parentNode;
      if (path.parentNode !== into) into.append(path);
    },
  };
}

// Numbers as an image of so many columns, on the colour scale of their meaning. `ink`: zero, warm, gate, cool as [r, g, b].
export function pixels(data, columns, scale, top, ink) {
  const image = new ImageData(columns, data.length / columns), all = image.data;
  for (let i = 0, at = 0; i < data.length; i++, at += 4) {
    const on = shade(Number(data[i]), scale, top), end = on < 0 ? ink.cool : scale === "gate" ? ink.gate : ink.warm, share = Math.abs(on);
    for (let c = 0; c < 3; c++) all[at + c] = ink.zero[c] + (end[c] - ink.zero[c]) * share;
    all[at + 3] = 255;
  }
  return image;
}

// The colours of the theme, those of heat maps as red, green and blue. Reading them at `node` lays out the page anew,
// which is dear while a hand moves, so each theme is read once.
const known = {};
export function inks(node) {
  return known[[document.documentElement.dataset.theme, document.body.dataset.jpThemeLight]] ??= read(node);
}

function read(node) {
  const theme = getComputedStyle(node);
  const parts = (name) => [1, 3, 5].map((at) => parseInt(theme.getPropertyValue(`--ts-${name}`).trim().slice(at, at + 2), 16));
  return { zero: parts("zero"), warm: parts("warm"), gate: parts("gate"), cool: parts("cool") };
}

let canvas;
function address(image) {
  canvas ??= document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas.toDataURL();
}
