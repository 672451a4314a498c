// Cuts Markdown into blocks as it grows. What stands before the last block
// can't change any more when text is added, so it is read once, keeps its object
// and is drawn once, however long the answer gets.
import type { Token, Tokens } from 'marked';
import { blockTokens, languageOf, type Links } from './render';

/** Block is a piece of Markdown that is drawn by itself. */
export interface Block {
	/** Where it begins in the text, in UTF-16 units. */
	readonly key: number;
	readonly raw: string;
	/** Set for code that stands by itself. */
	readonly code?: { readonly text: string; readonly lang: string; readonly open: boolean };
	/** Definitions that its links may refer to. */
	readonly links: Links;
	/** Set for a further part of a long list. */
	readonly goesOn?: boolean;
}

const none: Links = {};

/** Blocks cuts one text that grows. */
export class Blocks {
	#settled: Block[] = [];
	/** The text up to here is in settled. */
	#at = 0;
	#head = '';
	/** Definitions that are settled, and all of them. */
	#defined: Links = none;
	#links: Links = none;

	/** update gives the blocks of text, which is usually the last one with more behind it. */
	update(text: string): readonly Block[] {
		if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
		if (!text.startsWith(this.#head)) this.#reset();
		const tokens = blockTokens(text.slice(this.#at));
		let last = tokens.findLastIndex((t) => t.type !== 'space');
		// The word behind a dash that opens a list may make it something else, but
		// nothing makes two blocks one: marked joins only what stands side by side.
		if (last > 0 && joins(tokens[last - 1]!, tokens[last]!)) last--;
		let at = this.#at;
		for (const t of tokens.slice(0, Math.max(last, 0))) {
			this.#settle(t, at);
			at += t.raw.length;
		}
		this.#at = at;
		this.#head = text.slice(0, at);
		let links = this.#defined;
		const open: Block[] = [];
		for (const t of tokens.slice(Math.max(last, 0))) {
			if (t.type === 'def') links = define(links, t);
			else if (t.type !== 'space') open.push(...blocksOf(t, at, none));
			at += t.raw.length;
		}
		if (!same(links, this.#links)) {
			this.#links = links;
			this.#settled = this.#settled.map((b) => linked(b, links));
		}
		return [...this.#settled, ...open.map((b) => linked(b, this.#links))];
	}

	#reset(): void {
		this.#settled = [];
		this.#at = 0;
		this.#head = '';
		this.#defined = this.#links = none;
	}

	#settle(t: Token, at: number): void {
		if (t.type === 'space') return;
		if (t.type === 'def') this.#defined = define(this.#defined, t);
		else for (const b of blocksOf(t, at, none)) this.#settled.push(linked(b, this.#links));
	}
}

/** define adds a definition; the first of a label counts. */
function define(links: Links, t: Token): Links {
	if (t.type !== 'def' || Object.hasOwn(links, t.tag)) return links;
	return { ...links, [t.tag]: { href: t.href, title: t.title } };
}

function same(a: Links, b: Links): boolean {
	const keys = Object.keys(a);
	return keys.length === Object.keys(b).length && keys.every((k) => a[k]!.href === b[k]?.href && a[k]!.title === b[k].title);
}

/** Items of a list that are drawn together. A longer list is drawn in parts, each
 *  of which is drawn once, too. */
const part = 100;

function blocksOf(t: Token, key: number, links: Links): Block[] {
	if (t.type === 'list' && t.items.length > part) return partsOf(t as Tokens.List, key, links);
	if (t.type !== 'code' || t.codeBlockStyle === 'indented') return [{ key, raw: t.raw, links }];
	return [{ key, raw: t.raw, links, code: { text: t.text, lang: languageOf(t.lang), open: !closed(t.raw) } }];
}

function partsOf(list: Tokens.List, key: number, links: Links): Block[] {
	const out: Block[] = [];
	for (let i = 0; i < list.items.length; i += part) {
		const raw = list.items.slice(i, i + part).map((item) => item.raw).join('');
		out.push({ key, raw, links, ...(i > 0 ? { goesOn: true } : {}) });
		key += raw.length;
	}
	return out;
}

/** closed says whether a fence has its end. */
function closed(raw: string): boolean {
	const fence = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1];
	if (!fence) return true;
	const end = raw.trimEnd();
	const line = end.slice(end.lastIndexOf('\n') + 1).trim();
	return end.includes('\n') && line.length >= fence.length && line.split('').every((c) => c === fence[0]);
}

/** joins says whether marked may still read two tokens as one: text that goes on. */
function joins(a: Token, b: Token): boolean {
	const loose = (t: Token) => t.type === 'text' || t.type === 'paragraph' || (t.type === 'code' && t.codeBlockStyle === 'indented');
	return loose(a) && loose(b);
}

/** linked gives b the definitions when it may refer to one. */
function linked(b: Block, links: Links): Block {
	if (links === none || b.links === links || b.code || !b.raw.includes(']')) return b;
	return { ...b, links };
}
