// Frames of the server are applied here, and nowhere else is HTML put into the page.

/** One change: [what, id of the element, HTML or text]. */
export type Op = [op: string, id: string, body?: string];

interface Policy { createHTML(s: string): string }
declare global {
	interface Window { trustedTypes?: { createPolicy(name: string, p: Policy): Policy } }
}
const policy: Policy = window.trustedTypes?.createPolicy("parley", { createHTML: (s) => s }) ?? { createHTML: (s) => s };

/** fragment parses HTML that the server drew. */
export function fragment(html: string): DocumentFragment {
	const t = document.createElement("template");
	t.innerHTML = policy.createHTML(html);
	return t.content;
}

/** page parses a whole page that the server drew. */
export function page(html: string): Document {
	return new DOMParser().parseFromString(policy.createHTML(html), "text/html");
}

export const byId = (id: string) => document.getElementById(id);

export function all<T extends Element>(selector: string, root: ParentNode = document): T[] {
	return [...root.querySelectorAll<T>(selector)];
}

/** focus also reaches what was only just put in: WebKit types into no part of a date that was not laid out before. */
export function focus(el: HTMLElement | null | undefined, options?: FocusOptions): void {
	el?.getBoundingClientRect();
	el?.focus(options);
}

/** apply makes the changes of a frame, in order. Focus inside something replaced goes to its successor. */
export function apply(ops: Op[]): void {
	const focused = document.activeElement;
	const key = focused instanceof HTMLElement ? keyOf(focused) : "";
	let told = false; // a text that streams is nobody else's business, and the whole page is long to look through
	for (const [op, id, body = ""] of ops) {
		told ||= !/^p\d+-[tf]$/.test(id); // as fold.go names what streams
		if (op === "s") {
			say(body);
			continue;
		}
		const el = byId(id);
		if (!el) continue;
		switch (op) {
			case "a": el.append(fragment(body)); break;
			case "p": el.prepend(fragment(body)); break;
			case "b": el.before(fragment(body)); break;
			case "r": replace(el, body); break;
			case "i": el.replaceChildren(fragment(body)); break;
			case "t": el.append(body); break;
			case "x": el.remove(); break;
		}
	}
	if (ops.some(([, id]) => id === "items")) days();
	if (key && !document.contains(focused)) focus(document.querySelector<HTMLElement>(key), { preventScroll: true });
	const here = document.body.dataset.conversation;
	if (here) document.querySelector(`#chats a[href="/c/${CSS.escape(here)}"]`)?.setAttribute("aria-current", "page");
	if (told) document.dispatchEvent(new Event("parley:changed"));
}

const newer = new WeakMap<HTMLElement, string>();

/** replace draws an element anew; one that somebody types in once they have left it: half a date is no value to keep. */
function replace(el: HTMLElement, html: string): void {
	const at = document.activeElement!;
	if (!el.contains(at) || !at.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=file])")) {
		el.replaceWith(fragment(html));
		return;
	}
	if (!newer.has(el)) {
		const left = () => setTimeout(() => { // what is being pressed must be there to be clicked
			if (el.contains(document.activeElement) || el.matches(":active")) return;
			el.removeEventListener("focusout", left);
			document.removeEventListener("pointerup", left);
			if (!el.isConnected) return;
			el.replaceWith(fragment(newer.get(el)!));
			document.dispatchEvent(new Event("parley:changed"));
		});
		el.addEventListener("focusout", left);
		document.addEventListener("pointerup", left);
	}
	newer.set(el, html);
}

/** days leaves each day its first line: pieces of a transcript each begin with one. */
function days(): void {
	let day = "";
	for (const d of all<HTMLElement>("#items > [data-day]")) {
		if (d.dataset.day === day) d.remove();
		day = d.dataset.day!;
	}
}

function keyOf(el: HTMLElement): string {
	if (el.id) return "#" + CSS.escape(el.id);
	const href = el.getAttribute("href");
	if (href) return `a[href="${CSS.escape(href)}"]`;
	const form = el.closest("form");
	return form?.getAttribute("action") ? `form[action="${CSS.escape(form.getAttribute("action")!)}"] button` : "";
}

/** toast shows what belongs to nothing else on the page, for a while. */
export function toast(what: Node): void {
	byId("toast")?.remove();
	const box = document.createElement("div");
	box.className = "toast pop";
	box.id = "toast";
	box.append(what);
	document.body.append(box);
	say(box.textContent);
	passing(box);
}

/** passing takes a toast away when it has been read. */
export function passing(toast: HTMLElement): void {
	setTimeout(() => toast.remove(), 10_000);
}

/** say tells a screen reader; it hears states and ends, not every word that arrives. */
export function say(text: string): void {
	const el = byId("announce");
	if (el) el.textContent = text;
}
