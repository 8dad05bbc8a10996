// The form of an ask keeps its draft and shows what it comes to while one writes; the decision page has its keys and its confirmation.
// Without this file the form saves by its button and a decision is one press on its own.
(() => {
  const form = document.querySelector("[data-draft-url]");
  if (form) {
    const beside = document.getElementById("estimate");
    let timer = 0, running = null, again = false;
    const field = (name) => form.querySelector(`input[name="${name}"]`);
    const body = () => {
      const given = new FormData(form);
      given.delete("file");
      return given;
    };
    const keep = async () => {
      if (running) { again = true; return running; }
      beside.setAttribute("aria-busy", "true");
      running = fetch(form.dataset.draftUrl, { method: "POST", body: body(), redirect: "error", headers: { Accept: "text/html" } })
        .then(async (answer) => {
          const text = await answer.text();
          if (![200, 409, 422].includes(answer.status) || text.includes("<html")) return;
          beside.innerHTML = text;
          const kept = beside.querySelector("[data-number]");
          if (!kept) return;
          field("number").value = kept.dataset.number;
          field("version").value = kept.dataset.version;
          form.action = kept.dataset.edit;
          if (location.pathname !== kept.dataset.edit) history.replaceState(null, "", kept.dataset.edit);
        })
        .catch(() => { /* signed out, or no network: what is typed stays, and the button says so */ })
        .finally(() => { beside.removeAttribute("aria-busy"); running = null; if (again) { again = false; keep(); } });
      return running;
    };
    const later = (event) => {
      if (event.target.matches("[type=file], [data-reload]")) return;
      clearTimeout(timer);
      timer = setTimeout(keep, 500);
    };
    form.addEventListener("input", later);
    form.addEventListener("change", later);
    form.addEventListener("change", (event) => {
      if (!event.target.matches("[data-reload], [name=project]")) return;
      clearTimeout(timer);
      const button = document.createElement("button");
      button.name = "do"; button.value = "kind"; button.hidden = true;
      form.append(button);
      form.requestSubmit(button);
    });
    // What is on its way is waited for: the version that is sent is then the one that stands.
    form.addEventListener("submit", (event) => {
      clearTimeout(timer);
      if (!running) return;
      event.preventDefault();
      const by = event.submitter;
      running.finally(() => setTimeout(() => form.requestSubmit(by)));
    });
  }
  document.getElementById("faults")?.focus();
  document.querySelectorAll("[data-load]").forEach(async (list) => {
    try {
      const answer = await fetch(list.dataset.load, { redirect: "error" });
      if (answer.ok) list.innerHTML = await answer.text();
    } catch { /* the link above leads to the list */ }
  });
  const decide = document.querySelector("form.decide"), dialog = document.querySelector("[data-confirm]");
  if (!decide || !dialog) { walk(); return; }
  const says = decide.querySelector("[data-decide-says]"), comment = decide.querySelector("[name=comment]");
  const chosen = () => decide.querySelector("[name=choice]:checked");
  const words = () => {
    const one = chosen();
    if (!one) return says.textContent;
    if (one.value !== "less") return one.dataset.says;
    return one.dataset.pattern.replace("#", [...decide.querySelectorAll("[data-award]")].map((field) => field.value).join(" + "));
  };
  const show = () => { if (chosen()) says.textContent = words(); };
  decide.addEventListener("input", (event) => {
    if (event.target.matches("[data-award]")) decide.querySelector("[name=choice][value=less]").checked = true;
    show();
  });
  show();
  const open = () => {
    if (!chosen()) { decide.querySelector("[name=choice]").focus(); return; }
    dialog.querySelector("[data-confirm-says]").textContent = words();
    dialog.querySelector("[data-confirm-comment]").textContent = comment.value;
    dialog.showModal();
    dialog.querySelector("[data-confirmed]").focus();
  };
  decide.addEventListener("submit", (event) => {
    if (event.submitter?.matches("[data-confirmed]")) return;
    event.preventDefault();
    open();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  const choose = (value) => { const one = decide.querySelector(`[name=choice][value=${value}]`); if (one) { one.checked = true; show(); } };
  walk({
    a: () => { if (!["approve", "less"].includes(chosen()?.value)) choose("approve"); open(); },
    r: () => { choose("return"); comment.focus(); },
  });

  function walk(more = {}) {
    const waiting = document.querySelector(".waiting");
    if (!waiting || document.documentElement.dataset.keys === "off") return;
    const step = (by) => {
      const all = [...waiting.querySelectorAll("a.item")], here = all.findIndex((one) => one.matches(".here"));
      all[Math.min(Math.max(here + by, 0), all.length - 1)]?.click();
    };
    const acts = { j: () => step(1), k: () => step(-1), ...more };
    // Before the page's own keys, which walk rows of tables.
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.target.closest("input, select, textarea, [contenteditable], dialog")) return;
      const act = acts[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act();
    }, true);
  }
})();
