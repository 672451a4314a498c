// Reads a unified diff, or a patch in the form of apply_patch, for showing it,
// and makes one of an old and a new text.

export interface Line {
	readonly kind: 'add' | 'remove' | 'same' | 'hunk' | 'file' | 'note';
	readonly text: string;
	/** Line numbers in the old and the new text, where they are known. */
	readonly old?: number;
	readonly new?: number;
}

const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** readDiff takes a diff apart line by line. */
export function readDiff(diff: string): Line[] {
	const out: Line[] = [];
	let from = 0;
	let to = 0;
	let numbered = false;
	const lines = diff.replace(/\r\n/g, '\n').split('\n');
	if (lines.at(-1) === '') lines.pop();
	for (const [i, line] of lines.entries()) {
		const h = hunk.exec(line);
		if (h) {
			from = Number(h[1]);
			to = Number(h[2]);
			numbered = true;
			out.push({ kind: 'hunk', text: h[3]!.trim() ? `@@ ${h[3]!.trim()}` : `line ${to}` });
		} else if (line.startsWith('--- ') && (lines[i + 1] ?? '').startsWith('+++ ')) {
			numbered = false; // the next line names the file
		} else if (line.startsWith('+++ ') && (lines[i - 1] ?? '').startsWith('--- ')) {
			const name = line.slice(4).replace(/^b\//, '');
			out.push({ kind: 'file', text: name === '/dev/null' ? lines[i - 1]!.slice(4).replace(/^a\//, '') : name });
		} else if (line.startsWith('*** ')) {
			numbered = false;
			if (!/^\*\*\* (Begin|End) Patch/.test(line)) out.push({ kind: 'file', text: line.slice(4) });
		} else if (line.startsWith('@@')) {
			numbered = false;
			out.push({ kind: 'hunk', text: line });
		} else if (line.startsWith('\\')) {
			out.push({ kind: 'note', text: line.slice(1).trim() });
		} else if (line.startsWith('+')) {
			out.push({ kind: 'add', text: line.slice(1), ...(numbered ? { new: to++ } : {}) });
		} else if (line.startsWith('-')) {
			out.push({ kind: 'remove', text: line.slice(1), ...(numbered ? { old: from++ } : {}) });
		} else if (line.startsWith(' ') || line === '') {
			out.push({ kind: 'same', text: line.slice(1), ...(numbered ? { old: from++, new: to++ } : {}) });
		} else {
			out.push({ kind: 'note', text: line });
		}
	}
	return out;
}

/** changed counts the lines of a diff that were added and removed. */
export function changed(lines: readonly Line[]): { added: number; removed: number } {
	let added = 0;
	let removed = 0;
	for (const l of lines) {
		if (l.kind === 'add') added++;
		if (l.kind === 'remove') removed++;
	}
	return { added, removed };
}

const context = 3;

/** compare shows how a text was to change: what both have at their beginning and
 *  end stays, all between is replaced. */
export function compare(before: string, after: string): Line[] {
	const a = before === '' ? [] : before.replace(/\n$/, '').split('\n');
	const b = after === '' ? [] : after.replace(/\n$/, '').split('\n');
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	return [
		...a.slice(Math.max(0, head - context), head).map((text) => ({ kind: 'same' as const, text })),
		...a.slice(head, a.length - tail).map((text) => ({ kind: 'remove' as const, text })),
		...b.slice(head, b.length - tail).map((text) => ({ kind: 'add' as const, text })),
		...a.slice(a.length - tail, a.length - tail + context).map((text) => ({ kind: 'same' as const, text })),
	];
}

/** wanted is the change that a call asked for, for when it did not come to it. */
export function wanted(tool: string, args: unknown): Line[] | undefined {
	if (args === null || typeof args !== 'object') return undefined;
	const a = args as Record<string, unknown>;
	const text = (v: unknown) => (typeof v === 'string' ? v : undefined);
	if (tool === 'file_edit' && text(a['old']) !== undefined && text(a['new']) !== undefined) return compare(text(a['old'])!, text(a['new'])!);
	if (tool === 'file_write' && text(a['content']) !== undefined) return compare('', text(a['content'])!);
	if (tool === 'apply_patch' && text(a['patch']) !== undefined) return readDiff(text(a['patch'])!);
	return undefined;
}
