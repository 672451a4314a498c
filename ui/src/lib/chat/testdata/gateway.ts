// A gateway in memory that speaks as the real one does towards a conversation:
// runs by key, events with ids, streams that resume, records of turns. A test
// says when something goes on and when a connection breaks.
import type { Event, Message, Run, Session, Turn, Turns } from '../types';
import { at, caller, makeRun, merge, noUsage, type Told } from './runs';

interface Live {
	told: Told;
	/** How many of its events have happened; 0 while it waits. */
	at: number;
	withdrawn?: boolean;
}

interface Stream {
	out: ReadableStreamDefaultController<Uint8Array>;
	session: string | null;
	/** Runs of which this viewer was told, and up to where. */
	seen: Map<string, number>;
	queued: Set<string>;
	closed: boolean;
}

const text = new TextEncoder();

export class FakeGateway {
	runs: Live[] = [];
	streams: Stream[] = [];
	requests: { method: string; path: string; key: string | null; body: Record<string, unknown> | undefined }[] = [];
	/** fail is asked before a request is answered: 'before' nothing happens, 'after' it happens but nobody hears of it, 'dead' the same, and not even an error comes. */
	fail: (method: string, path: string) => 'before' | 'after' | 'dead' | undefined = () => undefined;
	/** forks are the sessions that were forked, by key. */
	forks = new Map<string, string>();
	/** plan says that the session is in plan mode. */
	plan = false;
	#keys = new Map<string, Live>();
	#r: () => number;

	constructor(r: () => number) {
		this.#r = r;
	}

	fetch = async (target: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
		const u = new URL(String(target), 'http://gateway.test');
		const method = init.method ?? 'GET';
		const headers = new Headers(init.headers);
		const fails = this.fail(method, u.pathname);
		if (fails === 'before') throw new TypeError('network error');
		const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : undefined;
		this.requests.push({ method, path: u.pathname, key: headers.get('Idempotency-Key'), body });
		const answer = this.#answer(method, u, headers, body, init.signal ?? undefined);
		if (fails === 'after') throw new TypeError('network error');
		if (fails === 'dead') return new Promise((_, no) => init.signal?.addEventListener('abort', () => no(new DOMException('aborted', 'AbortError'))));
		return answer;
	};

	#answer(method: string, u: URL, headers: Headers, body: Record<string, unknown> | undefined, signal: AbortSignal | undefined): Response {
		const parts = u.pathname.split('/').slice(2);
		if (u.pathname === '/api/events') return this.#open(u, headers, signal);
		if (u.pathname === '/api/runs' && method === 'POST') return json(202, this.run(this.#start(body!, headers.get('Idempotency-Key')!)));
		if (parts[0] === 'runs') {
			const l = this.runs.find((l) => l.told.run.id === parts[1]);
			if (!l) return problem(404);
			if (parts[2] === 'stop') this.withdraw(l);
			return json(200, this.run(l));
		}
		if (parts[0] === 'sessions' && this.#begun()) {
			const stored = this.#stored();
			if (parts[3] === 'fork') {
				const key = headers.get('Idempotency-Key')!;
				const id = this.forks.get(key) ?? `fork${this.forks.size + 1}`;
				this.forks.set(key, id);
				return json(201, { ...this.session(), id });
			}
			if (parts[3] === 'turns') {
				const limit = Number(u.searchParams.get('limit') ?? 50);
				const last = Math.min(stored.length, Number(u.searchParams.get('before') ?? Infinity) - 1);
				const from = Math.max(0, last - limit);
				return json(200, { turns: stored.slice(from, last), ...(from > 0 ? { before: from + 1 } : {}) } satisfies Turns);
			}
			if (parts[3] === 'plan') {
				this.plan = Boolean(body!['on']);
				this.tell();
				return json(200, { on: this.plan });
			}
			if (parts[3] === 'stop') {
				for (const l of this.runs) this.withdraw(l);
				return new Response(null, { status: 204 });
			}
			return json(200, { ...this.session(), runs: this.#live().map((l) => this.run(l)) });
		}
		return problem(404);
	}

	#begun(): boolean {
		return this.runs.length > 0;
	}

	#start(body: Record<string, unknown>, key: string): Live {
		const known = this.#keys.get(key);
		if (known) return known;
		const n = this.runs.length + 1;
		if (body['plan']) this.plan = true;
		const told = makeRun(1000 + Math.floor(this.#r() * 1000), { run: `run${n}`, number: n, session: 's1' });
		const message: Message = { role: 'user', parts: [{ kind: 'text', text: String(body['message']) }] };
		told.run.message = told.turn.message = message;
		const l: Live = { told, at: 0 };
		this.#keys.set(key, l);
		this.runs.push(l);
		if (this.#live()[0] === l) this.step(1);
		else this.tell();
		return l;
	}

	#live(): Live[] {
		return this.runs.filter((l) => !l.withdrawn && l.at < l.told.events.length);
	}

	/** step lets some events of the going run happen, and the next run begin behind its end. */
	step(n: number): void {
		for (; n > 0; n--) {
			const [l] = this.#live();
			if (!l) break;
			l.at++;
		}
		const [next] = this.#live();
		if (next && next.at === 0) next.at = 1;
		this.tell();
	}

	withdraw(l: Live): void {
		if (l.at === 0) l.withdrawn = true;
		this.tell();
	}

	get idle(): boolean {
		return this.#live().length === 0;
	}

	run(l: Live): Run {
		const ended = l.withdrawn || l.at >= l.told.events.length;
		const { started, ...run } = l.told.run;
		return { ...run, ...(l.at > 0 && started ? { started } : {}), state: ended ? 'ended' : l.at === 0 ? 'queued' : 'running', ...(ended ? { status: l.withdrawn ? 'stopped' : l.told.turn.status } : {}) };
	}

	session(): Session {
		const [going, ...rest] = this.#live();
		return {
			agent: 'main', id: 's1', title: 'A session', origin: 'chat', caller, created: at(0), updated: at(this.runs.length), turns: this.#stored().length, usage: noUsage,
			status: going ? 'running' : 'done', ...(going && going.at > 0 ? { running: going.told.run.id } : {}), queued: rest.length, ...(this.plan ? { plan: true } : {}),
		};
	}

	/** stored are the records: of ended turns whole, of the going one its ended rounds. */
	#stored(): Turn[] {
		return this.runs
			.filter((l) => l.at > 0)
			.map((l, i) => {
				const { turn, events } = l.told;
				if (l.at >= events.length) return { ...turn, number: i + 1 };
				const begun = events.slice(0, l.at).filter((e) => e.type === 'model_call_started').length;
				return { ...turn, number: i + 1, status: 'running', error: undefined, ended: undefined, usd: undefined, rounds: turn.rounds.slice(0, Math.max(0, begun - 1)) };
			});
	}

	#open(u: URL, headers: Headers, signal: AbortSignal | undefined): Response {
		const s: Stream = { out: undefined as never, session: u.searchParams.get('session'), seen: new Map(), queued: new Set(), closed: false };
		const body = new ReadableStream<Uint8Array>({ start: (c) => void (s.out = c) });
		signal?.addEventListener('abort', () => {
			if (s.closed) return;
			s.closed = true;
			s.out.error(new DOMException('aborted', 'AbortError'));
		});
		const last = headers.get('Last-Event-ID');
		const [id, seq] = last?.split(':') ?? [];
		for (const l of this.runs) {
			const ended = l.withdrawn || l.at >= l.told.events.length;
			// Behind the run of Last-Event-ID come that and all later ones; without it what is going.
			if (l.told.run.id === id) s.seen.set(id, Number(seq));
			else if (ended && !(id && this.runs.findIndex((o) => o.told.run.id === id) < this.runs.indexOf(l))) s.seen.set(l.told.run.id, Infinity);
		}
		this.streams.push(s);
		s.out.enqueue(text.encode('retry: 100\n\n'));
		this.tell();
		return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
	}

	/** tell sends each viewer what it has not been told. */
	tell(): void {
		for (const s of this.streams) {
			if (s.closed) continue;
			let out = '';
			const send = (id: string, name: string, data: unknown) => (out += `${id ? `id: ${id}\n` : ''}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
			if (s.session) {
				for (const l of this.runs) {
					const { run, events } = l.told;
					if (l.withdrawn) {
						if (s.queued.delete(run.id)) {
							const end: Event = { run: run.id, session: 's1', seq: 2, time: at(1), type: 'run_finished', end: { status: 'stopped', rounds: 0, usage: noUsage } };
							send('', 'run_started', { ...end, seq: 1, type: 'run_started', end: undefined });
							send('', 'run_finished', end);
						}
						continue;
					}
					if (l.at === 0) {
						if (!s.queued.has(run.id)) send('', 'run_queued', this.run(l));
						s.queued.add(run.id);
						continue;
					}
					const from = s.seen.get(run.id) ?? 0;
					if (from >= l.at) continue;
					if (from === 0) send('', 'run_opened', this.run(l));
					for (const e of merge(events.slice(from, l.at), this.#r, this.#r())) send(`${run.id}:${e.seq}`, e.type, e);
					s.seen.set(run.id, l.at);
				}
			}
			if (this.#begun()) send('', 'session_changed', this.session());
			if (out) s.out.enqueue(text.encode(out));
		}
	}

	/** cut breaks a connection off. */
	cut(s: Stream): void {
		if (s.closed) return;
		s.closed = true;
		s.out.error(new TypeError('network error'));
	}
}

function json(status: number, body: unknown): Response {
	return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
}

function problem(status: number): Response {
	return new Response(JSON.stringify({ type: 'about:blank', title: 'no', status, code: 'not_found', detail: 'There is no such thing.' }), { status, headers: { 'Content-Type': 'application/problem+json' } });
}
