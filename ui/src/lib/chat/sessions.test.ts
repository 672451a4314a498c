import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AgentSessions } from './sessions.svelte';
import { at, caller, noUsage } from './testdata/runs';
import type { Session, Sessions } from './types';

const session = (id: string, minute: number, more: Partial<Session> = {}): Session => ({
	agent: 'main', id, title: `Title ${id}`, origin: 'chat', caller, created: at(0), updated: at(minute * 60), turns: 1, usage: noUsage, status: 'done', ...more,
});
const ids = (l: AgentSessions) => l.items.map((s) => s.id);

let asked: URLSearchParams[];
let answers: Sessions[];

beforeEach(() => {
	asked = [];
	answers = [{ sessions: [session('b', 2), session('a', 1)], next: 'more' }];
	vi.stubGlobal('fetch', (target: string) => {
		asked.push(new URL(target, 'http://x').searchParams);
		return Promise.resolve(new Response(JSON.stringify(answers.length > 1 ? answers.shift() : answers[0]), { headers: { 'Content-Type': 'application/json' } }));
	});
});
afterEach(() => vi.unstubAllGlobals());

describe('the sessions of an agent', () => {
	it('move to the front when they are worked on', async () => {
		const l = new AgentSessions('main');
		await l.load();
		l.change(session('a', 5, { running: 'r1' }));
		expect(ids(l)).toEqual(['a', 'b']);
		l.change(session('a', 5));
		expect(l.items[0]!.running).toBeUndefined();
		l.change(session('new', 6));
		expect(ids(l)).toEqual(['new', 'a', 'b']);
		l.change({ ...session('a', 5), deleted: true });
		l.change({ ...session('other', 9), agent: 'writer' });
		expect(ids(l)).toEqual(['new', 'b']);
	});

	it('are as the stream told rather than as an answer that was under way', async () => {
		const l = new AgentSessions('main');
		answers = [{ sessions: [session('a', 1, { running: 'r1' })] }];
		await l.load();
		answers = [{ sessions: [session('a', 1, { running: 'r1' })] }];
		const loading = l.load();
		l.change(session('a', 1));
		l.change(session('new', 2));
		await loading;
		expect(ids(l)).toEqual(['new', 'a']);
		expect(l.items[1]!.running).toBeUndefined();
	});

	it('come in pages, none twice', async () => {
		const l = new AgentSessions('main');
		await l.load();
		answers = [{ sessions: [session('a', 1), session('z', 0)] }];
		await l.further();
		expect(ids(l)).toEqual(['b', 'a', 'z']);
		expect(asked.at(-1)!.get('after')).toBe('more');
		expect(l.next).toBe('');
	});

	it('that don’t fit a filter don’t come by themselves', async () => {
		const l = new AgentSessions('main');
		l.words = 'title';
		await l.load();
		expect(asked[0]!.get('title')).toBe('title');
		l.change(session('new', 6));
		expect(ids(l)).toEqual(['b', 'a']);
	});
});
