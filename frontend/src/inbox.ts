// What waits for the person: counted in the title of every window, and told by the browser to whoever asked for that.
import { all, byId, say } from "./dom";
import { skew, titled } from "./page";
import { t } from "./words";

const key = "parley.notify";
const known = new Set<string>();

export function inbox(): void {
	for (const a of asks()) known.add(a.dataset.ask!);
	document.addEventListener("parley:changed", changed);
	document.addEventListener("click", (e) => {
		if ((e.target as HTMLElement).closest("[data-notify]")) void toggle();
	});
	show();
	ago();
	setInterval(ago, 15_000);
}

/** ago says of each open ask since when it waits. */
function ago(): void {
	const now = Date.now() - skew;
	const words = (n: number, unit: string) => new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit, unitDisplay: "short" }).format(n);
	for (const el of all<HTMLElement>("[data-ago]")) {
		const s = Math.max(0, now - Number(el.dataset.ago)) / 1000;
		const text = s < 60 ? t("just now") : s < 3600 ? words(Math.floor(s / 60), "minute") : s < 86400 ? words(Math.floor(s / 3600), "hour") : words(Math.floor(s / 86400), "day");
		if (el.textContent !== text) el.textContent = text;
	}
}

const asks = () => all<HTMLElement>("#asks > [data-ask]");

function changed(): void {
	titled(document.title);
	const fresh = asks().filter((a) => !known.has(a.dataset.ask!));
	for (const a of fresh) {
		known.add(a.dataset.ask!);
		if (a.dataset.muted === undefined) tell(a);
	}
	show();
	ago();
}

/** tell notifies of an ask, unless the person looks at this window anyway. Windows share the tag: one is shown for all. */
function tell(a: HTMLElement): void {
	if (!on() || document.hasFocus()) return;
	const n = new Notification(a.textContent!.trim(), { body: a.dataset.body, tag: "ask-" + a.dataset.ask });
	n.onclick = () => {
		window.focus();
		n.close();
		location.assign("/inbox?ask=" + encodeURIComponent(a.dataset.ask!));
	};
}

const can = () => "Notification" in window && document.body.dataset.native === undefined;
const on = () => can() && Notification.permission === "granted" && localStorage.getItem(key) === "on";

async function toggle(): Promise<void> {
	if (on()) localStorage.removeItem(key);
	else if (await Notification.requestPermission() === "granted") localStorage.setItem(key, "on");
	show();
	const b = document.querySelector<HTMLElement>("[data-notify]");
	if (b) say(b.title);
}

/** show draws the button for notifications as they stand. */
function show(): void {
	for (const b of all<HTMLButtonElement>("[data-notify]")) {
		b.hidden = !can();
		const blocked = can() && Notification.permission === "denied";
		b.disabled = blocked;
		b.setAttribute("aria-pressed", String(on()));
		b.title = (blocked ? b.dataset.blocked : on() ? b.dataset.on : b.dataset.notify)!;
		b.setAttribute("aria-label", b.title);
	}
	const count = byId("asking")?.textContent?.trim();
	const app = navigator as Navigator & { setAppBadge?(n: number): Promise<void>; clearAppBadge?(): Promise<void> };
	void (count ? app.setAppBadge?.(Number(count)) : app.clearAppBadge?.())?.catch(() => {});
}
