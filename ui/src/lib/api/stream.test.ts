import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connection } from '../state/connection.svelte';
import { silence, type ApiError } from './client';
import { follow, pauseAfter, type Follow, type StreamEvent } from './stream';

// Wire is a connection that a test speaks through.
class Wire {
	closed = false;
	#out!: ReadableStreamDefaultController<Uint8Array>;
	readonly response: Response;

	constructor(
		readonly headers: Headers,
		readonly target: string,
		signal: AbortSignal,
		answer: (body: ReadableStream) => Response,
	) {
		const body = new ReadableStream<Uint8Array>({ start: (c) => void (this.#out = c) });
		signal.addEventListener('abort', () => {
			if (this.closed) return;
			this.closed = true;
			this.#out.error(new DOMException('aborted', 'AbortError'));
		});
		this.response = answer(body);
	}

	async send(text: string | Uint8Array): Promise<void> {
		this.#out.enqueue(typeof text === 'string' ? new TextEncoder().encode(text) : text);
		await settle();
	}

	async cut(): Promise<void> {
		this.closed = true;
		this.#out.close();
		await settle();
	}

	async crash(): Promise<void> {
		this.closed = true;
		this.#out.error(new TypeError('network error'));
		await settle();
	}
}

const stream = (body: ReadableStream) => new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
const settle = () => vi.advanceTimersByTimeAsync(0);

let wires: Wire[];
let answer: (body: ReadableStream) => Response;
let unreachable: boolean;
let hidden: boolean;

beforeEach(() => {
	vi.useFakeTimers();
	vi.spyOn(Math, 'random').mockReturnValue(0.5);
	wires = [];
	answer = stream;
	unreachable = false;
	hidden = false;
	vi.stubGlobal('fetch', (target: string, init: RequestInit) => {
		if (unreachable) return Promise.reject(new TypeError('fetch failed'));
		const wire = new Wire(new Headers(init.headers), target, init.signal!, answer);
		wires.push(wire);
		return Promise.resolve(wire.response);
	});
	vi.spyOn(document, 'hidden', 'get').mockImplementation(() => hidden);
});

afterEach(() => {
	for (const w of wires) if (!w.closed) throw new Error('a connection is still open');
	connection.reached();
	expect(vi.getTimerCount()).toBe(0);
	vi.useRealTimers();
	vi.unstubAllGlobals();
	vi.restoreAllMocks();
});

function show(is: boolean): void {
	hidden = !is;
	document.dispatchEvent(new Event('visibilitychange'));
}

function start(options: Partial<Follow> = {}) {
	const events: StreamEvent[] = [];
	const states: string[] = [];
	const errors: ApiError[] = [];
	let ended = 0;
	const f = follow('/api/events', {
		onEvent: (e) => events.push(e),
		onState: (s) => states.push(s),
		onError: (e) => errors.push(e),
		onEnd: () => ended++,
		...options,
	});
	return { f, events, states, errors, ended: () => ended };
}

describe('follow', () => {
	it('tells events and states in order', async () => {
		const { f, events, states } = start({ query: { agent: 'main', session: 'a b', nothing: undefined } });
		await settle();
		expect(wires[0]!.target).toBe('/api/events?agent=main&session=a+b');
		expect(wires[0]!.headers.has('Last-Event-ID')).toBe(false);
		await wires[0]!.send('retry: 1000\n\nid: 1\nevent: a\ndata: {"n":1}\n\nid: 2\nevent: b\nda');
		await wires[0]!.send('ta: {"n":2}\n\n');
		expect(events).toEqual([
			{ id: '1', type: 'a', data: { n: 1 } },
			{ id: '2', type: 'b', data: { n: 2 } },
		]);
		expect(states).toEqual(['connecting', 'open']);
		expect(f.lastEventId).toBe('2');
		f.close();
		expect(wires[0]!.closed).toBe(true);
	});

	it('comes back behind the last event', async () => {
		const { f, states } = start({ lastEventId: 'r:4' });
		await settle();
		expect(wires[0]!.headers.get('Last-Event-ID')).toBe('r:4');
		await wires[0]!.send('retry: 200\n\nid: r:5\ndata: 1\n\n');
		await wires[0]!.crash();
		expect(states.at(-1)).toBe('waiting');
		expect(connection.down).toBeGreaterThan(0);
		await vi.advanceTimersByTimeAsync(199);
		expect(wires).toHaveLength(1);
		await vi.advanceTimersByTimeAsync(1);
		expect(wires[1]!.headers.get('Last-Event-ID')).toBe('r:5');
		expect(connection.down).toBe(0);
		f.close();
	});

	it('waits longer each time that nothing comes', async () => {
		unreachable = true;
		const { f, states } = start();
		const tries = vi.spyOn(globalThis, 'fetch');
		await settle();
		for (const wait of [1000, 2000, 4000, 8000, 16000, 30000, 30000]) {
			const before = tries.mock.calls.length;
			await vi.advanceTimersByTimeAsync(wait - 1);
			expect(tries.mock.calls.length).toBe(before);
			await vi.advanceTimersByTimeAsync(1);
			expect(tries.mock.calls.length).toBe(before + 1);
		}
		unreachable = false;
		window.dispatchEvent(new Event('online'));
		await settle();
		expect(states.at(-1)).toBe('open');
		f.close();
	});

	it('lets go while nobody looks and comes back', async () => {
		const { f, states } = start();
		await settle();
		show(false);
		await vi.advanceTimersByTimeAsync(pauseAfter - 1);
		show(true);
		await vi.advanceTimersByTimeAsync(pauseAfter);
		expect(wires[0]!.closed).toBe(false);
		show(false);
		await wires[0]!.send('id: 9\ndata: 1\n\n');
		await vi.advanceTimersByTimeAsync(pauseAfter);
		expect(wires[0]!.closed).toBe(true);
		expect(states.at(-1)).toBe('paused');
		expect(wires).toHaveLength(1);
		show(true);
		await settle();
		expect(wires[1]!.headers.get('Last-Event-ID')).toBe('9');
		expect(states.at(-1)).toBe('open');
		f.close();
	});

	it('waits for somebody to look where it begins out of sight', async () => {
		hidden = true;
		const { f, states } = start();
		await vi.advanceTimersByTimeAsync(60_000);
		expect(wires).toHaveLength(0); // a host gets six connections, of all tabs
		show(true);
		await settle();
		expect(states).toEqual(['paused', 'connecting', 'open']);
		f.close();
	});

	it('does not try again while nobody looks', async () => {
		const { f, states } = start();
		await settle();
		show(false);
		unreachable = true;
		await wires[0]!.crash();
		await vi.advanceTimersByTimeAsync(pauseAfter);
		expect(states.at(-1)).toBe('paused');
		unreachable = false;
		await vi.advanceTimersByTimeAsync(120_000);
		expect(wires).toHaveLength(1);
		f.close();
	});

	it('gives up a connection that is silent', async () => {
		const { f } = start();
		await settle();
		await vi.advanceTimersByTimeAsync(silence - 1000);
		await wires[0]!.send(': keep-alive\n\n');
		await vi.advanceTimersByTimeAsync(silence - 1000);
		expect(wires[0]!.closed).toBe(false);
		await vi.advanceTimersByTimeAsync(1000);
		expect(wires[0]!.closed).toBe(true);
		await vi.advanceTimersByTimeAsync(1000);
		expect(wires).toHaveLength(2);
		f.close();
	});

	it('ends with its last event', async () => {
		const { events, states, ended } = start({ until: (e) => e.type === 'run_finished' });
		await settle();
		await wires[0]!.send('data: 1\n\nevent: run_finished\ndata: {}\n\ndata: 3\n\n');
		expect(events).toHaveLength(2);
		expect(ended()).toBe(1);
		expect(wires[0]!.closed).toBe(true);
		await vi.advanceTimersByTimeAsync(60_000);
		expect(wires).toHaveLength(1);
		expect(states).toEqual(['connecting', 'open']);
	});

	it('ends when there is nothing more to come', async () => {
		answer = () => new Response(null, { status: 204 });
		const { ended } = start();
		await settle();
		expect(ended()).toBe(1);
		wires[0]!.closed = true;
	});

	it('ends with a refusal and says why', async () => {
		answer = () => new Response('{"status":404,"code":"not_found","detail":"No such run.","request_id":"q1"}', { status: 404 });
		const { errors, ended } = start();
		await settle();
		expect(errors).toHaveLength(1);
		expect(errors[0]).toMatchObject({ status: 404, code: 'not_found', detail: 'No such run.', requestId: 'q1' });
		expect(ended()).toBe(0);
		await vi.advanceTimersByTimeAsync(60_000);
		expect(wires).toHaveLength(1);
		wires[0]!.closed = true;
	});

	it('ends when what comes is no stream', async () => {
		answer = () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } });
		const { errors } = start();
		await settle();
		expect(errors[0]).toMatchObject({ code: 'malformed' });
	});

	it('ends at an event that is not JSON', async () => {
		const { errors, events } = start();
		await settle();
		await wires[0]!.send('data: {"a"\n\ndata: 1\n\n');
		expect(errors[0]).toMatchObject({ code: 'malformed' });
		expect(events).toHaveLength(0);
	});

	it('waits as long as a busy server asks', async () => {
		answer = () => new Response('', { status: 429, headers: { 'Retry-After': '7' } });
		const { f } = start();
		await settle();
		wires[0]!.closed = true;
		answer = stream;
		await vi.advanceTimersByTimeAsync(6999);
		expect(wires).toHaveLength(1);
		await vi.advanceTimersByTimeAsync(1);
		expect(wires).toHaveLength(2);
		f.close();
	});

	it('tells nothing after its signal', async () => {
		const abort = new AbortController();
		const { events, states } = start({ signal: abort.signal });
		await settle();
		const told = states.length;
		abort.abort();
		await vi.advanceTimersByTimeAsync(60_000);
		expect(states).toHaveLength(told);
		expect(events).toHaveLength(0);
		expect(wires[0]!.closed).toBe(true);
		expect(start({ signal: abort.signal }).states).toEqual([]);
	});

	it('can be closed by a handler', async () => {
		const seen: unknown[] = [];
		const f = follow('/api/events', {
			onEvent: (e) => {
				seen.push(e.data);
				f.close();
			},
		});
		await settle();
		await wires[0]!.send('data: 1\n\ndata: 2\n\n');
		expect(seen).toEqual([1]);
	});
});
