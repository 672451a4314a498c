export interface Part {
	text: string;
	hit: boolean;
}

// mark cuts a text where it holds one of the words, whatever their case.
export function mark(text: string, words: string): Part[] {
	const wanted = words.split(/\s+/).filter(Boolean).map((w) => w.replace(/^["(]+|["*)]+$/g, '')).filter(Boolean);
	if (wanted.length === 0) return [{ text, hit: false }];
	// The longest first, so that "session" is marked whole where "sess" is wanted too.
	wanted.sort((a, b) => b.length - a.length);
	const any = new RegExp(wanted.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'giu');
	const parts: Part[] = [];
	let from = 0;
	for (const found of text.matchAll(any)) {
		if (found.index > from) parts.push({ text: text.slice(from, found.index), hit: false });
		parts.push({ text: found[0], hit: true });
		from = found.index + found[0].length;
	}
	if (from < text.length) parts.push({ text: text.slice(from), hit: false });
	return parts;
}
