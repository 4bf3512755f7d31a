// Lists of tasks and of exchanges: filters that apply at once, what is selected, the record beside the list, a tail held still.
import { all, byId, fragment } from "./dom";
import { tick } from "./page";

const selected = new Set<string>();

export function lists(): void {
	for (const b of all<HTMLElement>("[data-apply]")) b.hidden = true;
	for (const b of all<HTMLElement>("[data-hold]")) b.hidden = false;
	document.addEventListener("change", changed);
	document.addEventListener("click", clicked);
	document.addEventListener("keydown", pressed);
	document.addEventListener("parley:changed", show);
	document.addEventListener("parley:sent", (e) => {
		if ((e.target as HTMLElement).dataset.chosen !== undefined) none();
	}, true);
	document.addEventListener("toggle", opened, true);
	mark();
	show();
}

/** opened brings a form that was asked for into view. */
function opened(e: Event): void {
	const d = e.target as HTMLDetailsElement;
	if (d.open && d.matches(".replay")) d.scrollIntoView({ block: "start" });
}

function changed(e: Event): void {
	const t = e.target as HTMLInputElement;
	if (t instanceof HTMLSelectElement || t.type === "search") t.closest<HTMLFormElement>("form[data-auto]")?.requestSubmit();
	if (t.getAttribute("form") === "chosen") {
		t.checked ? selected.add(t.value) : selected.delete(t.value);
		show();
	}
}

/** show keeps the selection over rows that were drawn anew, and says how many there are. */
function show(): void {
	tick();
	const form = byId("chosen");
	if (!form) return;
	const boxes = all<HTMLInputElement>('input[form="chosen"]');
	const there = new Set(boxes.map((b) => b.value));
	for (const id of selected) if (!there.has(id)) selected.delete(id);
	for (const b of boxes) {
		b.checked = selected.has(b.value);
		b.closest("tr")!.toggleAttribute("data-selected", b.checked);
	}
	form.toggleAttribute("data-any", selected.size > 0);
	const count = form.querySelector<HTMLElement>("[data-count]")!;
	const text = selected.size ? count.dataset.count!.replace("#", String(selected.size)) : "";
	if (count.textContent !== text) count.textContent = text;
}

function none(): void {
	selected.clear();
	show();
}

function clicked(e: MouseEvent): void {
	const at = e.target as HTMLElement;
	const link = at.closest<HTMLAnchorElement>("a[data-panel], a[data-panel-close]") ??
		(at.closest("a, button, input") ? null : at.closest("tr")?.querySelector<HTMLAnchorElement>("a[data-panel]"));
	if (link && !e.ctrlKey && !e.metaKey && !e.shiftKey && byId(link.dataset.panel ?? link.dataset.panelClose ?? "")) {
		e.preventDefault();
		link.dataset.panel !== undefined ? void beside(link) : close(link);
	}
	if (at.closest("[data-choose-none]")) none();
	const hold = at.closest<HTMLElement>("[data-hold]");
	if (hold) held(hold);
	for (const d of all<HTMLDetailsElement>("details.menu[open]")) if (!d.contains(at)) d.open = false;
}

function pressed(e: KeyboardEvent): void {
	if (e.key !== "Escape" || e.defaultPrevented) return;
	const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
	if (menu) {
		menu.open = false;
		menu.querySelector<HTMLElement>("summary")!.focus();
		return;
	}
	const link = document.querySelector<HTMLAnchorElement>("a[data-panel-close]");
	if (link) return close(link);
	(e.target as HTMLElement).closest?.(".panel")?.querySelector<HTMLElement>("a[data-leave]")?.click();
}

/** beside shows what a link leads to beside the list, which stays as it is. */
async function beside(link: HTMLAnchorElement): Promise<void> {
	const r = await fetch(link.href, { headers: { "Parley-Live": "1" } });
	if (!r.ok) return location.assign(link.href);
	const side = byId(link.dataset.panel!)!;
	const tab = link.closest(".tabs") !== null;
	side.replaceChildren(fragment(await r.text()));
	history.replaceState(null, "", link.href);
	mark();
	const current = tab ? side.querySelector<HTMLElement>(".tabs [aria-current]") : null;
	current?.focus();
	document.dispatchEvent(new Event("parley:changed"));
}

function close(link: HTMLAnchorElement): void {
	const id = new URLSearchParams(location.search).get("id");
	byId(link.dataset.panelClose!)?.replaceChildren();
	history.replaceState(null, "", link.href);
	mark();
	byId("w" + id)?.querySelector<HTMLElement>("a")?.focus();
}

/** mark shows which row stands beside the list. */
export function mark(): void {
	const id = new URLSearchParams(location.search).get("id");
	for (const r of all<HTMLElement>("#wire-rows > tr")) {
		if (id && r.id === "w" + id) r.setAttribute("aria-selected", "true");
		else r.removeAttribute("aria-selected");
	}
}

/** held stops the list from growing, or lets it go on with all that came meanwhile. */
function held(b: HTMLElement): void {
	const board = document.querySelector<HTMLElement>("[data-board]")!;
	const hold = board.dataset.held === undefined;
	board.toggleAttribute("data-held", hold);
	b.setAttribute("aria-pressed", String(hold));
	const word = b.textContent!;
	b.textContent = b.dataset.hold!;
	b.dataset.hold = word;
	document.dispatchEvent(new Event("parley:again"));
}
