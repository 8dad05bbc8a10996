// What is typed into a form with data-draft is kept in this browser for its reader until it was sent, and restored after signing in.
// Passwords, files and hidden fields are never kept; signing out forgets everything of the reader.
(() => {
  const reader = document.documentElement.dataset.reader || "", MINE = `steelyard.draft.${reader}.`, SENT = "steelyard.sent";
  const DAYS = 30 * 24 * 3600 * 1000;
  const kept = (store, key) => { try { return JSON.parse(store.getItem(key)); } catch { return null; } };
  const keep = (store, key, value) => { try { store.setItem(key, JSON.stringify(value)); } catch { /* full or forbidden: nothing is kept */ } };
  const drop = (store, key) => { try { store.removeItem(key); } catch { /* as above */ } };
  // Without a reader this is the sign-in page: what was sent just now did not arrive.
  if (!reader) { drop(sessionStorage, SENT); return; }

  const sent = kept(sessionStorage, SENT);
  drop(sessionStorage, SENT);
  const refused = Boolean(document.querySelector(".status-page, main [role=alert]"));
  if (sent && !refused) drop(localStorage, sent);

  const fields = (form) => [...form.elements].filter((one) => one.name && !one.disabled && one.matches("input, select, textarea") && !one.matches("[type=hidden], [type=password], [type=file], [type=submit]"));
  const values = (form) => {
    const found = {};
    for (const one of fields(form)) {
      if (one.matches("[type=radio]")) { if (one.checked) found[one.name] = one.value; }
      else if (one.matches("[type=checkbox]")) { found[one.name] = found[one.name] || []; if (one.checked) found[one.name].push(one.value); }
      else found[one.name] = one.value;
    }
    return found;
  };
  const fill = (form, saved) => {
    for (const one of fields(form)) {
      if (!(one.name in saved)) continue;
      if (one.matches("[type=radio]")) one.checked = saved[one.name] === one.value;
      else if (one.matches("[type=checkbox]")) one.checked = saved[one.name].includes(one.value);
      else one.value = saved[one.name];
    }
  };
  const note = (form, key, first) => {
    const shown = document.getElementById("draft-note")?.content.firstElementChild?.cloneNode(true);
    if (!shown) return;
    shown.querySelector("button").addEventListener("click", () => { drop(localStorage, key); fill(form, first); shown.remove(); });
    form.prepend(shown);
  };

  document.querySelectorAll("form[data-draft]").forEach((form) => {
    const key = `${MINE}${location.pathname}#${form.dataset.draft}`, first = values(form);
    const shown = (one) => JSON.stringify(one) === JSON.stringify(first), same = (one) => !refused && shown(one); // a refused form shows the draft itself
    const found = kept(localStorage, key);
    if (found && Date.now() - found.at < DAYS && !shown(found.values)) { fill(form, found.values); note(form, key, first); }
    else if (found && !refused) drop(localStorage, key);
    let timer = 0;
    const save = () => { const now = values(form); if (same(now)) drop(localStorage, key); else keep(localStorage, key, { at: Date.now(), values: now }); };
    const later = () => { clearTimeout(timer); timer = setTimeout(save, 300); };
    form.addEventListener("input", later);
    form.addEventListener("change", later);
    addEventListener("pagehide", () => { if (timer) { clearTimeout(timer); if (!kept(sessionStorage, SENT)) save(); } });
    form.addEventListener("submit", () => { clearTimeout(timer); timer = 0; save(); keep(sessionStorage, SENT, key); });
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-forget]")) return;
    for (const key of Object.keys(localStorage)) if (key.startsWith(MINE)) drop(localStorage, key);
  });
})();
