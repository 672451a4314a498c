// JSON as the gateway sends it. A number of JavaScript holds 53 bits: what it would
// change is kept as it was written, so that nobody approves or sends another one.

/** Exact is a number that no number of JavaScript is equal to. */
export class Exact {
	constructor(readonly text: string) {}

	toString(): string {
		return this.text;
	}

	// valueOf is near it: where one is counted with, that does.
	valueOf(): number {
		return Number(this.text);
	}

	toJSON(): string {
		return mark + this.text;
	}
}

// Marks a text that stands for a number; no other text begins so, since it is new with each page.
const mark = `\u0000${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`;
const marked = new RegExp(`"${mark.replace('\u0000', '\\\\u0000')}(-?[0-9.eE+-]+)"`, 'g');

// Only a text with one of these may hold such a number, most have none.
const suspicious = /[\d.]{16}|\d[eE][+-]?\d{2}/;
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** parseJSON is JSON.parse that loses nothing. */
export function parseJSON(text: string): unknown {
	if (!suspicious.test(text)) return JSON.parse(text);
	let found = false;
	const safe = text.replace(token, (t) => {
		if (t.startsWith('"') || digits(t) === digits(String(Number(t)))) return t;
		found = true;
		return `"${mark.replace('\u0000', '\\u0000')}${t}"`;
	});
	const near: unknown = JSON.parse(text);
	return !found ? near : JSON.parse(safe, (_, v: unknown) => (typeof v === 'string' && v.startsWith(mark) ? new Exact(v.slice(mark.length)) : v));
}

/** writeJSON is JSON.stringify for what parseJSON gave. */
export function writeJSON(value: unknown, indent?: number): string {
	const text = JSON.stringify(value, null, indent) as string | undefined;
	return (text ?? 'null').replace(marked, '$1');
}

/** digits is a number in one form: its digits without zeros around them, and where the point stands. */
function digits(n: string): string {
	const m = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(n);
	if (!m) return n; // Infinity
	const all = m[2]! + (m[3] ?? '');
	const from = all.replace(/^0+/, '');
	const held = from.replace(/0+$/, '');
	if (held === '') return '0';
	return `${m[1]}${held}e${from.length - held.length - (m[3]?.length ?? 0) + Number(m[4] ?? 0)}`;
}
