import { describe, expect, it } from 'vitest';
import { complete, readCommand } from './commands';

describe('commands', () => {
	it.each([
		['/new', 'new', ''], ['  /New ', 'new', ''], ['/rename A better title', 'rename', 'A better title'], ['/rename', 'rename', ''], ['/export jsonl', 'export', 'jsonl'],
		['/model', 'model', ''], ['/plan off', 'plan', 'off'], ['/plan', 'plan', ''], ['/model claude/opus', 'model', 'claude/opus'], ['/steer in two\nlines', 'steer', 'in two\nlines'], ['/steer\nbelow', 'steer', 'below'], ['/?', 'help', ''],
	])('%j is one', (text, name, argument) => expect(readCommand(text)).toMatchObject({ kind: 'command', command: { name }, argument }));

	it.each([
		['hello', 'hello'], ['hello /new', 'hello /new'], ['/', '/'], ['/ new', '/ new'], ['/etc/hosts is odd', '/etc/hosts is odd'], ['/2 of them', '/2 of them'], ['/*.go', '/*.go'], ['', ''],
		['//new is how to begin', '/new is how to begin'], ['//foo bar', '/foo bar'],
	])('%j is a message', (text, sent) => expect(readCommand(text)).toEqual({ kind: 'message', text: sent }));

	it.each([
		['/stpo', 'There is no command /stpo: did you mean /stop? To send it as a message, write //stpo'],
		['/Modl claude', 'There is no command /Modl: did you mean /model? To send it as a message, write //Modl'],
		['/frobnicate now', 'There is no command /frobnicate: /help lists them. To send it as a message, write //frobnicate'],
		['/compact', '/compact is not in this version yet. To send it as a message, write //compact'],
		['/skills of mine', '/skills is not in this version yet. To send it as a message, write //skills'],
		['/stop it', '/stop takes nothing behind it. To send it as a message, write //stop'],
		['/steer', '/steer needs something behind it: write /steer TEXT'],
	])('%j is refused', (text, why) => expect(readCommand(text)).toEqual({ kind: 'wrong', why }));

	it('complete what was begun', () => {
		expect(complete('/', true)).toHaveLength(16);
		expect(complete('/', false).map((c) => c.name)).toEqual(['new', 'sessions', 'resume', 'agent', 'model', 'plan', 'tools', 'context', 'help']);
		expect(complete('/e', true).map((c) => c.name)).toEqual(['export']);
		expect(complete('/new ', true)).toEqual([]);
		expect(complete('x/', true)).toEqual([]);
		expect(complete('/zzz', true)).toEqual([]);
	});
});
