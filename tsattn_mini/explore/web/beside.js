// Files that lie beside this script and are loaded when they are first needed.
export const home = new URL(".", document.currentScript.src);

export function addScript(name, reject) {
  const script = document.createElement("script");
  script.src = new URL(name, home);
  script.onerror = () => reject(new Error(`${script.src} is missing`));
  document.head.append(script);
}

export function addStyle(name) {
  return new Promise((resolve, reject) => {
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = new URL(name, home);
    sheet.onload = resolve;
    sheet.onerror = () => reject(new Error(`${sheet.href} is missing`));
    document.head.append(sheet);
  });
}
