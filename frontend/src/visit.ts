// From one chat to another the page stays: its main part is fetched and put in place of the one before, without a new
// document to set up. Everything else, and whatever does not work out, goes the way of links.
import { byId, focus, page, say } from "./dom";
import { scroller, titled } from "./page";

let here = new AbortController();

/** until ends when what the page shows now is left: listeners and answers that belong to it end with it. */
export const until = () => here.signal;

const isChat = (path: string) => /^\/c\/[^/]+$/.test(path);
const address = () => location.pathname + location.search;
let shown = "";

/** visit begins what belongs to the main part, now and whenever there is another one. */
export function visit(begin: () => void): void {
	begin();
	shown = address();
	document.addEventListener("click", (e) => {
		const a = (e.target as HTMLElement).closest<HTMLAnchorElement>("a[href]");
		if (!a || e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || a.target || a.hasAttribute("download")) return;
		if (a.origin !== location.origin || a.search || a.hash || !isChat(a.pathname) || !isChat(location.pathname)) return;
		e.preventDefault();
		void go(a.href, begin, () => {
			history.replaceState({ up: scroller.up }, "");
			history.pushState(null, "", a.href);
		});
	});
	addEventListener("popstate", () => {
		if (address() !== shown && isChat(location.pathname) && isChat(shown.split("?")[0])) void go(location.href, begin, () => {});
		else location.reload();
	});
}

let asked = 0;

async function go(href: string, begin: () => void, move: () => void): Promise<void> {
	const turn = ++asked;
	const next = await fetched(href).catch(() => null);
	if (turn !== asked) return; // somebody went on meanwhile
	const main = next?.querySelector<HTMLElement>("#main");
	if (!next || !main?.querySelector("#composer") || version(next) !== version(document)) {
		location.assign(href);
		return;
	}
	here.abort();
	here = new AbortController();
	move();
	shown = address();
	for (const name of ["conversation", "last", "room", "seq"]) document.body.dataset[name] = next.body.dataset[name];
	byId("side")!.removeAttribute("data-open");
	byId("chats")!.replaceChildren(...next.querySelector("#chats")!.childNodes);
	byId("run-panel")?.remove();
	byId("toast")?.remove();
	const panel = next.querySelector("#run-panel");
	byId("main")!.replaceWith(main, ...(panel ? [panel] : []));
	begin();
	titled(next.title);
	const up = (history.state as { up?: number } | null)?.up;
	if (up && scroller.el) scroller.el.scrollTop = -up; // gone back to where somebody read
	focus(byId("say"), { preventScroll: true });
	say(next.title);
	document.dispatchEvent(new Event("parley:changed"));
	document.dispatchEvent(new Event("parley:visited"));
}

async function fetched(href: string): Promise<Document | null> {
	const r = await fetch(href);
	return r.ok && !r.redirected ? page(await r.text()) : null;
}

/** version is what a document was made for: the scripts and styles it names, and how it is spoken and shown. */
function version(d: Document): string {
	const files = [...d.querySelectorAll("head > script[src], head > link[rel=stylesheet]")].map((el) => el.getAttribute("src") ?? el.getAttribute("href"));
	return [...files, d.documentElement.lang, d.body.dataset.native].join(" ");
}
