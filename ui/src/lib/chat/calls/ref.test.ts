import { describe, expect, it } from 'vitest';
import { argsOf, blank, fitting, needsQuery, readAnswer } from './ref';

describe('a kept result', () => {
	it('is asked for what was filled in', () => {
		expect(argsOf('abc', { ...blank, mode: 'search', query: 'x', regex: true, context: '2', filter: 'ignored' })).toEqual({ ref: 'abc', mode: 'search', query: 'x', regex: true, context: 2 });
		expect(argsOf('abc', { ...blank, mode: 'rows', columns: 'name, 2', filter: 'a > 1', from: '5' })).toEqual({ ref: 'abc', mode: 'rows', columns: ['name', 2], filter: 'a > 1', from: 5 });
		expect(argsOf('abc', { ...blank, mode: 'lines', from: 'x', to: '-3' }, { from: 101 })).toEqual({ ref: 'abc', mode: 'lines', from: 101, to: -3 });
		expect(argsOf('abc', { ...blank, mode: 'stats', from: '5' })).toEqual({ ref: 'abc', mode: 'stats' });
		expect(needsQuery({ ...blank, mode: 'search' })).toBe(true);
		expect(needsQuery({ ...blank, mode: 'head' })).toBe(false);
	});

	it('has modes by its type', () => {
		expect(fitting('csv')[0]).toBe('rows');
		expect(fitting('json')).toContain('path');
		expect(fitting('binary')).not.toContain('lines');
		expect(fitting('text')).not.toContain('rows');
	});

	it('answers in parts', () => {
		expect(readAnswer('[ref a3f8c2d10123abcd | search "took 7 ms" | 20 matches in 20 of 2000 lines | matches 3-5]\n202: a\n302: b\n[more: read_output(ref: "a3f8c2d10123abcd", mode: "search", query: "took 7 ms", from: 6)]\n')).toEqual({
			head: ['search "took 7 ms"', '20 matches in 20 of 2000 lines', 'matches 3-5'], body: '202: a\n302: b', notes: [], more: { from: 6 }, back: false,
		});
		expect(readAnswer('[ref a3f8c2d10123abcd | search "nowhere" | 0 matches in 0 of 2000 lines]\n[no match. Other ways to look: search, lines, head, tail, stats]\n')).toMatchObject({ body: '', notes: ['no match. Other ways to look: search, lines, head, tail, stats'] });
		expect(readAnswer('[ref a3f8c2d10123abcd | lines 90-100]\nx\n[before: read_output(ref: "a3f8c2d10123abcd", mode: "tail", to: 89)]\n')).toMatchObject({ body: 'x', more: { to: 89 }, back: true });
		expect(readAnswer('[ref a3f8c2d10123abcd | head]\nx\n[nothing matches exactly; these differ]\n[more: the same call with from: 7]\n')).toMatchObject({ body: 'x', notes: ['nothing matches exactly; these differ'], more: { from: 7 } });
	});

	it('may end in brackets of its own', () => {
		expect(readAnswer('[ref a3f8c2d10123abcd | jq "." | results 1-1 of 1]\n["a","b"]').body).toBe('["a","b"]');
		expect(readAnswer('[ref a3f8c2d10123abcd | jq "." | results 1-1 of 1]\n[1,2]').body).toBe('[1,2]');
		expect(readAnswer('plain\n[text]').body).toBe('plain\n[text]');
	});
});
