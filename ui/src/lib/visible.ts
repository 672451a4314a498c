// Characters that nobody sees but that change what a text does or says:
// direction controls that show code in another order than it runs, Unicode tags
// that spell out orders, escape sequences. They are written so that they can be
// seen, in the form in which models are shown them.

// C0 without tab, line feed and carriage return; DEL and C1; Arabic letter mark,
// left-to-right and right-to-left marks; embeddings, overrides, isolates; tags.
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu;

/** visible writes the hidden characters of s so that they can be seen. */
export function visible(s: string): string {
	return s.replace(hidden, (c) => {
		const n = c.codePointAt(0)!;
		if (n < 0x20) return String.fromCodePoint(0x2400 + n);
		if (n === 0x7f) return '\u2421';
		return `⟦U+${n.toString(16).toUpperCase().padStart(4, '0')}⟧`;
	});
}

/** sentence writes words of the gateway as a sentence of their own. A name that begins it, as of a model, a key or a tool, stays as it is. */
export function sentence(s: string): string {
	const text = visible(s.trim());
	if (text === '') return '';
	const first = /^\S*\w[/._[]\w/.test(text) ? '' : [...text][0]!;
	return first.toUpperCase() + text.slice(first.length) + (/[.!?…:]$/.test(text) ? '' : '.');
}
