// The editor of a workflow: what is wrong with the file is said while it is written.
import { apply, byId, type Op } from "./dom";

const pause = 350; // ms without a key

export function workflow(): void {
	const text = byId("source") as HTMLTextAreaElement | null;
	const form = text?.form;
	if (!text || !form?.dataset.check) return;
	numbered(text);
	let timer = 0;
	let asked = 0;
	text.addEventListener("input", () => {
		clearTimeout(timer);
		timer = window.setTimeout(async () => {
			const turn = ++asked;
			try {
				const r = await fetch(form.dataset.check!, { method: "POST", body: new URLSearchParams({ source: text.value }), headers: { "Parley-Live": "1" } });
				if (r.ok && turn === asked) apply((await r.json() as { ops: Op[] }).ops);
			} catch { /* the next key asks again */ }
		}, pause);
	});
	text.addEventListener("keydown", (e) => {
		if (e.key === "s" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			form.requestSubmit();
		}
	});
	document.addEventListener("click", (e) => {
		const line = (e.target as HTMLElement).closest<HTMLElement>("[data-line]");
		if (!line) return;
		const before = text.value.split("\n").slice(0, Number(line.dataset.line) - 1);
		const at = before.reduce((n, l) => n + l.length + 1, 0) + Number(line.dataset.column) - 1;
		text.focus();
		text.setSelectionRange(at, at);
		text.scrollTop = Math.max(0, before.length * parseFloat(getComputedStyle(text).lineHeight) - text.clientHeight / 2);
	});
}

/** numbered shows the number of each line beside the file, and has them go along with it. */
function numbered(text: HTMLTextAreaElement): void {
	const beside = byId("source-lines");
	if (!beside) return;
	let lines = 0;
	const draw = () => {
		const n = text.value.split("\n").length;
		if (n !== lines) beside.textContent = Array.from({ length: (lines = n) }, (_, i) => i + 1).join("\n") + "\n";
		beside.scrollTop = text.scrollTop;
	};
	beside.hidden = false;
	text.addEventListener("input", draw);
	text.addEventListener("scroll", draw, { passive: true });
	draw();
}
