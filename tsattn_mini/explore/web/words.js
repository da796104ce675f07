// Every string the front end shows, in the page's language; English where there is no file for it.
import en from "./en.json";

const languages = { en };

export function words(part) {
  return (languages[document.documentElement.lang] ?? en)[part];
}

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
