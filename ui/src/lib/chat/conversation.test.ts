import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silence } from '../api/client';
import { connection } from '../state/connection.svelte';
import { Conversation, newKey, tries } from './conversation.svelte';
import { items } from './items';
import * as m from './model';
import { FakeGateway } from './testdata/gateway';
import { int, rng } from './testdata/runs';

let gateway: FakeGateway;
let open: Conversation[];

beforeEach(() => {
	vi.useFakeTimers();
	sessionStorage.clear();
	open = [];
	begin(1);
});

afterEach(() => {
	for (const c of open) c.close();
	connection.reached();
	vi.useRealTimers();
	vi.unstubAllGlobals();
});

function begin(seed: number): void {
	gateway = new FakeGateway(rng(seed));
	vi.stubGlobal('fetch', gateway.fetch);
}

function look(session?: string, onBegun?: (s: string) => void): Conversation {
	const c = new Conversation('main', session, onBegun ? { onBegun } : {});
	open.push(c);
	c.open();
	return c;
}

const settle = (ms = 50) => vi.advanceTimersByTimeAsync(ms);

/** seen is what a page shows, without what tells pages apart. */
const seen = (c: Conversation) => items(c.chat, c.turns, 'ada').filter((i) => !i.withdrawn).map((i) => ({ message: i.message, run: i.run, turn: i.turn && { ...i.turn, key: '' }, waits: i.waiting !== undefined, send: i.send !== undefined }));

const posts = () => gateway.requests.filter((r) => r.method === 'POST' && r.path === '/api/runs');

describe('a conversation', () => {
	it('begins with its first message and goes on in its session', async () => {
		const began: string[] = [];
		const c = look(undefined, (s) => began.push(s));
		await settle();
		c.send('hello', [], 'queue');
		expect(items(c.chat, c.turns, 'ada').map((i) => m.textOf(i.message.parts))).toEqual(['hello']);
		const [key] = items(c.chat, c.turns, 'ada').map((i) => i.key);
		await settle();
		expect(began).toEqual(['s1']);
		gateway.step(1000);
		await settle();
		expect(items(c.chat, c.turns, 'ada').map((i) => [i.key, i.turn?.number])).toEqual([[key, 1]]);
		expect(c.detail?.title).toBe('A session');
		expect(posts()).toHaveLength(1);
		expect(posts()[0]!.body).toMatchObject({ agent: 'main', message: 'hello', while_busy: 'queue', stream: false });
	});

	it('plans when its person wants that, from its first message on', async () => {
		const c = look();
		await settle();
		await c.setPlan(true);
		expect(c.plan).toBe(true);
		c.send('hello', [], 'queue');
		c.send('and more', [], 'queue');
		await settle();
		expect(posts().map((p) => p.body!['plan'])).toEqual([true, undefined]);
		expect(c.plan).toBe(true);
		const other = look('s1');
		await settle();
		expect(other.plan).toBe(true);
		await c.setPlan(false);
		await settle();
		expect([c.plan, other.plan, gateway.plan]).toEqual([false, false, false]);
	});

	it.each(['/api/runs', '/api/events', '/api/sessions/main/s1', '/api/sessions/main/s1/turns'])('goes on when %s dies without a word', async (path) => {
		const c = look();
		await settle();
		let died = 0;
		gateway.fail = (_, p) => (p === path && died++ === 0 ? 'dead' : undefined);
		c.send('hello', [], 'queue');
		await settle();
		gateway.step(1000);
		await settle(silence + tries[0]! + 1000);
		expect(died).toBeGreaterThan(1);
		expect(gateway.runs).toHaveLength(1);
		expect(c.chat.sends).toEqual([]);
		expect(c.stream).toBe('open');
		expect(c.error).toBeUndefined();
		expect(items(c.chat, c.turns, 'ada').map((i) => [m.textOf(i.message.parts), i.turn?.status !== undefined && i.turn.status !== 'running'])).toEqual([['hello', true]]);
	});

	it('ends in the same view on every page, whatever breaks', async () => {
		for (let seed = 1; seed <= 25; seed++) {
			begin(seed);
			sessionStorage.clear();
			const r = rng(seed * 31);
			const first = look();
			const pages = [first];
			const back: string[] = []; // words that were taken back
			await settle();
			first.send('message 0', [], 'queue');
			await settle();
			for (let i = 1; i < 25; i++) {
				const page = pages[int(r, pages.length)]!;
				switch (int(r, 7)) {
					case 0:
						if (gateway.runs.length < 6) page.send(`message ${i}`, [], r() < 0.5 ? 'queue' : 'steer');
						break;
					case 1:
						if (pages.length < 4) pages.push(look('s1')); // another tab, or a reload
						break;
					case 2: {
						const s = gateway.streams[int(r, gateway.streams.length)];
						if (s) gateway.cut(s);
						break;
					}
					case 3:
						if (page.chat.waiting[0]) {
							const taken = await page.withdraw(page.chat.waiting[0].run);
							if (taken) back.push(m.textOf(taken.parts));
						}
						break;
					default:
						gateway.step(1 + int(r, 12));
				}
				await settle(int(r, 3) === 0 ? 400 : 20);
			}
			while (!gateway.idle) {
				gateway.step(5);
				await settle(20);
			}
			await settle(40_000);
			const fresh = look('s1');
			await settle(1000);
			const want = seen(fresh);
			expect(want.length).toBeGreaterThan(0);
			expect(want.every((i) => i.turn?.number !== undefined && i.turn.status !== 'running')).toBe(true);
			for (const p of pages) expect(seen(p), `seed ${seed}`).toEqual(want);
			expect(gateway.runs.filter((l) => !l.withdrawn)).toHaveLength(want.length);
			for (const l of gateway.runs) if (l.withdrawn) expect(back).toContain(m.textOf(l.told.run.message.parts));
			for (const c of [...pages, fresh]) c.close();
			open = [];
		}
	}, 60_000);
});

describe('a message', () => {
	it('is sent again with the same key until somebody answers', async () => {
		const c = look();
		await settle();
		let lost = 0;
		gateway.fail = (method, path) => (method === 'POST' && path === '/api/runs' && lost++ < 2 ? 'after' : undefined);
		c.send('hello', [], 'queue');
		await settle(tries[0]! + tries[1]! + 500);
		expect(lost).toBe(3);
		expect(new Set(posts().map((p) => p.key)).size).toBe(1);
		expect(gateway.runs).toHaveLength(1);
		expect(c.turns).toHaveLength(1);
	});

	it('stays with its words when nobody answers, and goes when asked to', async () => {
		const c = look();
		await settle();
		gateway.fail = (method) => (method === 'POST' ? 'before' : undefined);
		c.send('hello', [], 'queue');
		await settle(20_000);
		const [s] = c.chat.sends;
		expect(s?.failed).toMatch(/does not answer/);
		gateway.fail = () => undefined;
		c.sendAgain(s!.key);
		await settle(500);
		expect(c.turns.map((t) => m.textOf(t.message.parts))).toEqual(['hello']);
		expect(c.chat.sends).toEqual([]);
	});

	it('is sent behind those before it', async () => {
		const c = look();
		await settle();
		for (const words of ['one', 'two', 'three']) c.send(words, [], 'queue');
		await settle(500);
		expect(posts().map((p) => p.body!['message'])).toEqual(['one', 'two', 'three']);
		expect(posts().map((p) => p.body!['session'])).toEqual([undefined, 's1', 's1']);
	});

	it('outlives a reload of the page', async () => {
		const c = look();
		await settle();
		gateway.fail = (method) => (method === 'POST' ? 'before' : undefined);
		c.send('hello', [], 'queue');
		await settle(20_000); // it is given up: this page sends it no more
		c.close();
		gateway.fail = () => undefined;
		const after = look();
		await settle(500);
		expect(after.turns.map((t) => m.textOf(t.message.parts))).toEqual(['hello']);
		expect(gateway.runs).toHaveLength(1);
		after.close();
		const next = look();
		await settle(500);
		expect(next.chat.sends).toEqual([]);
	});

	it('is still sent when its page is left, and follows to no other', async () => {
		const c = look();
		await settle();
		let lost = 0;
		gateway.fail = (method, path) => (method === 'POST' && path === '/api/runs' && lost++ < 1 ? 'before' : undefined);
		c.send('hello', [], 'queue');
		await settle(10);
		c.close();
		const other = look();
		await settle(2000);
		expect(gateway.runs).toHaveLength(1);
		expect(other.session).toBeUndefined();
		expect(other.chat.sends).toEqual([]);
	});

	it('on its way is there when its conversation is opened again, and sent once', async () => {
		const c = look();
		await settle();
		c.send('one', [], 'queue');
		await settle();
		gateway.fail = (method, path) => (method === 'POST' && path === '/api/runs' ? 'before' : undefined);
		c.send('two', [], 'queue');
		await settle(10);
		c.close();
		const again = look('s1');
		expect(again.chat.sends.map((s) => m.textOf(s.message.parts))).toEqual(['two']);
		again.send('three', [], 'queue');
		await settle(10);
		gateway.fail = () => undefined;
		await settle(tries[0]! + 500);
		expect(again.chat.sends).toEqual([]);
		expect(gateway.runs.map((l) => m.textOf(l.told.run.message.parts))).toEqual(['one', 'two', 'three']);
		again.close();
		const reloaded = look('s1');
		expect(reloaded.chat.sends).toEqual([]);
	});

	it('that could not be sent behind its page’s back is told, and waits where it was said', async () => {
		const unsent: string[] = [];
		const c = new Conversation('main', undefined, { onUnsent: (s) => unsent.push(m.textOf(s.message.parts)) });
		c.open();
		await settle();
		c.send('one', [], 'queue');
		await settle();
		gateway.fail = (method, path) => (method === 'POST' && path === '/api/runs' ? 'before' : undefined);
		c.send('two', [], 'queue');
		await settle(10);
		c.close();
		const other = look();
		other.send('elsewhere', [], 'queue');
		await settle(40_000);
		expect(unsent).toEqual(['two']);
		expect(other.chat.sends.map((s) => s.failed !== undefined)).toEqual([true]);
		gateway.fail = () => undefined;
		const again = look('s1');
		await settle(500);
		expect(gateway.runs.map((l) => m.textOf(l.told.run.message.parts))).toEqual(['one', 'two']);
		expect(again.chat.sends).toEqual([]);
		// The other one's is still its own.
		other.close();
		look();
		await settle(500);
		expect(gateway.runs.map((l) => m.textOf(l.told.run.message.parts))).toEqual(['one', 'two', 'elsewhere']);
	});

	it('is discarded when its person wants that', async () => {
		const c = look();
		await settle();
		gateway.fail = (method) => (method === 'POST' ? 'before' : undefined);
		c.send('hello', [], 'queue');
		await settle(20_000);
		c.discard(c.chat.sends[0]!.key);
		c.close();
		gateway.fail = () => undefined;
		await settle();
		look();
		await settle(500);
		expect(gateway.runs).toHaveLength(0);
	});
});

describe('a fork', () => {
	it('is asked for with the same key until somebody answers', async () => {
		const c = look();
		await settle();
		c.send('hello', [], 'queue');
		gateway.step(1000);
		await settle();
		let lost = 0;
		gateway.fail = (_, path) => (path.endsWith('/fork') && lost++ < 2 ? 'after' : undefined);
		const fork = c.fork('1', 'before', 'k1');
		await settle(tries[0]! + tries[1]! + 500);
		expect((await fork).id).toBe('fork1');
		expect(gateway.forks.size).toBe(1);
		expect(gateway.requests.filter((r) => r.path === '/api/sessions/main/s1/fork').map((r) => r.body)).toEqual(Array(3).fill({ turn: '1', mode: 'before' }));
	});

	it('is refused as the gateway says', async () => {
		await expect(look('nowhere').fork('1', 'after')).rejects.toMatchObject({ status: 404 });
	});
});

describe('a message that waits', () => {
	const words = (c: Conversation) => c.chat.withdrawn.map((w) => m.textOf(w.message.parts));
	const waits = (c: Conversation) => c.chat.waiting.map((w) => m.textOf(w.message.parts));
	/** two are a page on which an answer is being written, and a second one of the same session. */
	const two = async () => {
		const a = look();
		await settle();
		a.send('first', [], 'queue');
		await settle();
		const b = look('s1');
		await settle();
		return { a, b };
	};
	// Each tab has a storage of its own.
	const tab = () => {
		const kept = new Map<string, string>();
		return { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: (k: string) => void kept.delete(k) };
	};

	it('goes back to who wrote it, and stays in sight elsewhere', async () => {
		const { a, b } = await two();
		a.send('from a', [], 'queue');
		b.send('from b', [], 'queue');
		await settle(500);
		expect([waits(a), waits(b)]).toEqual([['from a', 'from b'], ['from a', 'from b']]);
		expect((await a.stop()).map((t) => m.textOf(t.parts))).toEqual(['from a']);
		await settle(500);
		expect([waits(a), waits(b)]).toEqual([[], []]);
		expect([words(a), words(b)]).toEqual([['from b'], ['from b']]);
		expect(m.textOf(b.settle(b.chat.withdrawn[0]!.run)!.parts)).toBe('from b');
		await b.refresh();
		expect([words(a), words(b)]).toEqual([['from b'], []]);
	});

	it('is found again by a tab that was not there', async () => {
		vi.stubGlobal('sessionStorage', tab());
		const { a } = await two();
		vi.stubGlobal('sessionStorage', tab());
		const b = look('s1');
		await settle();
		b.send('from b', [], 'queue');
		await settle(500);
		b.close(); // it shows another conversation, or is loaded anew
		await a.stop();
		await settle(500);
		for (let i = 0; i < 2; i++) {
			const again = look('s1');
			await settle(1000);
			expect(words(again)).toEqual(['from b']);
			again.close();
		}
		const last = look('s1');
		last.settle(last.chat.withdrawn[0]!.run);
		last.close();
		const after = look('s1');
		await settle(1000);
		expect(words(after)).toEqual([]);
	});

	it('is found again when it was sent after its conversation was left', async () => {
		vi.stubGlobal('sessionStorage', tab());
		const { a } = await two();
		vi.stubGlobal('sessionStorage', tab());
		const b = look('s1');
		await settle();
		let lost = 0;
		gateway.fail = (method, path) => (method === 'POST' && path === '/api/runs' && lost++ < 1 ? 'before' : undefined);
		b.send('from b', [], 'queue');
		await settle(10);
		b.close();
		await settle(2000);
		expect(waits(a)).toEqual(['from b']);
		await a.stop();
		const again = look('s1');
		await settle(1000);
		expect(words(again)).toEqual(['from b']);
	});

	it('is kept beside what waits in another conversation of the tab', async () => {
		const { a, b } = await two();
		a.send('from a', [], 'queue');
		b.send('from b', [], 'queue');
		await settle(500);
		a.close();
		b.close();
		for (const l of gateway.runs) gateway.withdraw(l);
		const again = look('s1');
		await settle(1000);
		expect(words(again)).toEqual(['from a', 'from b']);
	});

	it('is found again by a tab that was cut off', async () => {
		const { a, b } = await two();
		b.send('from b', [], 'queue');
		await settle(500);
		gateway.fail = (_, path) => (path === '/api/events' ? 'before' : undefined);
		for (const s of gateway.streams) gateway.cut(s);
		gateway.withdraw(gateway.runs[1]!);
		gateway.fail = () => undefined;
		await settle(5000);
		expect([words(a), words(b)]).toEqual([[], ['from b']]);
	});

	it('is not taken for withdrawn when it was answered meanwhile', async () => {
		const { b } = await two();
		b.send('from b', [], 'queue');
		await settle(500);
		b.close();
		gateway.step(5000);
		const again = look('s1');
		await settle(1000);
		expect([words(again), waits(again)]).toEqual([[], []]);
		expect(again.turns.map((t) => m.textOf(t.message.parts))).toEqual(['first', 'from b']);
	});

	it('is not dropped for an answer from before it was said', async () => {
		const { a } = await two();
		const late: (() => void)[] = []; // answers on their way
		vi.stubGlobal('fetch', async (target: string, init: RequestInit) => {
			const answer = await gateway.fetch(target, init);
			if (target === '/api/sessions/main/s1') await new Promise<void>((come) => late.push(come));
			return answer;
		});
		void a.refresh();
		await settle();
		a.send('from a', [], 'queue');
		await settle(500);
		expect([waits(a), late.length]).toEqual([['from a'], 1]);
		late[0]!();
		await settle(500);
		expect(waits(a)).toEqual(['from a']);
		expect((await a.stop()).map((t) => m.textOf(t.parts))).toEqual(['from a']);
		for (const come of late) come();
		await settle(500);
		expect([waits(a), words(a)]).toEqual([[], []]);
	});

	it('still waits when it could not be taken back', async () => {
		const { a, b } = await two();
		a.send('from a', [], 'queue');
		await settle(500);
		gateway.fail = (method) => (method === 'POST' ? 'before' : undefined);
		await expect(a.stop()).rejects.toThrow();
		expect(waits(a)).toEqual(['from a']);
		gateway.fail = () => undefined;
		await b.stop();
		await settle(500);
		expect(words(a)).toEqual(['from a']);
	});
});

describe('a key', () => {
	it('is new each time, also where the page is not secure', () => {
		expect(newKey()).not.toBe(newKey());
		vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
		expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
		expect(newKey()).not.toBe(newKey());
	});
});

describe('what can’t be read', () => {
	it('is told', async () => {
		const c = look('nowhere');
		await settle(1000);
		expect(c.error).toMatchObject({ status: 404 });
	});

	it('stays told while nothing is followed, and is followed again when asked to', async () => {
		const c = look();
		await settle();
		c.send('hello', [], 'queue');
		await settle();
		let page = true; // a proxy answers in place of the gateway
		vi.stubGlobal('fetch', (target: string, init: RequestInit) =>
			page && target.startsWith('/api/events') ? Promise.resolve(new Response('<p>Back soon', { headers: { 'Content-Type': 'text/html' } })) : gateway.fetch(target, init),
		);
		for (const s of gateway.streams) gateway.cut(s);
		await settle(3000);
		expect(c.error).toMatchObject({ code: 'malformed' });
		await c.refresh();
		expect(c.error).toMatchObject({ code: 'malformed' });
		page = false;
		c.retry();
		await settle();
		expect(c.error).toBeUndefined();
		gateway.step(1000);
		await settle();
		expect(c.turns.map((t) => t.status)).not.toContain('running');
	});
});
