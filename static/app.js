// Small behaviours only; everything works without them. Everything else is a round trip to the server.
(() => {
  // A choice in a list with data-submit sends its form at once.
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.matches("select[data-submit], input[data-submit]") && field.value) field.form.requestSubmit();
  });
  // With the theme of the system in force, the switch goes to the other one of what is seen.
  document.querySelectorAll("[data-theme-toggle]").forEach((button) => {
    if (!document.documentElement.dataset.theme) button.value = matchMedia("(prefers-color-scheme: dark)").matches ? "light" : "dark";
  });
  // How much waits behind an entry is asked once the page stands, and at most once a minute.
  document.querySelectorAll("[data-count]").forEach(async (place) => {
    const show = (said) => { if (/^[1-9]\d*$/.test(said)) { place.textContent = said; place.hidden = false; } };
    const key = `steelyard.count.${document.documentElement.dataset.reader}`, here = location.pathname.startsWith("/inbox/");
    try {
      const [at, said] = (sessionStorage.getItem(key) || "0 ").split(" ");
      if (!here && Date.now() - Number(at) < 60000) { show(said); return; }
      const answer = await fetch(place.dataset.count, { redirect: "error" });
      if (!answer.ok) return;
      const found = (await answer.text()).trim();
      sessionStorage.setItem(key, `${Date.now()} ${found}`);
      show(found);
    } catch { /* signed out, or no network: the entry leads there all the same */ }
  });
  // A menu closes on Escape and on a click elsewhere.
  const close = (except) => document.querySelectorAll("details[data-menu][open]").forEach((menu) => { if (menu !== except) menu.open = false; });
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(null); });
  addEventListener("click", (event) => close(event.target.closest("details[data-menu]")));
})();
