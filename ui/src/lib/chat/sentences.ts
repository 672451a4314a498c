// Turns an answer that grows into sentences for a screen reader, so that it is
// read as it is meant and not in pieces of words.

import { plural } from '../format';

/** Sentences gives what is new of a text, in whole sentences. */
export class Sentences {
	#said = 0;

	/** next gives the sentences behind those that were given; all that is left
	 *  when the text is at its end. */
	next(text: string, ended: boolean): string {
		if (text.length < this.#said) this.#said = 0; // it began anew
		const fresh = text.slice(this.#said);
		const n = ended ? fresh.length : lastEnd(fresh);
		this.#said += n;
		return spoken(fresh.slice(0, n));
	}

	/** skip holds text to be said. */
	skip(text: string): void {
		this.#said = text.length;
	}
}

/** lastEnd is where the last whole sentence of s ends. An open block of code is none. */
function lastEnd(s: string): number {
	let end = 0;
	for (const m of s.matchAll(/[.!?…:](?=\s)|[。！？]|\n/g)) end = m.index + m[0].length;
	const fences = [...s.slice(0, end).matchAll(/^ {0,3}(?:```|~~~)/gm)];
	return fences.length % 2 === 1 ? fences.at(-1)!.index : end;
}

/** spoken is Markdown as it is read aloud. */
export function spoken(s: string): string {
	return s
		.replace(/^ {0,3}(```|~~~)[^\n]*\n([^]*?)(?:^ {0,3}\1[ \t]*$|(?![^]))/gm, (_, __, code: string) => `Code, ${plural(code.split('\n').length - 1, 'line')}.\n`)
		.replace(/!\[([^\]]*)\]\([^)]*\)/g, 'Image: $1')
		.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/gm, '')
		.replace(/^ {0,3}#{1,6}\s+/gm, '')
		.replace(/^\s*[-*+]\s+(\[[ x]\]\s+)?/gm, '')
		.replace(/^\s*>\s?/gm, '')
		.replace(/(\*\*|__|~~|`)/g, '')
		.replace(/(^|[^\w*])[*_](?=\S)([^*_\n]+?)[*_](?!\w)/g, '$1$2')
		.replace(/\|/g, ' ')
		.replace(/[ \t]+/g, ' ')
		.replace(/\s*\n\s*/g, '\n')
		.trim();
}
