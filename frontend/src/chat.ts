// What a chat offers beside its live stream: completion, find, the queue, sorted tables, diagrams.
import { all, byId, passing, say } from "./dom";
import { save } from "./composer";
import { Options } from "./options";
import { until } from "./visit";
import { t } from "./words";

/** talk looks after the parts of the chat that is shown. */
export function talk(): void {
	complete();
	find();
	takes();
}

export function chat(): void {
	document.addEventListener("click", sort);
	document.addEventListener("submit", refill, true);
	document.addEventListener("toggle", diagram, true);
	addEventListener("message", drawn);
	document.addEventListener("click", (e) => {
		for (const m of all<HTMLDetailsElement>("details.menu[open]")) if (!m.contains(e.target as Node) || (e.target as HTMLElement).closest(".opt")) m.open = false;
	});
	document.addEventListener("keydown", (e) => {
		const box = e.target as HTMLTextAreaElement;
		const edits = document.querySelector<HTMLAnchorElement>(".anew a");
		if (e.key === "Escape" && !e.defaultPrevented && !e.isComposing && edits && (box.id === "say" || box === document.body)) return edits.click();
		if (e.key !== "ArrowUp" || box.id !== "say" || box.value || e.isComposing) return;
		const mine = all<HTMLAnchorElement>("#items .mine a[href*='edit=']").pop();
		if (mine) { e.preventDefault(); location.assign(mine.href); }
	});
	const toast = byId("toast");
	if (toast) {
		history.replaceState(null, "", location.pathname);
		passing(toast);
	}
}

/** complete offers agents for @ and workflows for / while they are typed. */
function complete(): void {
	const box = byId("say") as HTMLTextAreaElement | null;
	const list = byId("complete");
	if (!box || !list) return;
	const options = new Options(list, box);
	let word = "";
	let asking: Promise<void> | null = null; // what is typed runs ahead of what the list shows
	const close = () => { list.hidden = true; options.clear(); };
	const look = () => {
		const now = asking = ask().catch(close).finally(() => { if (asking === now) asking = null; });
	};
	const ask = async () => {
		const before = box.value.slice(0, box.selectionStart);
		// A workflow is named first; an agent anywhere, after a space.
		word = (/^\/[\w-]*$/.exec(before) ?? /(?<=^|\s)@[^\s@]*$/.exec(before))?.[0] ?? "";
		if (!word) return list.hidden || close();
		const any = await options.load(`/complete?${new URLSearchParams({ q: word })}`);
		if (any === undefined) return;
		if (!any) return close();
		list.hidden = false;
	};
	const take = (o: HTMLElement) => {
		const end = box.selectionStart;
		const from = end - word.length;
		let insert = o.dataset.option!;
		const to = o.dataset.to;
		if (to) {
			box.form!.querySelector<HTMLSelectElement>('select[name="to"]')!.value = to;
			box.form!.dispatchEvent(new Event("change", { bubbles: true }));
			if (!from) insert = ""; // it is for that agent; its name need not be said
		}
		box.setRangeText(insert, from, end, "end");
		close();
		box.focus();
		box.dispatchEvent(new Event("input", { bubbles: true }));
	};
	box.addEventListener("input", look);
	box.addEventListener("keydown", (e) => {
		if (e.isComposing || e.keyCode === 229) return;
		if (asking && word && (e.key === "Enter" && !e.shiftKey || e.key === "Tab")) {
			// The list is still that of fewer letters: to take from it would be to send to another agent.
			e.preventDefault();
			e.stopPropagation();
			void asking.then(() => !list.hidden && options.chosen ? take(options.chosen) : e.key === "Enter" && box.form!.requestSubmit());
			return;
		}
		if (list.hidden) return;
		if (options.key(e)) return;
		if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); close(); }
		else if ((e.key === "Enter" && !e.shiftKey || e.key === "Tab") && options.chosen) { e.preventDefault(); e.stopPropagation(); take(options.chosen); }
	});
	box.addEventListener("blur", () => setTimeout(close, 150));
	list.addEventListener("mousedown", (e) => e.preventDefault());
	list.addEventListener("click", (e) => {
		const o = (e.target as HTMLElement).closest<HTMLElement>("[data-option]");
		e.preventDefault();
		if (o) take(o);
	});
	document.addEventListener("click", (e) => {
		const b = (e.target as HTMLElement).closest<HTMLElement>("[data-insert]");
		if (!b) return;
		if (b.dataset.insert === "/") box.setSelectionRange(0, 0);
		else if (box.selectionStart && !/\s$/.test(box.value.slice(0, box.selectionStart))) box.setRangeText(" ", box.selectionStart, box.selectionEnd, "end");
		box.setRangeText(b.dataset.insert!, box.selectionStart, box.selectionEnd, "end");
		box.focus();
		look();
	}, { signal: until() });
}

/** takes says what the agent accepts, before a file is sent that it does not. */
function takes(): void {
	const form = byId("composer") as HTMLFormElement | null;
	const input = form?.querySelector<HTMLInputElement>('input[type="file"]');
	const line = form?.querySelector<HTMLElement>("[data-takes]");
	if (!form || !input || !line) return;
	const show = () => {
		const o = form.querySelector<HTMLSelectElement>('select[name="to"]')!.selectedOptions[0];
		const modes = (o?.dataset.takes ?? "").split(", ").filter(Boolean);
		const files = [...(input.files ?? [])];
		const wrong = files.filter((f) => modes.length && !modes.some((m) => fits(m, f.type)));
		line.hidden = !files.length;
		line.classList.toggle("warn", !!wrong.length);
		line.textContent = (wrong.length ? t("%s does not say that it takes %s. ", o.text, wrong.map((f) => f.name).join(", ")) : "")
			+ (modes.length ? t("%s takes %s. ", o.text, modes.join(", ")) : "") + input.dataset.sizes;
	};
	form.addEventListener("change", show);
	form.addEventListener("parley:picked", show);
}

function fits(mode: string, type: string): boolean {
	const m = mode.split(";")[0].trim().toLowerCase();
	return m === "*/*" || m === type || m.endsWith("/*") && type.startsWith(m.slice(0, -1)) || !type;
}

/** find goes from match to match in this chat; the server finds them, because a page is only a part of its chat. */
function find(): void {
	const bar = byId("find") as HTMLFormElement | null;
	const field = byId("find-q") as HTMLInputElement | null;
	if (!bar || !field) return;
	mark("");
	const left = until();
	let hits: number[] = [];
	let at = -1;
	let timer = 0;
	const show = () => (byId("find-n")!.textContent = field.value.trim() ? hits.length ? `${at + 1}/${hits.length}` : t("Nothing found") : "");
	const go = (by: number) => {
		if (!hits.length) return;
		at = (at + by + hits.length) % hits.length;
		show();
		say(`${at + 1}/${hits.length}`);
		const el = byId(`i${hits[at]}`);
		if (!el) return location.assign(`${location.pathname}?${new URLSearchParams({ at: String(hits[at]), find: field.value })}#i${hits[at]}`);
		all(".here").forEach((h) => h.classList.remove("here"));
		el.classList.add("here");
		el.scrollIntoView({ block: "center" });
		mark(field.value);
	};
	const look = async (first: boolean) => {
		const q = field.value.trim();
		const r = await fetch(`/c/${bar.dataset.chat}/find?${new URLSearchParams({ q })}`, { headers: { "Parley-Live": "1" } });
		if (!r.ok || q !== field.value.trim()) return;
		const found = (await r.json() as { hits: number[] }).hits;
		if (left.aborted) return;
		hits = found;
		const here = hits.indexOf(Number(location.hash.slice(2)));
		at = first && here >= 0 ? here : -1;
		mark(q);
		first && here >= 0 ? show() : q ? go(1) : show();
		if (!hits.length) show();
	};
	const close = () => {
		bar.hidden = true;
		mark("");
		all(".here").forEach((h) => h.classList.remove("here"));
		byId("say")?.focus();
	};
	bar.addEventListener("submit", (e) => { e.preventDefault(); go(1); });
	field.addEventListener("input", () => { clearTimeout(timer); timer = window.setTimeout(() => void look(false), 120); });
	field.addEventListener("keydown", (e) => {
		if (e.key === "Enter" && e.shiftKey) { e.preventDefault(); go(-1); }
		if (e.key === "Escape") { e.preventDefault(); close(); }
	});
	byId("find-open")!.addEventListener("click", () => { bar.hidden = false; field.focus(); field.select(); });
	byId("find-older")!.addEventListener("click", () => go(1));
	byId("find-newer")!.addEventListener("click", () => go(-1));
	byId("find-close")!.addEventListener("click", close);
	if (!bar.hidden) { field.focus(); void look(true); }
}

/** mark paints the words where they stand, without touching the page. */
function mark(q: string): void {
	if (!("highlights" in CSS)) return;
	CSS.highlights.delete("find");
	const words = q.toLowerCase().split(/[\s"“”]+/).filter(Boolean);
	if (!words.length) return;
	const ranges: Range[] = [];
	const walk = document.createTreeWalker(byId("transcript")!, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n && ranges.length < 500; n = walk.nextNode()) {
		const text = n.textContent!.toLowerCase();
		if (text.length !== n.textContent!.length) continue;
		for (const w of words) for (let i = text.indexOf(w); i >= 0; i = text.indexOf(w, i + w.length)) {
			const r = new Range();
			r.setStart(n, i);
			r.setEnd(n, i + w.length);
			ranges.push(r);
		}
	}
	CSS.highlights.set("find", new Highlight(...ranges));
}

/** refill takes a waiting message back into the composer. */
function refill(e: SubmitEvent): void {
	const text = (e.submitter as HTMLElement | null)?.dataset.refill;
	const box = byId("say") as HTMLTextAreaElement | null;
	if (text === undefined || !box) return;
	(e.target as HTMLFormElement).addEventListener("parley:sent", () => {
		box.value = box.value ? `${text}\n${box.value}` : text;
		save(box.form!); // also when somebody has gone to another chat meanwhile
		box.focus();
		box.dispatchEvent(new Event("input", { bubbles: true }));
	}, { once: true });
}

const collator = new Intl.Collator(undefined, { numeric: true });

/** sort orders the rows of a table by a column, and the other way round the second time. */
function sort(e: MouseEvent): void {
	const th = (e.target as HTMLElement).closest<HTMLElement>("[data-sort]")?.closest("th");
	if (!th) return;
	const table = th.closest("table")!;
	const col = [...th.parentElement!.children].indexOf(th);
	const down = th.ariaSort === "ascending";
	all<HTMLElement>("th", table).forEach((h) => h.removeAttribute("aria-sort"));
	th.ariaSort = down ? "descending" : "ascending";
	const value = (r: HTMLTableRowElement) => r.cells[col]?.textContent ?? "";
	const number = (s: string) => (/^[-+]?[\d,. ]*\d%?$/.test(s.trim()) ? parseFloat(s.replace(/[, %]/g, "")) : NaN);
	const rows = [...table.tBodies[0].rows].sort((a, b) => {
		const [x, y] = [value(a), value(b)];
		const [n, m] = [number(x), number(y)];
		const c = !isNaN(n) && !isNaN(m) ? n - m : collator.compare(x, y);
		return down ? -c : c;
	});
	table.tBodies[0].append(...rows);
}

/** diagram draws a diagram in a frame of its own, when somebody wants to see it. */
function diagram(e: Event): void {
	const d = e.target as HTMLDetailsElement;
	if (!d.open || d.dataset.diagram === undefined || d.querySelector("iframe")) return;
	const f = document.createElement("iframe");
	f.setAttribute("sandbox", "allow-scripts");
	f.title = t("Diagram");
	f.src = "/diagram";
	d.append(f);
}

/** drawn hears from the frames of diagrams: one is ready for its source, has a height, or could not be drawn. */
function drawn(e: MessageEvent): void {
	const f = all<HTMLIFrameElement>("[data-diagram] iframe").find((f) => f.contentWindow === e.source);
	if (!f) return;
	const m = e.data as { ready?: boolean; height?: number; failed?: boolean };
	const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
		|| (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	if (m.ready) f.contentWindow!.postMessage({ source: f.closest("figure")!.querySelector("code")!.textContent, dark }, "*");
	else if (m.height) f.height = String(Math.min(Math.max(m.height, 40), 2000));
	else if (m.failed) {
		const p = document.createElement("p");
		p.className = "muted";
		p.textContent = t("This diagram cannot be drawn. Its source is above.");
		f.replaceWith(p);
	}
}
