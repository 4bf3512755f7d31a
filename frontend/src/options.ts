// A list of options that the server drew, moved through with the keyboard while the focus stays in a field.
import { all, fragment } from "./dom";

export class Options {
	private asked = 0;
	constructor(readonly list: HTMLElement, readonly field: HTMLElement) {}

	/** load shows what the server answers; the last question wins. It reports whether there is anything; nothing when another was asked since. */
	async load(address: string): Promise<boolean | undefined> {
		const n = ++this.asked;
		const r = await fetch(address, { headers: { "Parley-Live": "1" } });
		if (n !== this.asked) return;
		if (r.status !== 200) { this.clear(); return false; }
		const html = await r.text();
		if (n !== this.asked) return;
		this.list.replaceChildren(fragment(html));
		const found = all<HTMLElement>('[role="option"]', this.list);
		found.forEach((o, i) => (o.id = `${this.list.id}-${i}`));
		this.list.role = found.length ? "listbox" : "status"; // which says that there is nothing
		this.field.removeAttribute("aria-activedescendant");
		this.move(0);
		return true;
	}

	clear(): void {
		this.asked++;
		this.list.replaceChildren();
		this.field.removeAttribute("aria-activedescendant");
	}

	get chosen(): HTMLAnchorElement | null { return this.list.querySelector('[aria-selected="true"]'); }

	/** move chooses another option: the first (0), or the one that many further on. */
	move(by: number): void {
		const os = all<HTMLAnchorElement>('[role="option"]', this.list);
		if (!os.length) return;
		const was = os.findIndex((o) => o.ariaSelected === "true");
		const at = by && was >= 0 ? (was + by + os.length) % os.length : 0;
		os.forEach((o, i) => (o.ariaSelected = String(i === at)));
		this.field.setAttribute("aria-activedescendant", os[at].id);
		os[at].scrollIntoView({ block: "nearest" });
	}

	/** key handles a key of the field; false when it is none of this list's. */
	key(e: KeyboardEvent): boolean {
		if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return false;
		e.preventDefault();
		this.move(e.key === "ArrowDown" ? 1 : -1);
		return true;
	}
}
