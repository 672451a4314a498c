import { describe, expect, test } from 'vitest';
import { Exact, parseJSON, writeJSON } from './json';

describe('numbers', () => {
	test.each([
		'9007199254740993', '-9007199254740993', '123456789012345678901234567890', '0.1234567890123456789', '1e400', '-1.5E-400', '3.00000000000000000001',
	])('%s stays as it is', (n) => {
		const text = `{"a":[${n},1],"b":"${n}"}`;
		const v = parseJSON(text) as { a: [Exact, number]; b: string };
		expect(v.a[0]).toBeInstanceOf(Exact);
		expect(String(v.a[0])).toBe(n);
		expect(v.a[1]).toBe(1);
		expect(v.b).toBe(n);
		expect(writeJSON(v)).toBe(text);
		expect(writeJSON(v.a[0])).toBe(n);
		expect(writeJSON(v, 2)).toBe(`{\n  "a": [\n    ${n},\n    1\n  ],\n  "b": "${n}"\n}`);
	});

	test.each(['9007199254740992', '9007199254740994', '0.1', '100000000000000000000', '1e21', '1.0e+25', '5.000000000000000000', '-0', '0.00000000000000000', '2.5e-7', '1234567.1234567e-3'])(
		'%s is an ordinary one', (n) => expect(parseJSON(`[${n}]`)).toEqual([Number(n)]));
});

test('texts are left alone', () => {
	for (const s of ['12345678901234567890', 'a "9007199254740993" \\ b', '\u0000', 'x: 9007199254740993,', '\\']) {
		expect(parseJSON(JSON.stringify({ [s]: s, n: 1 }))).toEqual({ [s]: s, n: 1 });
		expect(JSON.parse(writeJSON({ [s]: s }))).toEqual({ [s]: s });
	}
	expect(parseJSON('{"12345678901234567890":9007199254740993}')).toEqual({ '12345678901234567890': new Exact('9007199254740993') });
});

test('what is no JSON is none', () => {
	for (const text of ['', '{', '[9007199254740993', '09007199254740993', '[9007199254740993.]', '"9007199254740993', '[1 9007199254740993]', '{9007199254740993: 1}', "['9007199254740993']"]) {
		expect(() => parseJSON(text), text).toThrow(SyntaxError);
	}
});

test('what JSON has no word for is null', () => expect(writeJSON(undefined)).toBe('null'));
