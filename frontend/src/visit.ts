// From one chat to another the page stays: its main part is fetched and put in place of the one before, without a new
// document to set up. Everything else, and whatever does not work out, goes the way of links.
import { all, byId, focus, page, say } from "./dom";
import { scroller, titled } from "./page";

let here = new AbortController();

/** until ends when what the page shows now is left: listeners and answers that belong to it end with it. */
export const until = () => here.signal;

const isChat = (path: string) => /^\/c\/[^/?]+$/.test(path);
const address = () => location.pathname + location.search;
const places = new Map<string, number>(); // how far up each address was left
let shown = "";

/** visit begins what belongs to the main part, now and whenever there is another one. */
export function visit(begin: () => void): void {
	begin();
	shown = address();
	addEventListener("click", (e) => { // behind whoever listens to the document
		const a = (e.target as HTMLElement).closest<HTMLAnchorElement>("a[href]");
		if (!a || e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || a.target || a.hasAttribute("download")) return;
		if (a.origin !== location.origin || a.search || a.hash || !isChat(a.pathname) || !isChat(location.pathname)) return;
		e.preventDefault();
		void go(a.href, begin, false);
	});
	addEventListener("popstate", () => {
		const chats = isChat(location.pathname) && isChat(shown.split("?")[0]);
		if (chats && address() !== shown) void go(location.href, begin, true);
		else if (chats && byId("main")!.ariaBusy) wait(); // back before the other one was there
		else location.reload();
	});
}

let asking = new AbortController();

/** wait ends what the page waited for, and returns the signal of what it waits for now. */
function wait(): AbortSignal {
	asking.abort();
	asking = new AbortController();
	byId("main")!.ariaBusy = null;
	return asking.signal;
}

/** go shows the chat of an address; back when the browser went there, whose place in it is kept. */
async function go(href: string, begin: () => void, back: boolean): Promise<void> {
	const mine = wait();
	byId("main")!.ariaBusy = "true";
	const next = await fetched(href, mine).catch(() => null);
	if (mine.aborted) return;
	byId("main")!.ariaBusy = null;
	const main = next?.querySelector<HTMLElement>("#main");
	if (!next || !main?.querySelector("#composer") || version(next) !== version(document)) {
		href === location.href ? location.reload() : location.assign(href); // assigned, one with a fragment would stay
		return;
	}
	here.abort();
	here = new AbortController();
	places.set(shown, scroller.up);
	if (!back && href !== location.href) history.pushState(null, "", href);
	shown = address();
	for (const name of ["conversation", "last", "room", "seq"]) document.body.dataset[name] = next.body.dataset[name];
	for (const d of all<HTMLDialogElement>("dialog[open]")) d.close();
	byId("side")!.removeAttribute("data-open");
	byId("chats")!.replaceChildren(...next.querySelector("#chats")!.childNodes);
	byId("run-panel")?.remove();
	byId("toast")?.remove();
	const panel = next.querySelector("#run-panel");
	byId("main")!.replaceWith(main, ...(panel ? [panel] : []));
	begin();
	titled(next.title);
	const up = back ? places.get(shown) ?? 0 : 0;
	const el = scroller.el;
	if (el && up && up <= el.scrollHeight - el.clientHeight) el.scrollTop = -up;
	if (!location.hash && byId("find")?.hidden !== false) focus(byId("say"), { preventScroll: true });
	say(next.title);
	document.dispatchEvent(new Event("parley:changed"));
	document.dispatchEvent(new Event("parley:visited"));
}

async function fetched(href: string, signal: AbortSignal): Promise<Document | null> {
	const r = await fetch(href, { signal });
	return r.ok && !r.redirected ? page(await r.text()) : null;
}

/** version is what a document was made for: the scripts and styles it names, and how it is spoken and shown. */
function version(d: Document): string {
	const files = [...d.querySelectorAll("head > script[src], head > link[rel=stylesheet]")].map((el) => el.getAttribute("src") ?? el.getAttribute("href"));
	const { lang, dataset: { theme, text } } = d.documentElement;
	return JSON.stringify([files, lang, theme ?? "", text ?? ""]);
}
