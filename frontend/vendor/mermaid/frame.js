// Draws the one diagram that the page sends, and says how tall it became. This runs in a sandbox of its own: no origin, no
// cookies, no network.
addEventListener("message", async (e) => {
	if (e.source !== parent || typeof e.data?.source !== "string") return;
	document.documentElement.style.colorScheme = e.data.dark ? "dark" : "light"; // as the page: what is behind shows through
	mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: e.data.dark ? "dark" : "neutral" });
	try {
		const { svg } = await mermaid.render("d", e.data.source);
		document.body.innerHTML = svg;
		parent.postMessage({ height: Math.ceil(document.body.firstElementChild.getBoundingClientRect().height) }, "*");
	} catch {
		parent.postMessage({ failed: true }, "*");
	}
});
parent.postMessage({ ready: true }, "*");
