// How a person finds things: by the words on them, what is in front first, and only what can be seen and used.
const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0;
const words = (s) => (s ?? "").trim().replace(/\s+/g, " ");
const front = () => [...document.querySelectorAll("dialog[open]"), ...document.querySelectorAll("details.menu[open], #run-panel"), document.querySelector("main"), document.body].filter(Boolean);
const middle = (e) => {
	const r = e.getBoundingClientRect();
	return { X: r.x + r.width / 2, Y: r.y + r.height / 2 };
};

/** named is the middle of what has a name; a name that begins so counts when none is exactly so. */
function named(name) {
	const name0 = (e) => {
		if (!e.querySelector("[aria-hidden=true]")) return words(e.getAttribute("aria-label") || e.innerText || e.value);
		const c = e.cloneNode(true);
		for (const h of c.querySelectorAll("[aria-hidden=true]")) h.remove();
		return words(e.getAttribute("aria-label") || c.textContent);
	};
	for (const within of front()) {
		const all = [...within.querySelectorAll("a[href], button, summary, label, [role=option]")].filter((e) => seen(e));
		const e = all.find((e) => name0(e) === name) ?? all.find((e) => name0(e).startsWith(name));
		if (!e) continue;
		if (e.disabled) return { Why: "it is disabled" };
		e.scrollIntoView({ block: "nearest" });
		const at = middle(e);
		const there = document.elementFromPoint(at.X, at.Y);
		if (!there || !(e.contains(there) || there.contains(e))) return { Why: `${there?.outerHTML.slice(0, 120)} covers it` };
		window.pressed = false; // what moves away while the mouse comes was not pressed
		e.addEventListener("click", () => (window.pressed = true), { once: true, capture: true });
		return at;
	}
	return { Why: "it is not there" };
}

/** labelled puts the focus into the field with a label. */
function labelled(label) {
	for (const within of front()) {
		for (const e of within.querySelectorAll("input, textarea, select")) {
			const names = [e.getAttribute("aria-label"), ...[...(e.labels ?? [])].map((l) => l.innerText || l.textContent)].map(words);
			if (!seen(e) || !names.some((n) => n === label || n.startsWith(label + " "))) continue;
			if (e.disabled) return { Why: "it is disabled" };
			e.scrollIntoView({ block: "nearest" });
			e.focus();
			return middle(e);
		}
	}
	return { Why: "it is not there" };
}
