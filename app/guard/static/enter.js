// Exchanges the one-time token after the # of the address for a session, and goes on to the page.
(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const help = (why) => {
    document.getElementById("wait").hidden = true;
    document.getElementById("help").hidden = false;
    if (why) document.getElementById("why").textContent = why;
  };

  if (!token) {
    // A browser that comes here by a link on another site leaves our cookie out, though it may have one. When this very
    // page asks, it sends it. Once is enough: what is a reload already is not reloaded again.
    const [load] = performance.getEntriesByType("navigation");
    if (load && load.type !== "reload") return location.reload();
    addEventListener("hashchange", () => location.reload()); // a link that is pasted over this page's address
    return help();
  }

  // The token is good for one use, but it has no business in the history either.
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const answer = await fetch("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) return location.replace(location.pathname + location.search);
    help(await answer.text());
  } catch {
    help("Parley did not answer. Is it still running?");
  }
})();
