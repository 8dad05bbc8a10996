// Single letters: G then a letter goes to a page, J and K walk rows, / filters, E exports, ? lists them. Off in the preferences.
(() => {
  if (document.documentElement.dataset.keys === "off") return;
  let went = 0, at = -1;
  const rows = () => [...document.querySelectorAll("main .tbl tbody tr, main .hits li, main .list li")].map((row) => row.querySelector("a")).filter((link) => link && link.offsetParent);
  const walk = (step) => {
    const all = rows();
    if (!all.length) return;
    const here = all.indexOf(document.activeElement);
    at = Math.min(Math.max((here < 0 ? at : here) + step, 0), all.length - 1);
    all[at].focus();
  };
  const acts = {
    j: () => walk(1),
    k: () => walk(-1),
    e: () => document.querySelector("main .acts [data-export]")?.click(),
    "/": () => { const field = document.querySelector("main [data-filter], main .search-form input"); if (field) field.focus(); else window.openPalette?.(); },
    "?": () => document.querySelector("[data-keys-list]")?.click(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog")) return;
    const key = event.key.toLowerCase(), now = Date.now();
    if (now - went < 1500) {
      went = 0;
      const way = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
      if (way) { event.preventDefault(); way.click(); }
      return;
    }
    if (key === "g") { went = now; return; }
    if (acts[key]) { event.preventDefault(); acts[key](); }
  });
})();
