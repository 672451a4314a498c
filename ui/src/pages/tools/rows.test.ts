import { expect, it } from 'vitest';
import { rows, sift, type Surface } from './rows';

const surface = {
	offered: [
		{ name: 'file_write', description: 'Writes a file.\nMore of it.', owner: 'family files', category: 'files', read_only: false, parameters: {} },
		{ name: 'calc', description: 'Exact arithmetic.', owner: 'family text', read_only: true, parameters: {} },
	],
	permitted_not_offered: [{ name: 'memory_get', description: 'Reads a record.', owner: 'memory', read_only: true, parameters: {} }],
	removed: [{ tool: 'shell', layer: 'policy', rule: 'no-shell', reason: 'The agent may not run commands.' }],
} as unknown as Surface;

it('lists every tool once, by name', () => {
	expect(rows(surface).map((r) => [r.name, r.state, r.about])).toEqual([
		['calc', 'offered', 'Exact arithmetic.'],
		['file_write', 'offered', 'Writes a file.'],
		['memory_get', 'permitted', 'Reads a record.'],
		['shell', 'removed', 'The agent may not run commands.'],
	]);
	expect(rows({} as Surface)).toEqual([]);
});

it.each([
	['', '', ['calc', 'file_write', 'memory_get', 'shell']],
	['', 'offered', ['calc', 'file_write']],
	['FILES write', '', ['file_write']],
	['policy', '', ['shell']],
	['no-shell commands', 'removed', ['shell']],
	['shell', 'offered', []],
])('words %j and state %j', (words, state, want) => {
	expect(sift(rows(surface), words, state).map((r) => r.name)).toEqual(want);
});
