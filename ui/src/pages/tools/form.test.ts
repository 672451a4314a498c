import { expect, it } from 'vitest';
import { writeJSON } from '../../lib/json';
import { fieldsOf, fill } from './form';

const schema = {
	type: 'object',
	required: ['path'],
	additionalProperties: false,
	properties: {
		limit: { type: ['integer', 'null'], default: 50 },
		ratio: { type: 'number' },
		path: { type: 'string', description: 'Where.' },
		deep: { type: 'boolean' },
		mode: { enum: ['fast', 2] },
		names: { type: 'array', items: { type: 'string' } },
		either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
	},
};

it('makes a field of each property, those that must be given first', () => {
	expect(fieldsOf(schema)!.map((f) => [f.name, f.kind, f.required, f.hint])).toEqual([
		['path', 'text', true, ''],
		['limit', 'integer', false, '50'],
		['ratio', 'number', false, ''],
		['deep', 'boolean', false, ''],
		['mode', 'choice', false, ''],
		['names', 'json', false, ''],
		['either', 'json', false, ''],
	]);
	expect(fieldsOf(schema)!.find((f) => f.name === 'mode')!.choices).toEqual(['"fast"', '2']);
});

it.each([[undefined], [true], [{}], [{ type: 'object', additionalProperties: true, properties: {} }]])('leaves %j to be written as JSON', (s) => {
	expect(fieldsOf(s)).toBeUndefined();
});

it('reads what was written as what is wanted', () => {
	const written = { path: ' a ', limit: '3', ratio: '0.5', deep: 'false', mode: '2', names: '["x"]', either: '' };
	expect(fill(fieldsOf(schema)!, written)).toEqual({ args: { path: ' a ', limit: 3, ratio: 0.5, deep: false, mode: 2, names: ['x'] }, faults: {} });
});

it('sends numbers as they were written', () => {
	const { args } = fill(fieldsOf(schema)!, { limit: '9007199254740993', ratio: '0.12345678901234567890', names: '[12345678901234567890]', path: 'a' });
	expect(writeJSON(args)).toBe('{"path":"a","limit":9007199254740993,"ratio":0.12345678901234567890,"names":[12345678901234567890]}');
});

it('says which field can not be read', () => {
	const { args, faults } = fill(fieldsOf(schema)!, { limit: '1.5', ratio: 'much', names: '[', path: '' });
	expect(args).toEqual({});
	expect(Object.keys(faults)).toEqual(['limit', 'ratio', 'names']);
});
