import { describe, expect, it } from 'vitest';
import { complete, readCommand } from './commands';

describe('commands', () => {
	it.each([
		['/new', 'command'], ['/New ', 'command'], ['/rename A better title', 'command'], ['/export', 'command'], ['/export jsonl', 'command'],
		['/stpo', 'unknown'], ['/etc/hosts', 'message'], ['/etc/hosts is odd', 'message'], ['/new things please', 'message'], ['/foo bar', 'message'],
		[' /new', 'message'], ['hello /new', 'message'], ['/', 'message'], ['/rename a\nb', 'message'], ['', 'message'],
	])('%j is a %s', (text, kind) => expect(readCommand(text).kind).toBe(kind));

	it('have their argument', () => {
		expect(readCommand('/rename  A title ')).toMatchObject({ command: { name: 'rename' }, argument: 'A title' });
	});

	it('complete what was begun', () => {
		expect(complete('/', true)).toHaveLength(9);
		expect(complete('/', false).map((c) => c.name)).toEqual(['new', 'tools', 'context', 'help']);
		expect(complete('/e', true).map((c) => c.name)).toEqual(['export']);
		expect(complete('/new ', true)).toEqual([]);
		expect(complete('x/', true)).toEqual([]);
		expect(complete('/zzz', true)).toEqual([]);
	});
});
