// What only the browser knows: scroll, clocks, clipboard, drawers and dialogs.
import { t } from "./words";
import { all, apply, byId, fragment, passing, say, toast, type Op } from "./dom";
import { until } from "./visit";

/** scroller keeps the end in view while it is in view, and never otherwise. Places are counted from the end, up from 0. */
export const scroller = {
	el: null as HTMLElement | null,
	follows: false, // until somebody scrolls away: what is drawn late, or turns out taller, must not end it
	up: 0,
	toEnd(): void {
		if (this.el) this.el.scrollTop = 0;
	},
	/** jump goes to the newest message, and stays there: what was never in view turns out taller once it is. */
	jump(): void {
		const newest = document.querySelector<HTMLAnchorElement>("a.newer");
		if (newest) return location.assign(newest.href);
		this.follows = true;
		this.toEnd();
	},
	/** keep makes a change, and what is read stays where it was. */
	keep(change: () => void): void {
		const s = this.el;
		const transcript = byId("transcript");
		if (!s || !transcript) return change();
		if (this.follows) {
			change();
			return this.toEnd();
		}
		const height = transcript.offsetHeight;
		const read = all("#items > *, #open > *").find((el) => el.getBoundingClientRect().bottom > s.getBoundingClientRect().top);
		const place = read?.getBoundingClientRect().top;
		change();
		const still = read?.isConnected ? read : byId(read?.id ?? "");
		if (still) s.scrollTop += still.getBoundingClientRect().top - place!;
		if (transcript.offsetHeight <= height) return;
		const pill = byId("newer")!;
		pill.hidden = false;
		pill.textContent = pill.dataset.new!;
	},
};

/** transcript looks after the scrolling of the chat that is shown. */
export function transcript(): void {
	const s = (scroller.el = byId("scroll"));
	scroller.follows = false;
	scroller.up = 0;
	if (s && byId("open")) {
		const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
		target?.scrollIntoView({ block: "center" });
		scroller.follows = !target;
		s.addEventListener("scroll", () => {
			const pill = byId("newer")!;
			const up = -s.scrollTop;
			if (up < 64) {
				pill.hidden = scroller.follows = true;
				pill.textContent = pill.dataset.far!;
			} else if (up > scroller.up) scroller.follows = false;
			if (!scroller.follows && up > 1.5 * s.clientHeight && !document.querySelector("a.newer")) pill.hidden = false;
			scroller.up = up;
			if (s.scrollHeight - s.clientHeight - up < 600) void earlier();
		}, { passive: true });
		const grown = new ResizeObserver(() => scroller.follows && scroller.toEnd());
		grown.observe(s);
		grown.observe(byId("transcript")!);
		byId("newer")!.addEventListener("click", () => scroller.jump());
	}
}

export function page(): void {
	document.addEventListener("click", clicked);
	document.addEventListener("keydown", pressed);
	document.addEventListener("focusin", left);
	document.addEventListener("change", changed);
	document.addEventListener("toggle", framed, true);
	all<HTMLSelectElement>("[data-kind]").forEach(kinds);
	setInterval(tick, 1000);
	if (!native) return;
	tell("/title", { title: document.title });
	let told = Promise.resolve<unknown>(null);
	const looked = () => { // one after the other: the last word counts
		told = told.then(() => fetch("/looked", { method: "POST", body: new URLSearchParams({ on: document.hasFocus() ? "1" : "" }) })).catch(() => {});
	};
	addEventListener("focus", looked);
	addEventListener("blur", looked);
	looked();
}

export const skew = Date.now() - Number(document.body.dataset.now);

export function tick(): void {
	const now = Date.now() - skew;
	for (const el of all<HTMLElement>("[data-since]")) el.textContent = clock(now - Number(el.dataset.since));
	for (const el of all<SVGElement>(".fall [data-grows]")) {
		const whole = Number(el.closest<HTMLElement>(".fall")!.dataset.whole);
		el.setAttribute("width", `${Math.min(100 - parseFloat(el.getAttribute("x")!), Math.max(0.6, 100 * (now - Number(el.dataset.grows)) / whole))}%`);
	}
	for (const el of all<HTMLElement>("[data-age]")) el.textContent = age(Math.max(0, now - Number(el.dataset.age)));
}

/** age is as chat.templ has it. */
function age(ms: number): string {
	const h = ms / 3_600_000;
	if (h >= 48) return `${Math.floor(h / 24)} d`;
	if (h >= 1) return `${Math.floor(h)} h`;
	return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : clock(ms);
}

/** heard notes that something came: the age of the last event starts anew. */
export function heard(): void {
	for (const t of all<HTMLElement>("#pulse [data-age]")) t.dataset.age = String(Date.now() - skew);
	const title = byId("title")?.textContent;
	if (title) titled(`${title} · Parley`);
}

function clock(ms: number): string {
	const s = Math.max(0, Math.floor(ms / 1000));
	const two = (n: number) => String(n).padStart(2, "0");
	return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

let fetching = false;

/** earlier fetches the items before the first one; the view, whose place is counted from the end, stays on what it showed. */
async function earlier(): Promise<void> {
	const link = document.querySelector<HTMLAnchorElement>("[data-earlier]");
	if (!link || fetching) return;
	const left = until();
	fetching = true;
	try {
		const r = await fetch(link.href, { headers: { "Parley-Live": "1" }, signal: left });
		const ops = r.ok ? (await r.json() as { ops: Op[] }).ops : [];
		if (!left.aborted) apply(ops);
	} catch (e) {
		if (!left.aborted) throw e;
	} finally {
		fetching = false;
	}
}

function clicked(e: MouseEvent): void {
	const at = e.target as HTMLElement;
	const has = (selector: string) => at.closest<HTMLElement>(selector);
	const side = byId("side")!;
	let el: HTMLElement | null;
	if ((el = has("[data-copy]"))) void copy(el);
	else if ((el = has("[data-earlier]"))) { e.preventDefault(); void earlier(); }
	else if ((el = has("button[data-open]"))) show(byId(el.dataset.open!) as HTMLDialogElement | null, el);
	else if ((el = has("[data-dismiss]"))) el.closest("dialog")?.close();
	else if ((el = has('a[href="#side"]'))) { e.preventDefault(); side.toggleAttribute("data-open", true); side.querySelector<HTMLElement>("a")?.focus(); }
	else if (has(".skip")) { e.preventDefault(); byId("main")!.focus(); }
	else if (has("[data-close-side]")) shut();
	else if (side.hasAttribute("data-open") && !has("#side")) side.removeAttribute("data-open");
	else if ((el = has("dialog")) && el === at) (el as HTMLDialogElement).close();
	else if (has("[data-close]")) { e.preventDefault(); history.length > 1 ? history.back() : window.close(); }
	else if (native && (el = has("a[download]"))) {
		e.preventDefault();
		const to = new URL((el as HTMLAnchorElement).href);
		void download(to.pathname + to.search);
	}
	else if (native && (el = has('a[target="_blank"], a[href^="http"]'))) {
		// A window of our own has no tabs: our pages open in place, others in the person's browser.
		e.preventDefault();
		const to = new URL((el as HTMLAnchorElement).href);
		to.origin === location.origin ? location.assign(to) : tell("/open", { url: to.href });
	}
}

const native = document.body.dataset.native !== undefined;

function tell(path: string, fields: Record<string, string>): void {
	void fetch(path, { method: "POST", body: new URLSearchParams(fields) });
}

/** download has the window save what a page cannot, and shows how that went. */
async function download(url: string): Promise<void> {
	const r = await fetch("/download", { method: "POST", body: new URLSearchParams({ url }), headers: { "Parley-Live": "1" } });
	if (r.status === 204) return;
	const said = fragment(await r.text());
	if (!r.ok) return toast(said); // what went wrong, as it is drawn everywhere
	byId("toast")?.remove();
	const saved = said.firstElementChild as HTMLElement;
	document.body.append(saved);
	say(saved.textContent);
	passing(saved);
}

/** titled names the page, and the window where it is our own; before it goes how many asks wait. */
export function titled(title: string): void {
	const n = byId("asking")?.textContent?.trim();
	title = (n ? `(${n}) ` : "") + title.replace(/^\(\d+\) /, "");
	if (title === document.title) return;
	document.title = title;
	if (native) tell("/title", { title });
}

/** show opens a dialog. When it closes the focus is where it was, or on the menu that the dialog was chosen from. */
function show(dialog: HTMLDialogElement | null, from: HTMLElement): void {
	const was = document.activeElement as HTMLElement | null;
	const back = was?.closest("details.menu")?.querySelector("summary") ?? (was === document.body ? from : was);
	dialog?.addEventListener("close", () => back?.focus(), { once: true });
	dialog?.showModal();
}

/** shut closes the side bar where it lies over the page; the focus goes back to what opened it. */
function shut(): void {
	byId("side")!.removeAttribute("data-open");
	document.querySelector<HTMLElement>('a[href="#side"]')?.focus();
}

function pressed(e: KeyboardEvent): void {
	if (e.key === "Escape" && byId("side")!.hasAttribute("data-open")) shut();
	const at = e.target as HTMLElement;
	const writing = at.closest("select, dialog, [contenteditable]") || at.matches("input, textarea") && (at.id !== "say" || (at as HTMLTextAreaElement).value);
	if (e.key === "End" && !e.shiftKey && !e.altKey && !writing && byId("open")) {
		e.preventDefault();
		scroller.jump();
	}
}

/** left closes the side bar when the focus goes on to what it hides. */
function left(e: FocusEvent): void {
	const side = byId("side")!;
	if (!side.contains(e.target as Node)) side.removeAttribute("data-open");
}

function changed(e: Event): void {
	const t = e.target as HTMLInputElement;
	if (t.dataset.themeChoice !== undefined) {
		if (t.value) document.documentElement.dataset.theme = t.value;
		else delete document.documentElement.dataset.theme;
	}
	if (t.dataset.textChoice !== undefined) document.documentElement.dataset.text = t.value;
	if (t.dataset.kind !== undefined) kinds(t as unknown as HTMLSelectElement);
}

/** kinds shows the fields that go with the chosen kind of credential. */
function kinds(select: HTMLSelectElement): void {
	for (const f of all<HTMLElement>("[data-for]", select.form!)) f.hidden = !f.dataset.for!.split(" ").includes(select.value);
}

/** framed loads a document only when somebody opens it. */
function framed(e: Event): void {
	const d = e.target as HTMLDetailsElement;
	if (!d.open || !d.dataset.frame || d.querySelector("iframe")) return;
	const f = document.createElement("iframe");
	if (d.dataset.sandbox !== undefined) f.setAttribute("sandbox", "");
	f.src = d.dataset.frame;
	f.title = d.querySelector(".name")?.textContent ?? t("Document");
	d.append(f);
}

async function copy(el: HTMLElement): Promise<void> {
	const text = el.dataset.copy || el.closest("figure")?.querySelector("code")?.textContent || "";
	try {
		await navigator.clipboard.writeText(text);
		say(t("Copied"));
		const use = el.querySelector("use");
		use?.setAttribute("href", "#i-check");
		setTimeout(() => use?.setAttribute("href", "#i-copy"), 1200);
	} catch {
		say(t("The clipboard is not available here"));
	}
}
