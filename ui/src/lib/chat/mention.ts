// A file that a person names while they write: @ and any part of its path. What
// they choose stands in the message as the plain path, as the tools take it.
import type { WorkspaceFile } from './types';

/** Mention is such a word in a text. */
export interface Mention {
	/** Where it begins, and where what a choice replaces ends. */
	readonly from: number;
	readonly to: number;
	/** What is written of the path before the caret. */
	readonly query: string;
}

const longest = 200; // characters of a query

// An @ begins a mention at the beginning of a word. In quotes it may have spaces.
const word = /(?:^|[\s([{"'`])@(?:"([^"\n]*)|([^\s"@]*))$/;

/** mentionAt finds the mention that the caret stands in. */
export function mentionAt(text: string, caret: number): Mention | undefined {
	const before = text.slice(0, caret);
	const m = word.exec(before);
	if (!m) return undefined;
	const quoted = m[1] !== undefined;
	const query = m[1] ?? m[2]!;
	if (query.length > longest) return undefined;
	const behind = text.slice(caret);
	const rest = quoted ? /^"?/.exec(behind)! : /^[^\s"'`@,;:()[\]{}]*/.exec(behind)!;
	return { from: caret - query.length - (quoted ? 2 : 1), to: caret + rest[0].length, query };
}

/** written is a path as it stands in a message. */
export function written(path: string): string {
	return /[\s"'`]/.test(path) ? JSON.stringify(path) : path;
}

/** withFile puts a file in place of a mention and says where the caret stands then.
 *  A folder is gone into, and taken itself when it is chosen there once more. */
export function withFile(text: string, m: Mention, f: WorkspaceFile): { text: string; caret: number } {
	const before = text.slice(0, m.from);
	const behind = text.slice(m.to);
	const path = f.folder ? `${f.path}/` : f.path;
	if (f.folder && m.query !== path && !path.includes('"')) {
		const [open, shut] = /\s/.test(path) ? ['@"', '"'] : ['@', ''];
		return { text: before + open + path + shut + behind, caret: (before + open + path).length };
	}
	const put = written(path);
	const space = behind.startsWith(' ') ? '' : ' ';
	return { text: before + put + space + behind, caret: (before + put).length + 1 };
}

/** fits says whether the characters of a query occur in a path in their order: what is shown stays while the gateway looks again. */
export function fits(query: string, path: string): boolean {
	const low = path.toLowerCase();
	let at = 0;
	for (const c of query.toLowerCase()) {
		const i = low.indexOf(c, at);
		if (i < 0) return false;
		at = i + c.length;
	}
	return true;
}
