// Asks for the part of this page that shows progress until it says that it is done. Without JavaScript: the Refresh link.
(() => {
  const look = async () => {
    const here = document.querySelector("[data-refresh]");
    if (!here) return;
    try {
      const answer = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = answer.ok && page.getElementById(here.id);
      if (fresh) here.replaceWith(document.adoptNode(fresh));
    } catch { /* away for a moment: the next look tries again */ }
    const next = document.querySelector("[data-refresh]");
    if (next) setTimeout(look, Number(next.dataset.refresh));
  };
  const first = document.querySelector("[data-refresh]");
  if (first) setTimeout(look, Number(first.dataset.refresh));
})();
