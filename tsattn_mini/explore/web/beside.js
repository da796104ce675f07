// Files that lie beside this script, or inside a page that stands alone, and are loaded when they are first needed.
const { src } = document.currentScript; // empty where the script is inside the page

export const beside = (name) => new URL(name, src);

// The text of a file inside the page; undefined where it has none of that name.
export const inside = (name) => document.querySelector(`script[data-file="${name}"]`)?.textContent;

export function addScript(name, reject) {
  const script = document.createElement("script");
  script.src = beside(name);
  script.onerror = () => reject(new Error(`${script.src} is missing`));
  document.head.append(script);
}

export function addStyle(name) {
  return new Promise((resolve, reject) => {
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = beside(name);
    sheet.onload = resolve;
    sheet.onerror = () => reject(new Error(`${sheet.href} is missing`));
    document.head.append(sheet);
  });
}
