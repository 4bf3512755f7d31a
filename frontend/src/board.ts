// Pages that are a list, or say how one thing stands: what they show now, for the server to send the difference.
import { all } from "./dom";

type Rows = [id: string, version: string][];

/** board tells what this page shows of its board; nothing for a page without one, or while it is held still. */
export function board(): { board?: string; have?: Record<string, Rows> } {
	const el = document.querySelector<HTMLElement>("[data-board]");
	if (!el || el.dataset.held !== undefined) return {};
	const rows = (from: Iterable<Element>): Rows => [...from].filter((r): r is HTMLElement => r instanceof HTMLElement && r.dataset.v !== undefined).map((r) => [r.id, r.dataset.v!]);
	const have: Record<string, Rows> = { "": rows(all("[data-fixed] > [data-v]")) };
	for (const s of all<HTMLElement>("[data-rows]")) have[s.id] = rows(s.children);
	return { board: el.dataset.board || location.pathname + location.search, have };
}
