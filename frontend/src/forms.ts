// Plain forms, sent without leaving the page. What they cause arrives over the socket, in every window.
import { t } from "./words";
import { focus, fragment, say, toast } from "./dom";
import { until } from "./visit";

export function forms(): void {
	document.addEventListener("submit", (e) => {
		const form = e.target as HTMLFormElement;
		if (form.dataset.busy) {
			const b = e.submitter as HTMLButtonElement | null;
			if (b) { b.setAttribute("aria-busy", "true"); b.textContent = form.dataset.busy + " …"; }
			say(form.dataset.busy);
		}
		if (form.dataset.live === undefined) return;
		e.preventDefault();
		void send(form, e.submitter);
	});
}

async function send(form: HTMLFormElement, submitter: HTMLElement | null): Promise<void> {
	const at = submitter ?? form;
	const busy = submitter?.hasAttribute("formaction") ? submitter : form; // a form of many actions is not busy with one
	if (busy.ariaBusy === "true") return;
	const data = new FormData(form, submitter);
	const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data as unknown as Record<string, string>);
	busy.ariaBusy = "true";
	const left = until();
	const action = submitter?.hasAttribute("formaction") ? (submitter as HTMLButtonElement).formAction : form.action;
	fault(form, at, "");
	try {
		const r = await fetch(action, { method: "POST", body, headers: { "Parley-Live": "1" } });
		if (r.status === 401) return location.reload();
		if (r.ok) { form.dispatchEvent(new Event("parley:sent")); form.closest("dialog")?.close(); }
		if (left.aborted) { // whoever has gone to another chat stays there
			if (!r.ok) toast(fragment(await r.text()));
			else if (!form.isConnected && form.dataset.draft) localStorage.removeItem(form.dataset.draft);
			return;
		}
		if (r.status === 201) return location.assign(r.headers.get("Location") ?? "/");
		if (r.ok) return;
		const html = await r.text();
		if (r.headers.get("Parley-Replace")) {
			form.replaceWith(fragment(html));
			const wrong = document.querySelector<HTMLInputElement>('[aria-invalid="true"]');
			focus(wrong);
			if (wrong?.type === "text") wrong.setSelectionRange(wrong.value.length, wrong.value.length);
			return;
		}
		fault(form, at, html);
	} catch {
		const words = t("Parley did not answer. What you wrote is still here; send it again when the connection is back.");
		left.aborted ? toast(new Text(words)) : fault(form, at, "", words);
	} finally {
		busy.ariaBusy = null;
	}
}

/** fault puts what went wrong where it went wrong: into the form's own slot, or behind what was pressed. */
function fault(form: HTMLFormElement, at: HTMLElement, html: string, words = ""): void {
	const place = at.closest(".card, .pulse, .msg, .mine") ?? form;
	let slot = form.querySelector("[data-fault]") ?? place.querySelector(":scope > [data-fault]");
	if (!slot && (html || words)) {
		slot = place.appendChild(document.createElement("div"));
		slot.setAttribute("data-fault", "");
	}
	slot?.replaceChildren(fragment(html));
	if (words) {
		const p = slot!.appendChild(document.createElement("p"));
		p.className = "err";
		p.role = "alert";
		p.textContent = words;
	}
	slot?.scrollIntoView?.({ block: "nearest" });
}
