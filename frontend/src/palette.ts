// The palette, and the shortcuts that work everywhere.
import { all, byId } from "./dom";
import { Options } from "./options";

export function palette(): void {
	const dialog = byId("palette") as HTMLDialogElement | null;
	const field = byId("palette-q") as HTMLInputElement | null;
	if (!dialog || !field) return;
	const options = new Options(byId("palette-hits")!, field);
	let timer = 0;
	let shown: Promise<unknown> | undefined;
	const look = () => (shown = options.load(`/palette?${new URLSearchParams({ q: field.value, chat: document.body.dataset.conversation ?? "" })}`));

	const open = (words = "") => {
		if (!dialog.open) dialog.showModal();
		field.value = words;
		field.select();
		void look();
	};
	field.addEventListener("input", () => { clearTimeout(timer); timer = window.setTimeout(() => { timer = 0; void look(); }, 60); });
	field.addEventListener("keydown", (e) => {
		if (e.isComposing || options.key(e)) return;
		if (e.key !== "Enter") return;
		e.preventDefault();
		clearTimeout(timer); // what was typed counts, not what is still shown
		void (timer ? look() : shown)?.then(() => options.chosen?.click());
	});
	dialog.addEventListener("click", (e) => {
		const o = (e.target as HTMLElement).closest<HTMLAnchorElement>("[role=option]");
		if (!o) return e.target === dialog ? dialog.close() : undefined;
		dialog.close();
		if (!o.dataset.press) return;
		e.preventDefault();
		byId(o.dataset.press)?.click();
	});
	dialog.addEventListener("close", () => options.clear());

	document.addEventListener("keydown", (e) => {
		const mod = e.ctrlKey || e.metaKey;
		const key = e.key.toLowerCase();
		const at = e.target as Partial<HTMLElement>;
		const typing = at.matches?.("input, textarea, select, [contenteditable]");
		const go = (f: () => void) => { e.preventDefault(); f(); };
		if (e.isComposing) return;
		if (mod && !e.altKey && !e.shiftKey && key === "k") go(() => open(getSelection()?.toString().slice(0, 80)));
		else if (mod && e.altKey && key === "n") go(() => location.assign("/"));
		else if (mod && e.shiftKey && key === "f") go(() => location.assign("/search"));
		else if (mod && !e.shiftKey && key === ",") go(() => location.assign("/settings"));
		else if (mod && !e.shiftKey && !e.altKey && key === "f" && byId("find-open")) go(() => byId("find-open")!.click());
		else if (key === "f2" && byId("rename-open")) go(() => byId("rename-open")!.click());
		else if (e.altKey && !mod && (key === "arrowup" || key === "arrowdown")) go(() => next(key === "arrowdown" ? 1 : -1));
		else if (!typing && !mod && !e.altKey && key === "?") go(() => byId("keys-open")!.click());
	});
	if (/Mac|iPhone|iPad/.test(navigator.platform)) {
		new MutationObserver(mac).observe(document.body, { childList: true, subtree: true });
		mac();
	}
}

/** next opens the chat above or below in the list. */
function next(by: number): void {
	const links = all<HTMLAnchorElement>('#chats a[href^="/c/"]');
	const at = links.findIndex((a) => a.getAttribute("aria-current") === "page");
	const to = links[at < 0 ? 0 : at + by];
	to?.click();
}

/** mac names the keys as that keyboard does. */
function mac(): void {
	for (const k of all("kbd")) if (/Ctrl|Alt|Shift/.test(k.textContent ?? "")) k.textContent = k.textContent!.replace("Ctrl", "⌘").replace("Alt", "⌥").replace("Shift", "⇧");
}
