// Exchanges the one-time token after the # of the address, or the passphrase, for a session, and goes on to the page.
(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const by = (id) => document.getElementById(id);
  const enter = (secret) => fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(secret),
  });
  const onward = () => location.replace(location.pathname + location.search);
  const help = (why) => {
    by("wait").hidden = true;
    const login = document.documentElement.dataset.login !== undefined;
    by("login").hidden = !login;
    by("help").hidden = login;
    if (login) by("passphrase").focus();
    if (why) by(login ? "wrong" : "why").textContent = why;
  };
  by("login").addEventListener("submit", async (e) => {
    e.preventDefault();
    const button = by("login").querySelector("button");
    button.disabled = true;
    by("wrong").textContent = "";
    try {
      const answer = await enter({ passphrase: by("passphrase").value });
      if (answer.ok) return onward();
      by("wrong").textContent = await answer.text();
      by("passphrase").select();
    } catch {
      by("wrong").textContent = "Parley did not answer. Is it still running?";
    } finally {
      button.disabled = false;
    }
  });

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
    const answer = await enter({ token });
    if (answer.ok) return onward();
    help(await answer.text());
  } catch {
    help("Parley did not answer. Is it still running?");
  }
})();
