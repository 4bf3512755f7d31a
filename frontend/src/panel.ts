// The run beside its chat. Where there is no room beside it, it is a sheet over the chat: closed until somebody asks for
// it, and closed again by whatever it covers.
import { byId } from "./dom";
import { until } from "./visit";

const over = matchMedia("(max-width:1180px)"); // as in run.css
const here = "#run-panel";

export function panel(): void {
	const asked = location.hash === here;
	if (asked) history.replaceState(null, "", location.pathname + location.search);
	const p = byId("run-panel");
	if (!p) return;
	const signal = until();
	document.addEventListener("click", (e) => clicked(e, p), { signal });
	document.addEventListener("focusin", (e) => {
		if (open(p) && !p.contains(e.target as Node)) show(p, false);
	}, { signal });
	over.addEventListener("change", () => tell(p), { signal });
	asked && over.matches ? show(p, true) : tell(p);
}

const toggle = () => byId("panel-open");
const open = (p: HTMLElement) => over.matches && p.dataset.open !== undefined;

function clicked(e: MouseEvent, p: HTMLElement): void {
	const link = (e.target as HTMLElement).closest<HTMLAnchorElement>("a[href]");
	if (e.ctrlKey || e.metaKey || e.shiftKey) return;
	if (link?.closest("#run-graph") && link.hash) byId(decodeURIComponent(link.hash.slice(1)))?.querySelector("details")?.toggleAttribute("open", true);
	const same = link?.hash === here && !link.closest(".tabs") && new URL(link.href).searchParams.get("run") === p.dataset.run;
	if (same || over.matches && link === toggle()) {
		e.preventDefault();
		show(p, same || !open(p));
	} else if (over.matches && link?.dataset.leave !== undefined && p.contains(link)) {
		e.preventDefault();
		show(p, false);
		toggle()?.focus();
	} else if (open(p) && !p.contains(e.target as Node)) show(p, false);
}

function show(p: HTMLElement, on: boolean): void {
	p.toggleAttribute("data-open", on);
	tell(p);
	if (on) p.focus();
}

/** tell says on the button whether the panel is to be seen. */
function tell(p: HTMLElement): void {
	toggle()?.setAttribute("aria-expanded", String(!over.matches || open(p)));
}
