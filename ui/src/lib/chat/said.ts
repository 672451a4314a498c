// A person's message taken apart: their words, and the files that they gave. A
// file is in the agent's workspace, and a part of the message says where; what
// models are shown, such as a picture, is in the message as well.
import { bytes } from '../format';
import { textOf } from './model';
import type { Media, Message } from './types';

export interface GivenFile {
	readonly path: string;
	readonly mime: string;
	readonly size: string;
}

export interface SaidParts {
	readonly text: string;
	/** Files that are not in the message themselves. */
	readonly files: readonly GivenFile[];
	/** Media with their place in the message. */
	readonly media: readonly (Media & { readonly index: number })[];
	/** What an API client answered to calls of tools that it brought. */
	readonly results: readonly { readonly name: string; readonly text: string }[];
	/** The words with lines that name files, for saying them again; pictures go along as files. */
	readonly again: string;
}

// What is said again has its files as such lines: they are in the workspace.
const line = /^\[attached file: (.+), ([^,\s]+), ([^,\]]+)\]$/;

export function saidOf(m: Message): SaidParts {
	const media = m.parts.flatMap((p) => (p.kind === 'media' && p.media ? [p.media] : [])).map((x, index) => ({ ...x, index }));
	const lines = textOf(m.parts).split('\n');
	const named: GivenFile[] = [];
	while (lines.length > 0) {
		const found = line.exec(lines.at(-1)!);
		if (!found && !(lines.at(-1) === '' && named.length > 0)) break;
		if (found) named.unshift({ path: found[1]!, mime: found[2]!, size: found[3]! });
		lines.pop();
	}
	const text = lines.join('\n').trim();
	const given = m.parts.flatMap((p) => (p.kind === 'file' && p.media ? [{ path: p.media.name ?? '', mime: p.media.mime, size: bytes(p.media.size ?? 0) }] : []));
	// As many of a type as are in the message are shown there.
	const left = new Map<string, number>();
	for (const x of media) left.set(x.mime, (left.get(x.mime) ?? 0) + 1);
	const files = [...named, ...given].filter((f) => {
		const n = left.get(f.mime) ?? 0;
		left.set(f.mime, n - 1);
		return n <= 0;
	});
	const results = m.parts.flatMap((p) => (p.kind === 'result' && p.result ? [{ name: p.result.name, text: textOf(p.result.content) }] : []));
	return { text, files, media, results, again: withFiles(text, files) };
}

/** withFiles adds the lines that name files to words. */
export function withFiles(text: string, files: readonly GivenFile[]): string {
	const notes = files.map((f) => `[attached file: ${f.path}, ${f.mime}, ${f.size}]`).join('\n');
	return [text, notes].filter(Boolean).join('\n\n');
}

/** wordsOf is a message as words alone: its files, pictures too, are named by where they are. */
export function wordsOf(m: Message): string {
	return saidOf({ ...m, parts: m.parts.filter((p) => p.kind !== 'media') }).again;
}
