// Some minutes before the session ends (data-warn, in seconds) a dialog says so; another window may have prolonged it, so the server is asked first.
(() => {
  const stay = document.getElementById("stay");
  if (!stay) return;
  const WARN = Number(stay.dataset.warn), address = stay.dataset.session;
  let timer = 0, closed = false;
  const later = (left, then) => { clearTimeout(timer); timer = setTimeout(then, Math.min(Math.max(left, 0) * 1000, 2 ** 30)); };
  const say = (what) => {
    stay.querySelectorAll("[data-soon]").forEach((one) => { one.textContent = one.dataset[what]; });
    stay.querySelector("[data-stay]").hidden = what === "over";
    stay.querySelector("[data-again]").hidden = what !== "over";
    if (!stay.open) stay.showModal();
  };
  const look = async (method) => {
    const body = method === "POST" ? new FormData(stay.querySelector("form")) : undefined;
    let left = null;
    try { left = (await (await fetch(address, { method, body })).json()).left; } catch { left = null; }
    if (left === null) { later(15, () => look("GET")); return; }
    if (left > WARN) { closed = false; if (stay.open) stay.close(); later(left - WARN, () => look("GET")); }
    else if (left > 0) { if (!closed) say("soon"); later(left + 1, () => look("GET")); }
    else say("over");
  };
  later(Number(stay.dataset.left) - WARN, () => look("GET"));
  stay.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); look("POST"); });
  stay.querySelector("[data-close]").addEventListener("click", () => { closed = true; stay.close(); });
})();
