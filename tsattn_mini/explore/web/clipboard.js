// Puts a text where the reader can paste it. A page without https has no clipboard of its own, but an older way.
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.style.position = "fixed"; // else the page would scroll to it
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
