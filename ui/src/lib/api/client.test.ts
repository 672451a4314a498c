import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connection } from '../state/connection.svelte';
import { api, ApiError, aborted, bodyTime, sayError, silence, url } from './client';

let answer: () => Response | Promise<Response>;
let asked: { target: string; init: RequestInit }[];

beforeEach(() => {
	asked = [];
	vi.stubGlobal('fetch', (target: string, init: RequestInit) => {
		asked.push({ target, init });
		return Promise.resolve().then(() => answer());
	});
});
afterEach(() => {
	connection.reached();
	vi.unstubAllGlobals();
});

describe('url', () => {
	it.each<[string, Record<string, string>, object, string]>([
		['/api/me', {}, {}, '/api/me'],
		['/api/sessions/{agent}/{id}', { agent: 'a b', id: 'x/y' }, {}, '/api/sessions/a%20b/x%2Fy'],
		['/api/sessions', {}, { title: 'a&b', limit: 5, after: undefined, agent: '' }, '/api/sessions?title=a%26b&limit=5'],
	])('%s', (path, fill, query, want) => expect(url(path, fill, query)).toBe(want));

	it('never leaves a brace', () => {
		expect(() => url('/api/runs/{id}', {})).toThrow('needs id');
		expect(() => url('/api/runs/{id}', { id: '' })).toThrow('needs id');
	});
});

describe('api', () => {
	it('sends and reads JSON', async () => {
		answer = () => Response.json({ id: 'r1' });
		const run = await api.post('/api/runs', { body: { message: 'hello', stream: false }, headers: { 'Idempotency-Key': 'k' } });
		expect(run.id).toBe('r1');
		expect(asked[0]!.target).toBe('/api/runs');
		expect(asked[0]!.init).toMatchObject({ method: 'POST', body: '{"message":"hello","stream":false}' });
		expect(asked[0]!.init.headers).toMatchObject({ 'Content-Type': 'application/json', 'Idempotency-Key': 'k' });
	});

	it('takes an answer without content', async () => {
		answer = () => new Response(null, { status: 204 });
		expect(await api.del('/api/sessions/{agent}/{id}', { path: { agent: 'main', id: 's' } })).toBeUndefined();
		expect(asked[0]!.init.method).toBe('DELETE');
	});

	const problem = { type: 'about:blank', title: 'Busy', status: 409, code: 'busy', detail: 'The session is busy.', request_id: 'Q1' };
	const cases: [name: string, answer: () => Response | Promise<Response>, want: object][] = [
		['a problem', () => Response.json(problem, { status: 409 }), { status: 409, code: 'busy', detail: 'The session is busy.', requestId: 'Q1' }],
		['no problem document', () => new Response('<html>', { status: 502, statusText: 'Bad Gateway', headers: { 'X-Request-ID': 'Q2' } }), { status: 502, code: 'unknown', requestId: 'Q2', detail: 'The gateway answered 502 (Bad Gateway).' }],
		['an answer that is not JSON', () => new Response('{"a":', { headers: { 'X-Request-ID': 'Q3' } }), { status: 200, code: 'malformed', requestId: 'Q3' }],
		['no answer', () => Promise.reject(new TypeError('fetch failed')), { status: 0, code: 'offline' }],
	];
	for (const [name, given, want] of cases) {
		it(`says no by ${name}`, async () => {
			answer = given;
			const err = await api.get('/api/me').catch((e: unknown) => e);
			expect(err).toBeInstanceOf(ApiError);
			expect(err).toMatchObject(want);
			expect(sayError(err).text).not.toBe('');
		});
	}

	it('tells whether the gateway can be reached', async () => {
		answer = () => Promise.reject(new TypeError('fetch failed'));
		await api.get('/api/me').catch(() => undefined);
		expect(connection.down).toBeGreaterThan(0);
		answer = () => Response.json(problem, { status: 409 });
		await api.get('/api/me').catch(() => undefined);
		expect(connection.down).toBe(0);
	});

	it('lets an abort be one', async () => {
		const abort = new AbortController();
		answer = () => {
			abort.abort();
			return Promise.reject(abort.signal.reason as Error);
		};
		const err = await api.get('/api/me', { signal: abort.signal }).catch((e: unknown) => e);
		expect(aborted(err)).toBe(true);
		expect(connection.down).toBe(0);
	});
});

describe('a connection that died without a word', () => {
	beforeEach(() => void vi.useFakeTimers());
	afterEach(() => {
		expect(vi.getTimerCount()).toBe(0);
		vi.useRealTimers();
	});

	// dead is an answer that never comes, or of which no more comes than begun.
	const dead = (begun?: string) => {
		const { signal } = asked.at(-1)!.init;
		if (begun === undefined) return new Promise<Response>((_, no) => signal!.addEventListener('abort', () => no(new DOMException('aborted', 'AbortError'))));
		return new Response(
			new ReadableStream({
				start(c) {
					c.enqueue(new TextEncoder().encode(begun));
					signal!.addEventListener('abort', () => c.error(new DOMException('aborted', 'AbortError')));
				},
			}),
		);
	};

	for (const [begun, time] of [[undefined, silence], ['', bodyTime], ['{"id":', bodyTime]] as const) {
		it(`is given up, and a question asked once more: ${begun ?? 'nothing came'}`, async () => {
			answer = () => (asked.length === 1 ? dead(begun) : Response.json({ id: 'ada' }));
			const me = api.get('/api/me');
			await vi.advanceTimersByTimeAsync(time - 1);
			expect(asked).toHaveLength(1);
			await vi.advanceTimersByTimeAsync(1);
			expect(await me).toEqual({ id: 'ada' });
			expect(asked).toHaveLength(2);
		});
	}

	it('ends what changes something, which its caller may try again', async () => {
		answer = () => dead();
		const err = api.post('/api/signout').catch((e: unknown) => e);
		await vi.advanceTimersByTimeAsync(silence);
		expect(await err).toMatchObject({ status: 0, code: 'offline', passing: true });
		expect(asked).toHaveLength(1);
		connection.reached();
	});

	it('is not one that is slow', async () => {
		let out!: ReadableStreamDefaultController<Uint8Array>;
		answer = () => new Response(new ReadableStream({ start: (c) => void (out = c) }));
		const me = api.get('/api/me');
		for (const piece of ['{"id"', ':"a', 'da"}']) {
			await vi.advanceTimersByTimeAsync(bodyTime / 3 - 1);
			out.enqueue(new TextEncoder().encode(piece));
		}
		out.close();
		await vi.advanceTimersByTimeAsync(0);
		expect(await me).toEqual({ id: 'ada' });
	});
});
