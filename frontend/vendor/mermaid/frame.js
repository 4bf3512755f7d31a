// Draws the one diagram that the page sends, and says how tall it became. This runs in a sandbox of its own: no origin, no
// cookies, no network.
mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "neutral" });
addEventListener("message", async (e) => {
	if (e.source !== parent || typeof e.data?.source !== "string") return;
	if (e.data.dark !== undefined) mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: e.data.dark ? "dark" : "neutral" });
	try {
		const { svg } = await mermaid.render("d", e.data.source);
		document.body.innerHTML = svg;
		parent.postMessage({ height: Math.ceil(document.body.firstElementChild.getBoundingClientRect().height) }, "*");
	} catch {
		parent.postMessage({ failed: true }, "*");
	}
});
parent.postMessage({ ready: true }, "*");
