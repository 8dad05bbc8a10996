// The popover of notices: the newest, fetched when it is opened. Without this file the bell leads to the page of all.
(() => {
  const bell = document.querySelector("[data-notices]");
  if (!bell || !HTMLElement.prototype.showPopover) return;
  const sheet = document.createElement("div");
  sheet.className = "ntf";
  sheet.id = "ntf";
  sheet.popover = "auto";
  sheet.tabIndex = -1;
  sheet.setAttribute("role", "region");
  sheet.setAttribute("aria-label", bell.dataset.label);
  bell.after(sheet);
  bell.setAttribute("aria-expanded", "false");
  bell.setAttribute("aria-controls", "ntf");
  bell.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (sheet.matches(":popover-open")) { sheet.hidePopover(); return; }
    try {
      const answer = await fetch(bell.dataset.notices, { redirect: "error" });
      if (!answer.ok) throw new Error(answer.status);
      sheet.innerHTML = await answer.text();
      const next = sheet.querySelector("[name=next]");
      if (next) next.value = location.pathname + location.search;
      sheet.showPopover();
      sheet.focus();
    } catch { location.assign(bell.href); }  // signed out, or no network: the page says so
  });
  sheet.addEventListener("toggle", (event) => {
    bell.setAttribute("aria-expanded", String(event.newState === "open"));
    if (event.newState === "closed" && (!document.activeElement || document.activeElement === document.body)) bell.focus();
  });
})();
