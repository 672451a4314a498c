import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SessionList, type Session } from './list.svelte';
import { mark } from './mark';

const session = (n: number, more: Partial<Session> = {}): Session => ({
	agent: 'main',
	id: `s${n}`,
	title: `Session ${n}`,
	origin: 'chat',
	caller: { id: 'admin', role: 'admin' },
	created: '2026-01-01T00:00:00Z',
	updated: '2026-01-01T00:00:00Z',
	turns: 1,
	usage: { input: 0, output: 0, cached: 0, cache_write: 0, reasoning: 0 },
	status: 'done',
	...more,
});

// The server's list: 130 sessions, the first one first.
let all: Session[];
let asked: URLSearchParams[];
beforeEach(() => {
	all = Array.from({ length: 130 }, (_, i) => session(i));
	asked = [];
	vi.stubGlobal('fetch', (target: string, init: RequestInit) => {
		const q = new URL(target, 'http://x').searchParams;
		asked.push(q);
		if (init.signal?.aborted) return Promise.reject(init.signal.reason as Error);
		const from = Number(q.get('after') ?? 0);
		const to = from + Number(q.get('limit'));
		return Promise.resolve(Response.json({ sessions: all.slice(from, to), next: to < all.length ? String(to) : undefined }));
	});
});
afterEach(() => vi.unstubAllGlobals());

const none = { title: '', agent: '' };

describe('SessionList', () => {
	it('comes page by page, each session once', async () => {
		const list = new SessionList();
		await list.load(none);
		expect(list.items).toHaveLength(50);
		// One moves to the front meanwhile, so the next page repeats the last of this one.
		all.unshift(all.splice(120, 1)[0]!);
		await list.further();
		await list.further();
		await list.further();
		expect(new Set(list.items.map((s) => s.id)).size).toBe(list.items.length);
		expect(list.next).toBe('');
		const times = asked.length;
		await list.further();
		expect(asked).toHaveLength(times);
	});

	it('catches up when the stream opens, and believes the stream', async () => {
		const list = new SessionList();
		all[3] = session(3, { status: 'running', running: 'r' });
		const loading = list.load(none);
		void list.catchUp(); // the answer that is under way may be of before
		all[3] = session(3);
		await loading;
		await vi.waitFor(() => expect(list.items[3]!.running).toBeUndefined());
		all[4] = session(4, { running: 'r' });
		const caught = list.catchUp();
		list.change(session(4));
		await caught;
		expect(list.items[4]!.running).toBeUndefined();
		expect(list.items).toHaveLength(50);
	});

	it('comes back as long as it was', async () => {
		const list = new SessionList();
		await list.load(none, 120);
		expect(list.items.length).toBeGreaterThanOrEqual(120);
		expect(asked).toHaveLength(1);
	});

	it('asks for what is wanted last', async () => {
		const list = new SessionList();
		const first = list.load({ title: 'a', agent: '' });
		await list.load({ title: 'b', agent: 'main' });
		await first;
		expect(asked.at(-1)!.get('title')).toBe('b');
		expect(list.loading).toBe(false);
	});

	it('keeps rows where they stand', async () => {
		const list = new SessionList();
		await list.load(none);
		list.change(session(7, { title: 'Renamed', running: 'r' }));
		expect(list.items[7]!.title).toBe('Renamed');
		list.change(session(999));
		expect([list.items.length, list.fresh]).toEqual([50, 1]);
		list.change(session(999, { turns: 2 }));
		expect(list.fresh).toBe(1);
		list.change({ ...session(3), deleted: true });
		expect(list.items.map((s) => s.id)).not.toContain('s3');
		await list.load(none);
		expect(list.fresh).toBe(0);
	});

	it('does not take in what the filter leaves out', async () => {
		const list = new SessionList();
		await list.load({ title: '', agent: 'main' });
		list.change(session(999, { agent: 'other' }));
		expect(list.fresh).toBe(0);
	});

	it('says what went wrong and keeps what is there', async () => {
		const list = new SessionList();
		await list.load(none);
		vi.stubGlobal('fetch', () => Promise.resolve(new Response('{"detail":"Try later."}', { status: 503 })));
		await list.further();
		expect(list.error).toMatchObject({ detail: 'Try later.' });
		expect(list.items).toHaveLength(50);
	});
});

describe('mark', () => {
	it.each([
		['The quick fox', 'quick', ['The ', '[quick]', ' fox']],
		['Quick QUICK', 'quick', ['[Quick]', ' ', '[QUICK]']],
		['a.b', '.', ['a', '[.]', 'b']],
		['session sess', 'sess session', ['[session]', ' ', '[sess]']],
		['nothing', 'else', ['nothing']],
		['text', '', ['text']],
		['Größe', 'größe', ['[Größe]']],
	])('%s with %s', (text, words, want) => {
		const parts = mark(text, words);
		expect(parts.map((p) => (p.hit ? `[${p.text}]` : p.text))).toEqual(want);
	});
});
