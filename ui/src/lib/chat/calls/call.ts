// What is said of a tool call in one line, and how its result is best shown.
import { Exact, parseJSON, writeJSON } from '../../json';
import type { Media, Outcome, OutcomeStatus } from '../types';

/** State is how a call is, also while it has no outcome. */
export type State = OutcomeStatus | 'running' | 'asked';

/** words says a state to a person. */
export const words: Record<State, string> = {
	running: 'running',
	asked: 'waits for an answer',
	ok: 'done',
	error: 'failed',
	refused: 'refused',
	invalid: 'bad arguments',
	timeout: 'timed out',
	cancelled: 'stopped',
	panic: 'crashed',
	interrupted: 'interrupted',
	handed: 'with the client',
};

/** meanings says a state in a sentence. */
export const meanings: Record<State, string> = {
	running: 'The call is running.',
	asked: 'A person is asked whether the call may run.',
	ok: 'The call went through.',
	error: 'The tool ran and said that it failed.',
	refused: 'A rule said no. Nothing ran.',
	invalid: 'The arguments could not be used. Nothing ran.',
	timeout: 'The time limit ended the call. What it had done by then stands.',
	cancelled: 'The run was stopped, and the call with it.',
	panic: 'The tool’s own code broke. The gateway and the session are fine.',
	interrupted: 'The gateway went down while the call was open. Whether it ran is unknown.',
	handed: 'The API client that brought the tool runs the call. Its next message brings the result.',
};

/** The argument that says most about a call comes first. */
const telling = ['path', 'command', 'query', 'url', 'expression', 'pattern', 'sql', 'name', 'from', 'ref', 'when', 'id', 'mode', 'text', 'filter'];
/** Arguments that are shown in full when a call is opened, not in its line. */
const bulky = new Set(['content', 'patch', 'old', 'new', 'body', 'headers', 'json']);

const lineLength = 160;

/** brief says the arguments of a call in one line. */
export function brief(args: unknown): string {
	if (args === null || args === undefined) return '';
	if (typeof args !== 'object' || args instanceof Exact) return oneLine(String(args));
	if (Array.isArray(args)) return oneLine(writeJSON(args));
	const keys = Object.keys(args).filter((k) => !bulky.has(k));
	keys.sort((a, b) => rank(a) - rank(b));
	const parts = keys.map((k, i) => {
		const v = (args as Record<string, unknown>)[k];
		const said = typeof v === 'string' ? v : writeJSON(v);
		return i === 0 && telling.includes(k) ? said : `${k}: ${typeof v === 'string' && /[\s,]/.test(v) ? JSON.stringify(v) : said}`;
	});
	return oneLine(parts.join('  '));
}

function rank(key: string): number {
	const i = telling.indexOf(key);
	return i < 0 ? telling.length : i;
}

function oneLine(s: string): string {
	const line = s.replace(/\s+/g, (space) => (space.includes('\n') ? ' ⏎ ' : space === '  ' ? '  ' : ' ')).trim();
	return line.length > lineLength ? `${line.slice(0, lineLength - 1)}…` : line;
}

/** Category groups tools by what they act on; each has an icon. */
export type Category = 'file' | 'edit' | 'search' | 'shell' | 'web' | 'data' | 'memory' | 'compute' | 'time' | 'git' | 'output' | 'tool';

/** categoryOf tells it from a tool's name. */
export function categoryOf(name: string): Category {
	if (/^(file_(edit|write|move|delete)|apply_patch)$/.test(name)) return 'edit';
	if (name === 'read_output') return 'output';
	if (/(^|_)(search|grep|find)(_|$)/.test(name) && !name.startsWith('memory')) return 'search';
	if (/^file_/.test(name)) return 'file';
	if (/^(shell|exec|process|code|bash)/.test(name)) return 'shell';
	if (/^(http|web|browser|fetch)/.test(name)) return 'web';
	if (/^(db|sql|sheet|csv|json)/.test(name)) return 'data';
	if (/^memory/.test(name)) return 'memory';
	if (/^git/.test(name)) return 'git';
	if (/^(datetime|time|cron)/.test(name)) return 'time';
	if (/^(calc|regex|text|math)/.test(name)) return 'compute';
	return 'tool';
}

/** Shape is how a result is shown. */
export type Shape =
	| { kind: 'images'; images: Image[]; text: string }
	| { kind: 'diff'; diff: string; text: string }
	| { kind: 'table'; table: Table; json?: unknown; note?: string }
	| { kind: 'json'; value: unknown }
	| { kind: 'terminal'; text: string }
	| { kind: 'file'; path: string; text: string }
	| { kind: 'text'; text: string };

/** Image is a picture of a result; index is its place among the result's media. */
export interface Image extends Media {
	readonly index: number;
}

/** Table is rows of text under named columns. */
export interface Table {
	readonly columns: string[];
	readonly rows: string[][];
}

/** textOfOutcome is the text that the model sees. */
export function textOfOutcome(o: Outcome): string {
	let out = '';
	for (const p of o.content) if (p.kind === 'text' || p.kind === 'context') out += p.text ?? '';
	return out;
}

/** pictures are the types that a browser shows in place. */
export const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

/** shapeOf finds the best way to show the result of a call. */
export function shapeOf(o: Outcome): Shape {
	const text = textOfOutcome(o);
	const images = o.content
		.flatMap((p) => (p.kind === 'media' && p.media ? [p.media] : []))
		.map((m, index) => ({ ...m, index }))
		.filter((m) => pictures.has(m.mime));
	if (images.length > 0) return { kind: 'images', images, text };
	const details = object(o.details);
	const diff = details?.['diff'];
	if (typeof diff === 'string' && diff.trim()) return { kind: 'diff', diff, text };
	if (o.status !== 'ok') return { kind: 'text', text };
	const listed = Array.isArray(details?.['entries']) ? tableOf(details['entries']) : undefined;
	if (listed) return { kind: 'table', table: listed, note: leftOut(details!) };
	if (categoryOf(o.tool) === 'shell') return { kind: 'terminal', text };
	if (!o.ref) {
		const json = parse(text);
		if (json !== undefined) {
			const table = tableOf(json);
			return table ? { kind: 'table', table, json } : { kind: 'json', value: json };
		}
		const table = categoryOf(o.tool) === 'data' ? readCSV(text) : undefined;
		if (table) return { kind: 'table', table };
	}
	const path = details?.['path'];
	if (o.tool === 'file_read' && !o.ref && typeof path === 'string') return { kind: 'file', path, text };
	return { kind: 'text', text };
}

function leftOut(details: Record<string, unknown>): string | undefined {
	const left = details['left_out'];
	if (typeof left === 'number' && left > 0) return `${left.toLocaleString()} more are not listed`;
	return details['partial'] === true ? 'there may be more than was looked at' : undefined;
}

function object(v: unknown): Record<string, unknown> | undefined {
	return v !== null && typeof v === 'object' && !Array.isArray(v) ? (v as Record<string, unknown>) : undefined;
}

function parse(text: string): unknown {
	const t = text.trim();
	if (!/^[[{]/.test(t)) return undefined;
	try {
		return parseJSON(t);
	} catch {
		return undefined;
	}
}

/** tableOf reads a list of flat objects as a table; undefined when it is something else. */
export function tableOf(v: unknown): Table | undefined {
	if (!Array.isArray(v) || v.length === 0) return undefined;
	const columns: string[] = [];
	const seen = new Set<string>();
	for (const row of v) {
		const o = object(row);
		if (!o) return undefined;
		for (const [k, x] of Object.entries(o)) {
			if (x !== null && typeof x === 'object' && !(x instanceof Exact)) return undefined;
			if (!seen.has(k)) {
				seen.add(k);
				columns.push(k);
			}
		}
	}
	if (columns.length === 0 || columns.length > 40) return undefined;
	const cell = (x: unknown) => (x === undefined || x === null ? '' : String(x));
	return { columns, rows: v.map((row) => columns.map((c) => cell((row as Record<string, unknown>)[c]))) };
}

/** readCSV reads text as a table when every record has as many fields as the first line. */
export function readCSV(text: string): Table | undefined {
	const first = text.slice(0, text.indexOf('\n'));
	for (const separator of ['\t', ';', ',']) {
		if (!first.includes(separator)) continue;
		const records = fields(text, separator);
		const width = records[0]?.length ?? 0;
		if (records.length < 2 || width < 2 || records.some((r) => r.length !== width)) continue;
		if (records[0]!.some((h) => h.trim() === '' || h.length > 80)) continue;
		return { columns: records[0]!, rows: records.slice(1) };
	}
	return undefined;
}

/** fields cuts CSV into records (RFC 4180). */
function fields(text: string, separator: string): string[][] {
	const out: string[][] = [];
	let record: string[] = [];
	let field = '';
	let quoted = false;
	const end = () => {
		record.push(field);
		field = '';
	};
	for (let i = 0; i < text.length; i++) {
		const c = text[i]!;
		if (quoted) {
			if (c !== '"') field += c;
			else if (text[i + 1] === '"') {
				field += '"';
				i++;
			} else quoted = false;
		} else if (c === '"' && field === '') quoted = true;
		else if (c === separator) end();
		else if (c === '\n') {
			end();
			out.push(record);
			record = [];
		} else if (c !== '\r') field += c;
	}
	if (field !== '' || record.length > 0) {
		end();
		out.push(record);
	}
	return out;
}

/** isNumber says whether a column's cells stand to the right. */
export function isNumber(cells: string[]): boolean {
	const said = cells.filter((c) => c.trim() !== '');
	return said.length > 0 && said.every((c) => /^[-+]?[\d\s,.']*\d(\.\d+)?([eE][-+]?\d+)?\s?%?$/.test(c.trim()));
}

/** plain drops what drives a terminal's colours, in the form in which results show it. */
export function plain(text: string): string {
	return text.replace(/(?:\u001b|␛)\[[0-9;]*m/g, '');
}
