// One socket a window. It says where the page stands, gets what happened since, and after a break goes on from there.
import { t } from "./words";
import { apply, byId, type Op } from "./dom";
import { board } from "./board";
import { heard, scroller } from "./page";

interface Frame { room?: string; seq?: number; last?: number; reload?: boolean; lang?: string; ops: Op[] }

const waits = [200, 500, 1000, 2000, 4000, 8000];

export function live(): void {
	if (document.body.dataset.room === undefined) return;
	const at = { ...place(), bundle: "" };
	const script = document.querySelector<HTMLScriptElement>("script[type=module]")!.src;
	const style = document.querySelector<HTMLLinkElement>("link[rel=stylesheet]")!.href;
	at.bundle = [script, style].map((a) => new URL(a).pathname).join(" ");
	let queue: Frame[] = [];
	let drawing = false;
	let held = 0; // until when nothing is drawn
	let tries = 0;
	let socket: WebSocket | undefined;
	let timer = 0;

	function draw(): void {
		if (performance.now() < held) { // what is being pressed must be there to be clicked
			setTimeout(draw, 20);
			return;
		}
		drawing = false;
		const frames = queue;
		queue = [];
		const ops = frames.flatMap((f) => f.ops);
		scroller.keep(() => apply(ops));
		if (frames.some((f) => f.room)) heard();
	}

	function take(f: Frame): void {
		if (f.reload || f.lang && f.lang !== document.documentElement.lang && !typing() && Date.now() - left > 10_000) return location.reload();
		if (f.room !== undefined) at.room = f.room;
		if (f.seq !== undefined) at.seq = f.seq;
		if (f.last) at.last = f.last;
		if (!f.ops?.length) return;
		queue.push(f);
		if (drawing) return;
		drawing = true;
		document.hidden ? setTimeout(draw, 100) : requestAnimationFrame(draw);
	}

	function open(): void {
		clearTimeout(timer);
		if (socket && socket.readyState < WebSocket.CLOSING) return;
		const ws = (socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/ws"));
		ws.onopen = () => ws.send(JSON.stringify({ ...at, ...board() }));
		ws.onmessage = (e) => {
			if (socket !== ws) return;
			tries = 0;
			show("on", t("Live"));
			take(JSON.parse(e.data) as Frame);
		};
		ws.onclose = () => {
			if (socket !== ws) return;
			show("off", t("Connection lost, catching up"));
			// A session that has ended, or a chat that was deleted, says so in its own page.
			if (tries > 1) fetch(location.href, { method: "HEAD" }).then((r) => (r.status === 401 || r.status === 404) && location.reload(), () => {});
			timer = setTimeout(open, waits[Math.min(tries++, waits.length - 1)] * (0.75 + Math.random() / 2));
		};
	}

	document.addEventListener("pointerdown", (e) => (e.target as Element).closest("a, button, summary, label, input, select") && (held = performance.now() + 1000));
	for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => setTimeout(() => (held = 0)));
	addEventListener("beforeunload", () => (left = Date.now()));
	const again = () => { const ws = socket; socket = undefined; ws?.close(); open(); };
	document.addEventListener("parley:again", again);
	document.addEventListener("parley:visited", () => {
		Object.assign(at, place());
		queue = [];
		again();
	});
	addEventListener("online", open);
	addEventListener("pageshow", (e) => e.persisted && open());
	addEventListener("pagehide", () => { const ws = socket; socket = undefined; ws?.close(); });
	document.addEventListener("visibilitychange", () => !document.hidden && open());
	open();
}

/** place is where the page stands. */
function place() {
	const d = document.body.dataset;
	return { conversation: d.conversation ?? "", last: Number(d.last), room: d.room ?? "", seq: Number(d.seq) };
}

let left = 0; // when the page was last about to be left: it is on its way to the next one, and must not be called back

/** typing tells whether a reload would lose what somebody is writing. A draft is kept by itself. */
function typing(): boolean {
	const at = document.activeElement;
	return (at instanceof HTMLTextAreaElement || at instanceof HTMLInputElement) && at.id !== "say" && at.value !== at.defaultValue;
}

function show(state: string, word: string): void {
	const dot = byId("live");
	const text = byId("live-word");
	if (!dot || !text || dot.dataset.state === state && text.textContent === word) return;
	dot.dataset.state = state;
	text.textContent = word;
	document.documentElement.dataset.live = state;
}
