// What the viewer of a kept result asks read_output, and how its answer is read.

export type Mode = 'head' | 'tail' | 'lines' | 'search' | 'path' | 'rows' | 'stats';

/** fitting lists the modes that read a type, the likeliest first. */
export function fitting(type: string): Mode[] {
	switch (type) {
		case 'json':
		case 'jsonl':
		case 'html':
		case 'xml':
			return ['head', 'search', 'path', 'lines', 'tail', 'stats'];
		case 'csv':
			return ['rows', 'search', 'head', 'lines', 'tail', 'stats'];
		case 'binary':
			return ['head', 'search', 'tail', 'stats'];
	}
	return ['head', 'search', 'lines', 'tail', 'stats'];
}

export const modeNames: Record<Mode, string> = { head: 'From the start', tail: 'The end', lines: 'Lines', search: 'Search', path: 'Query', rows: 'Rows', stats: 'What it is' };

/** queryName says what a path is written in. */
export function queryName(type: string): string {
	return type === 'html' ? 'CSS selector' : type === 'xml' ? 'XPath' : 'jq query';
}

/** Question is what a person filled in. */
export interface Question {
	mode: Mode;
	query: string;
	regex: boolean;
	context: string;
	columns: string;
	filter: string;
	from: string;
	to: string;
}

export const blank: Question = { mode: 'head', query: '', regex: false, context: '', columns: '', filter: '', from: '', to: '' };

/** needsQuery says whether a question can't be asked without one. */
export function needsQuery(q: Question): boolean {
	return (q.mode === 'search' || q.mode === 'path') && q.query.trim() === '';
}

/** argsOf makes the arguments of read_output; at is where the page begins or ends. */
export function argsOf(ref: string, q: Question, at: Partial<Range> = {}): Record<string, unknown> {
	const args: Record<string, unknown> = { ref, mode: q.mode };
	const number = (s: string) => (/^-?\d+$/.test(s.trim()) ? Number(s) : undefined);
	const put = (name: string, v: unknown) => {
		if (v !== undefined && v !== '' && v !== false) args[name] = v;
	};
	if (q.mode === 'search' || q.mode === 'path') put('query', q.query);
	if (q.mode === 'search') {
		put('regex', q.regex);
		put('context', number(q.context));
	}
	if (q.mode === 'rows') {
		const columns = q.columns.split(',').map((c) => c.trim()).filter(Boolean);
		put('columns', columns.length > 0 ? columns.map((c) => (/^\d+$/.test(c) ? Number(c) : c)) : undefined);
		put('filter', q.filter.trim());
	}
	if (q.mode !== 'stats') {
		put('from', at.from ?? number(q.from));
		put('to', at.to ?? number(q.to));
	}
	return args;
}

/** Range is the part of a result that a page shows. */
export interface Range {
	from?: number;
	to?: number;
}

/** Answer is what read_output says, taken apart. */
export interface Answer {
	/** What it is, as the first line says. */
	head: string[];
	body: string;
	notes: string[];
	/** Where the answer goes on, or for an end what comes before it. */
	more?: Range;
	back: boolean;
}

/** readAnswer takes an answer apart. */
export function readAnswer(text: string): Answer {
	const out: Answer = { head: [], body: text, notes: [], back: false };
	const first = /^\[ref [0-9a-f]+((?: \| [^\n]*)?)\]\n?/.exec(text);
	if (first) {
		out.head = first[1]!.split(' | ').filter(Boolean);
		out.body = text.slice(first[0].length);
	}
	// Lines of the reader's own stand at the end, in brackets.
	for (;;) {
		const m = /(?:^|\n)\[([^\n]*)\]\n?$/.exec(out.body);
		if (!m || !first) break;
		const line = m[1]!;
		const more = /^(more|before): /.exec(line);
		if (more) {
			const from = /\bfrom: (-?\d+)/.exec(line);
			const to = /\bto: (-?\d+)/.exec(line);
			out.more = { ...(from ? { from: Number(from[1]) } : {}), ...(to ? { to: Number(to[1]) } : {}) };
			out.back = more[1] === 'before';
		} else if (out.notes.length > 0 || /^\s*[[{"\d]/.test(line)) break; // it belongs to the result
		else out.notes.unshift(line);
		out.body = out.body.slice(0, m.index);
	}
	return out;
}
