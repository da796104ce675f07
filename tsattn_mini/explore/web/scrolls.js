// A text or table that scrolls, as on a phone, is a stop of Tab, so that arrow keys reach its end; one that stands whole is none.
export function reachable(text) {
  function look() {
    const { overflowX, overflowY } = getComputedStyle(text);
    const across = scrolls(overflowX) && text.scrollWidth > text.clientWidth + 1;
    if (across || (scrolls(overflowY) && text.scrollHeight > text.clientHeight + 1)) text.tabIndex = 0;
    else text.removeAttribute("tabindex");
  }
  new ResizeObserver(look).observe(text);
  new MutationObserver(look).observe(text, { childList: true, subtree: true, characterData: true });
}

function scrolls(overflow) {
  return overflow === "auto" || overflow === "scroll";
}
