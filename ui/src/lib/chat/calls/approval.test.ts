import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { me } from '../../state/me.svelte';
import type { Approval } from '../types';
import { parseJSON } from '../../json';
import Card from './ApprovalCard.svelte';
import { answerOf, left, rows } from './approval';
import { brief } from './call';

const approval: Approval = {
	id: 'a1', agent: 'main', session: 's1', run: 'r', call: 'c1', origin: 'api', caller: { id: 'bob', role: 'user', human: true }, tool: 'shell',
	args: { command: 'rm -r \u202ebuild' }, rule: 'look', reason: 'Look first.', status: 'open', created: '2026-12-01T12:00:00Z', expires: '2026-12-01T12:05:00Z',
};
const signedIn = (id: string, role: 'admin' | 'user') => (me.value = { user: { id, role, human: true } } as typeof me.value);

afterEach(() => {
	cleanup();
	vi.unstubAllGlobals();
	me.value = undefined;
});

describe('a call that waits for a person', () => {
	it('shows exactly what would run, and what always binds', () => {
		signedIn('bob', 'user');
		const { container } = render(Card, { approval, lag: 0 });
		expect(container.textContent).toContain('rm -r ⟦U+202E⟧build');
		expect(container.textContent).toMatch(/Look first.*Asked by look/);
		expect(container.textContent).toContain('Always holds for bob, agent main, shell and exactly these arguments');
	});

	it('shows numbers as they were sent', () => {
		const args = parseJSON('{"id":9007199254740993,"list":[1,12345678901234567890]}');
		expect(rows(args)).toEqual([['id', '9007199254740993'], ['list', '[\n  1,\n  12345678901234567890\n]']]);
		expect(rows(parseJSON('9007199254740993'))).toEqual([['', '9007199254740993']]);
		expect(brief(args)).toBe('9007199254740993  list: [1,12345678901234567890]');
	});

	it.each([
		['Allow once', 'allow_once'],
		['Always allow', 'allow_always'],
		['Deny', 'deny'],
	])('%s answers %s, once', async (label, answer) => {
		signedIn('bob', 'user');
		const fetched = vi.fn((_url: unknown, _init?: RequestInit) => new Promise<Response>(() => {}));
		vi.stubGlobal('fetch', fetched);
		render(Card, { approval, lag: 0 });
		await fireEvent.click(screen.getByRole('button', { name: label }));
		await fireEvent.click(screen.getByRole('button', { name: label }));
		expect(fetched).toHaveBeenCalledTimes(1);
		expect(String(fetched.mock.calls[0]![0])).toContain('/api/approvals/a1');
		expect(fetched.mock.calls[0]![1]!.body).toBe(JSON.stringify({ answer }));
	});

	it('lets only those answer who may', () => {
		for (const [id, role, admins, may] of [['bob', 'user', false, true], ['bob', 'user', true, false], ['eve', 'user', false, false], ['eve', 'admin', true, true]] as const) {
			signedIn(id, role);
			const { unmount } = render(Card, { approval: { ...approval, admins }, lag: 0 });
			expect(screen.queryAllByRole('button', { name: 'Allow once' })).toHaveLength(may ? 1 : 0);
			unmount();
		}
		// A run of more than the person has, and what the gateway says of a person.
		signedIn('bob', 'user');
		for (const [role, said, may] of [['admin', undefined, false], ['user', false, false], ['admin', true, true]] as const) {
			const { unmount } = render(Card, { approval: { ...approval, caller: { ...approval.caller, role } }, lag: 0, may: said });
			expect(screen.queryAllByRole('button', { name: 'Allow once' })).toHaveLength(may ? 1 : 0);
			unmount();
		}
	});
});

describe('the words', () => {
	it('counts down', () => {
		const now = Date.parse('2026-12-01T12:00:30.500Z');
		expect(left(approval.expires, now)).toBe('4:30 left');
		expect(left(approval.expires, now + 600_000)).toBe('0:00 left');
		expect(left(undefined, now)).toBe('');
	});

	it('shows each argument as it is', () => {
		expect(rows({ a: 'text', b: '', c: ' blank', d: 1, e: { f: [true] } })).toEqual([['a', 'text'], ['b', '""'], ['c', '" blank"'], ['d', '1'], ['e', '{\n  "f": [\n    true\n  ]\n}']]);
		expect(rows(undefined)).toEqual([]);
	});

	it('reads answers', () => {
		expect(['', 'once', 'ALWAYS', ' no ', 'deny', 'allow-once', 'maybe'].map(answerOf)).toEqual(['allow_once', 'allow_once', 'allow_always', 'deny', 'deny', 'allow_once', undefined]);
	});
});
