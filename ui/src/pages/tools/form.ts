// A form for the arguments of a call, made from the schema of a tool.

import { parseJSON, writeJSON } from '../../lib/json';

export interface Field {
	name: string;
	kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';
	about: string;
	required: boolean;
	// choices are the values that are allowed, as JSON.
	choices: string[];
	// hint says what stands when nothing is given.
	hint: string;
}

type Schema = Record<string, unknown>;

function object(v: unknown): Schema | undefined {
	return v !== null && typeof v === 'object' && !Array.isArray(v) ? (v as Schema) : undefined;
}

// typeOf is the type of a schema beside null, when it has one alone.
function typeOf(s: Schema): string {
	const types = (Array.isArray(s.type) ? s.type : [s.type]).filter((t) => typeof t === 'string' && t !== 'null');
	return types.length === 1 ? String(types[0]) : '';
}

function kindOf(s: Schema): Field['kind'] {
	if (Array.isArray(s.enum) && s.enum.length > 0) return 'choice';
	switch (typeOf(s)) {
		case 'string':
			return 'text';
		case 'number':
			return 'number';
		case 'integer':
			return 'integer';
		case 'boolean':
			return 'boolean';
		default:
			return 'json';
	}
}

// fieldsOf are the fields of a schema's properties, those that must be given
// first; undefined when it is no object with properties of its own.
export function fieldsOf(parameters: unknown): Field[] | undefined {
	const s = object(parameters);
	const properties = object(s?.properties);
	if (!s || !properties || s.additionalProperties === true) return undefined;
	const required = new Set(Array.isArray(s.required) ? s.required : []);
	const all = Object.entries(properties).map(([name, value]): Field => {
		const p = object(value) ?? {};
		return {
			name,
			kind: kindOf(p),
			about: typeof p.description === 'string' ? p.description : '',
			required: required.has(name),
			choices: Array.isArray(p.enum) ? p.enum.map((v) => writeJSON(v)) : [],
			hint: p.default === undefined ? '' : writeJSON(p.default),
		};
	});
	return [...all.filter((f) => f.required), ...all.filter((f) => !f.required)];
}

// exact is the number that was written, which n may only be near to.
function exact(text: string, n: number): unknown {
	try {
		return parseJSON(text);
	} catch {
		return n; // as +5 or .5 are written
	}
}

export interface Filled {
	args: Record<string, unknown>;
	// faults say by field why what was written can't be sent.
	faults: Record<string, string>;
}

// fill makes arguments of what was written. A field that is empty is left out:
// what is missing, the tool says as it says it to a model.
export function fill(fields: Field[], written: Record<string, string>): Filled {
	const out: Filled = { args: {}, faults: {} };
	for (const f of fields) {
		const text = written[f.name] ?? '';
		if (text === '' || (f.kind !== 'text' && text.trim() === '')) continue;
		if (f.kind === 'text') {
			out.args[f.name] = text;
		} else if (f.kind === 'number' || f.kind === 'integer') {
			const n = Number(text);
			if (!Number.isFinite(n)) out.faults[f.name] = 'This is no number.';
			else if (f.kind === 'integer' && !Number.isInteger(n)) out.faults[f.name] = 'A whole number is wanted.';
			else out.args[f.name] = exact(text.trim(), n);
		} else {
			try {
				out.args[f.name] = parseJSON(text);
			} catch (err) {
				out.faults[f.name] = `This is no JSON: ${(err as Error).message}`;
			}
		}
	}
	return out;
}
