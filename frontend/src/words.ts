// What the script says is in the reader's language too: the server puts the translations of scriptWords into the page.
const words = JSON.parse(document.body.dataset.words || "{}") as Record<string, string>;

/** t returns a sentence in the reader's language, its verbs %s and %[1]s replaced by args. */
export function t(en: string, ...args: (string | number)[]): string {
	let i = 0;
	return (words[en] ?? en).replace(/%(?:\[(\d+)\])?[sd]/g, (_, n: string | undefined) => String(args[n ? Number(n) - 1 : i++] ?? ""));
}
