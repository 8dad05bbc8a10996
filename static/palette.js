// The command palette: a dialog over the search page's own answer. Without this file the link leads to that page.
(() => {
  const pal = document.getElementById("pal");
  if (!pal) return;
  const field = pal.querySelector("input"), list = pal.querySelector("#pal-list"), count = pal.querySelector("[data-palette-count]");
  let asking = null, timer = 0;
  const options = () => [...list.querySelectorAll("[role=option]")];
  const current = () => list.querySelector("[aria-selected=true]");
  const choose = (option) => {
    current()?.setAttribute("aria-selected", "false");
    if (!option) { field.removeAttribute("aria-activedescendant"); return; }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  };
  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    try {
      const answer = await fetch(`${pal.dataset.palette}?q=${encodeURIComponent(field.value)}`, { headers: { "X-Palette": "1" }, signal: asking.signal, redirect: "error" });
      if (!answer.ok) throw new Error(answer.status);
      list.innerHTML = await answer.text();
      choose(options()[0]);
      count.textContent = options().length || count.dataset.none;
    } catch (fault) {
      if (fault.name !== "AbortError") field.form.submit();  // signed out, or no network: the page says so
    }
  };
  const open = () => { if (!pal.open) { pal.showModal(); field.select(); ask(); } };
  document.querySelectorAll("[data-open-palette]").forEach((way) => way.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  }));
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") { event.preventDefault(); open(); }
  });
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  field.addEventListener("keydown", (event) => {
    const all = options(), at = all.indexOf(current());
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (all.length) choose(all[(at + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]);
    } else if (event.key === "Enter" && current() && !event.isComposing) { event.preventDefault(); current().click(); }
  });
  list.addEventListener("click", (event) => { if (event.target.closest("a")) pal.close(); });
  pal.addEventListener("click", (event) => { if (event.target === pal) pal.close(); });
  window.openPalette = open;
})();
