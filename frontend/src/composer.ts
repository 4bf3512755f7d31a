// Where the person writes: Enter sends, drafts survive, files come by picker, paste or drop.
import { all, byId, say } from "./dom";
import { until } from "./visit";
import { t } from "./words";

export function composer(): void {
	restore();
	document.addEventListener("parley:changed", restore);
	document.addEventListener("keydown", (e) => {
		// 229 is what WebKit reports while an input method is composing.
		if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229 || e.defaultPrevented) return;
		const box = e.target as HTMLElement;
		if (!(box instanceof HTMLTextAreaElement) || !(box.id === "say" || box.dataset.enter !== undefined)) return;
		e.preventDefault();
		if (box.value.trim() || box.form?.querySelector<HTMLInputElement>('input[type="file"]')?.files?.length) box.form?.requestSubmit();
	});
	document.addEventListener("input", (e) => {
		const form = (e.target as HTMLElement).closest<HTMLFormElement>("form[data-draft]");
		if (form) save(form);
	});
	document.addEventListener("parley:sent", sent, true);
	document.addEventListener("click", fill);
}

/** drafts: what is typed in a form, by field, under the form's own key. */
function fields(form: HTMLFormElement): (HTMLInputElement | HTMLTextAreaElement)[] {
	return all<HTMLInputElement | HTMLTextAreaElement>("textarea[name], input[name]", form)
		.filter((f) => f instanceof HTMLTextAreaElement || /^(text|number|date|datetime-local|email|url)$/.test(f.type));
}

export function save(form: HTMLFormElement): void {
	const typed = fields(form).filter((f) => f.value !== f.defaultValue).map((f) => [f.name, f.value]);
	if (typed.length) localStorage.setItem(form.dataset.draft!, JSON.stringify(typed));
	else localStorage.removeItem(form.dataset.draft!);
}

const restored = new WeakSet<Element>();

function restore(): void {
	for (const form of all<HTMLFormElement>("form[data-draft]")) {
		if (restored.has(form)) continue;
		restored.add(form);
		const typed = JSON.parse(localStorage.getItem(form.dataset.draft!) ?? "[]") as [string, string][];
		for (const f of fields(form)) {
			const was = typed.find(([name]) => name === f.name);
			if (was && !f.value) f.value = was[1];
		}
	}
}

function sent(e: Event): void {
	const form = e.target as HTMLFormElement;
	if (form.dataset.draft) localStorage.removeItem(form.dataset.draft);
	if (form.id !== "composer") return;
	const to = form.querySelector("select")!.value;
	form.reset();
	form.querySelector("select")!.value = to;
	form.querySelector<HTMLInputElement>('[name="message"]')!.value = crypto.randomUUID();
	picked(form);
	byId("say")?.focus();
	say(t("Sent"));
}

/** fill puts an example into the composer. */
function fill(e: MouseEvent): void {
	const chip = (e.target as HTMLElement).closest<HTMLElement>("[data-fill]");
	const text = byId("say") as HTMLTextAreaElement | null;
	if (!chip || !text) return;
	e.preventDefault();
	text.value = chip.dataset.fill!;
	text.form!.querySelector("select")!.value = chip.dataset.to!;
	text.focus();
	save(text.form!);
}

/** files lets them come by picker, paste or drop. */
export function files(): void {
	const form = byId("composer") as HTMLFormElement | null;
	const input = form?.querySelector<HTMLInputElement>('input[type="file"]');
	if (!form || !input) return;
	const add = (more: FileList | File[]) => {
		const dt = new DataTransfer();
		const max = Number(input.dataset.max);
		for (const f of [...(input.files ?? []), ...more]) {
			if (f.size <= max) dt.items.add(f);
			else say(t("%s is larger than a message may carry.", f.name));
		}
		input.files = dt.files;
		picked(form);
	};
	input.addEventListener("change", () => picked(form));
	form.addEventListener("click", (e) => {
		const drop = (e.target as HTMLElement).closest<HTMLElement>("[data-drop]");
		if (!drop) return;
		const dt = new DataTransfer();
		[...(input.files ?? [])].forEach((f, i) => String(i) !== drop.dataset.drop && dt.items.add(f));
		input.files = dt.files;
		picked(form);
	});
	form.addEventListener("paste", (e) => e.clipboardData?.files.length && add(e.clipboardData.files));
	// A file dropped anywhere must never navigate the window away.
	const signal = until();
	addEventListener("dragover", (e) => e.preventDefault(), { signal });
	addEventListener("drop", (e) => { e.preventDefault(); if (e.dataTransfer?.files.length) add(e.dataTransfer.files); }, { signal });
}

/** picked lists the chosen files, each with a way out. */
function picked(form: HTMLFormElement): void {
	const list = form.querySelector<HTMLElement>("[data-picked]")!;
	const files = [...(form.querySelector<HTMLInputElement>('input[type="file"]')!.files ?? [])];
	const max = Number(form.querySelector<HTMLInputElement>('input[type="file"]')!.dataset.max);
	list.hidden = !files.length;
	form.dispatchEvent(new Event("parley:picked"));
	list.replaceChildren(...files.map((f, i) => {
		const li = document.createElement("li");
		const b = document.createElement("button");
		li.className = f.size > max ? "tag fail" : "tag";
		b.type = "button";
		b.dataset.drop = String(i);
		b.setAttribute("aria-label", t("Leave out %s", f.name));
		b.textContent = "×";
		li.append(f.size > max ? t("%s is too large", f.name) + " " : `${f.name} `, b);
		return li;
	}));
}
