// Finds what somebody means by a few letters. Every word of the query must be
// in the text: at the start of a word, within one, or at least its letters in
// order. The earlier of these wins, then what stands further left.

export interface Found {
	score: number;
	// at are the indices of the text's UTF-16 units that matched, in order.
	at: number[];
}

// find gives undefined when the text is not meant. An empty query means everything.
export function find(query: string, text: string): Found | undefined {
	const words = fold(query).split(/\s+/).filter(Boolean);
	const folded = fold(text);
	const at = new Set<number>();
	let score = 0;
	for (const word of words) {
		const found = one(word, folded);
		if (!found) return undefined;
		score += found.score;
		for (const i of found.at) at.add(i);
	}
	return { score: words.length ? score / words.length : 0, at: [...at].sort((a, b) => a - b) };
}

function one(word: string, text: string): Found | undefined {
	let best = -1;
	for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) {
		if (starts(text, i)) return { score: 100 - Math.min(i, 40) / 4, at: run(i, word.length) };
		if (best < 0) best = i;
	}
	if (best >= 0) return { score: 60 - Math.min(best, 40) / 4, at: run(best, word.length) };
	return scattered(word, text);
}

// scattered takes the letters in order, at starts of words where it can: "ns"
// means New session.
function scattered(word: string, text: string): Found | undefined {
	const at: number[] = [];
	let from = 0;
	let good = 0;
	for (const letter of word) {
		let i = text.indexOf(letter, from);
		if (i < 0) return undefined;
		for (let j = i; j >= 0; j = text.indexOf(letter, j + 1)) {
			if (j === from || starts(text, j)) {
				// Jumping ahead must leave the rest of the letters.
				if (subsequence(word.slice(at.length + 1), text.slice(j + 1))) i = j;
				break;
			}
		}
		if (i === from || starts(text, i)) good++;
		at.push(...run(i, letter.length));
		from = i + letter.length;
	}
	// Letters strewn over a long text mean nothing.
	if (good * 2 < [...word].length) return undefined;
	return { score: (30 * good) / [...word].length, at };
}

function subsequence(word: string, text: string): boolean {
	let from = 0;
	for (const letter of word) {
		const i = text.indexOf(letter, from);
		if (i < 0) return false;
		from = i + letter.length;
	}
	return true;
}

function starts(text: string, i: number): boolean {
	return i === 0 || !/[\p{L}\p{N}]/u.test(text[i - 1]!);
}

function run(from: number, length: number): number[] {
	return Array.from({ length }, (_, i) => from + i);
}

// fold makes letters comparable without moving any: each UTF-16 unit stays one.
function fold(text: string): string {
	let out = '';
	for (const unit of text) {
		const plain = unit.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
		out += plain.length === unit.length ? plain : unit.toLowerCase().length === unit.length ? unit.toLowerCase() : unit;
	}
	return out;
}
