// Follows a stream of the gateway over lost connections and hidden tabs. The
// browser's EventSource can't say why it failed, sends no first Last-Event-ID
// and never lets go of its connection, of which a host gets six.
import { parseJSON } from '../json';
import { connection } from '../state/connection.svelte';
import { aborted, ApiError, failure, signIn, silence, url } from './client';
import { Parser } from './sse';

export type StreamState = 'connecting' | 'open' | 'waiting' | 'paused';

// StreamEvent is one event; data is what its JSON says.
export interface StreamEvent<T = unknown> {
	id: string;
	type: string;
	data: T;
}

export interface Follow<T = unknown> {
	query?: Record<string, string | number | undefined>;
	onEvent: (event: StreamEvent<T>) => void;
	// onState tells each change. It is not called after the end.
	onState?: (state: StreamState) => void;
	// onError tells why the stream ended for good: the server said no and will
	// say so again. It is called at most once and nothing follows it.
	onError?: (err: ApiError) => void;
	// onEnd tells that the server ended it, so that until held. Nothing follows it.
	onEnd?: () => void;
	// until says that an event is the last one. Without it the stream never
	// ends by itself: an end by the server is a lost connection.
	until?: (event: StreamEvent<T>) => boolean;
	lastEventId?: string;
	// signal ends it; nothing is called after.
	signal?: AbortSignal;
}

export interface Follower {
	// lastEventId is that of the last event which onEvent was told.
	readonly lastEventId: string;
	close(): void;
}

// Times in milliseconds.
export const pauseAfter = 10_000; // hidden for so long
const firstWait = 1_000;
const longestWait = 30_000;

// follow opens the stream and keeps it open until it ends or is closed. Events
// come in order, each id once as far as the server keeps its promise about
// Last-Event-ID.
export function follow<T = unknown>(path: string, options: Follow<T>): Follower {
	const f = new Following<T>(path, options);
	f.begin();
	return f;
}

class Following<T> implements Follower {
	lastEventId: string;

	#target: string;
	#options: Follow<T>;
	#state: StreamState | undefined;
	#closed = false;
	#abort: AbortController | undefined; // of the connection
	#timer: ReturnType<typeof setTimeout> | undefined; // until the next try
	#hidden: ReturnType<typeof setTimeout> | undefined; // until the pause
	#watch: ReturnType<typeof setTimeout> | undefined; // until silence means death
	#failures = 0;
	#retry = firstWait;

	constructor(path: string, options: Follow<T>) {
		this.#target = url(path, {}, options.query);
		this.#options = options;
		this.lastEventId = options.lastEventId ?? '';
	}

	begin(): void {
		const { signal } = this.#options;
		if (signal?.aborted) {
			this.#closed = true;
			return;
		}
		signal?.addEventListener('abort', this.close, { once: true });
		document.addEventListener('visibilitychange', this.#seen);
		window.addEventListener('online', this.#online);
		// Many tabs opened out of sight would take all connections of the host.
		if (document.hidden) this.#tell('paused');
		else this.#connect();
	}

	close = (): void => {
		if (this.#closed) return;
		this.#closed = true;
		this.#options.signal?.removeEventListener('abort', this.close);
		document.removeEventListener('visibilitychange', this.#seen);
		window.removeEventListener('online', this.#online);
		clearTimeout(this.#hidden);
		this.#drop();
	};

	// drop lets go of the connection, or of the wait for one.
	#drop(): void {
		clearTimeout(this.#timer);
		clearTimeout(this.#watch);
		this.#timer = undefined;
		this.#abort?.abort();
		this.#abort = undefined;
	}

	#tell(state: StreamState): void {
		if (this.#closed || state === this.#state) return;
		this.#state = state;
		this.#options.onState?.(state);
	}

	#seen = (): void => {
		clearTimeout(this.#hidden);
		if (document.hidden) {
			if (this.#state !== 'paused') this.#hidden = setTimeout(() => this.#pause(), pauseAfter);
		} else if (this.#state === 'paused' || this.#state === 'waiting') {
			this.#connect();
		}
	};

	#online = (): void => {
		if (this.#state === 'waiting') this.#connect();
	};

	#pause(): void {
		this.#drop();
		this.#tell('paused');
	}

	#connect(): void {
		this.#drop();
		if (this.#closed) return;
		const abort = new AbortController();
		this.#abort = abort;
		this.#tell('connecting');
		this.#read(abort).then(
			(ended) => {
				if (this.#abort !== abort) return;
				if (ended) this.#finish();
				else this.#again();
			},
			(err: unknown) => {
				if (this.#abort !== abort) return;
				if (err instanceof ApiError) this.#refused(err);
				else if (err instanceof Broken) this.#again(err.after);
				else {
					// A handler of the page threw. It must be seen, and the stream must not tell the same event again for ever.
					this.close();
					reportError(err);
				}
			},
		);
	}

	#finish(): void {
		this.close();
		this.#options.onEnd?.();
	}

	#refused(err: ApiError): void {
		this.close();
		if (err.status === 401) signIn();
		this.#options.onError?.(err);
	}

	// again waits, longer each time, and a little differently in each tab.
	#again(atLeast = 0): void {
		clearTimeout(this.#watch);
		this.#abort?.abort();
		this.#abort = undefined;
		if (this.#closed) return;
		const wait = Math.max(atLeast, Math.min(longestWait, this.#retry * 2 ** this.#failures) * (0.75 + Math.random() / 2));
		this.#failures = Math.min(this.#failures + 1, 10);
		this.#tell('waiting');
		connection.lost(Date.now() + wait);
		this.#timer = setTimeout(() => this.#connect(), wait);
	}

	// alive is called with every byte.
	#alive(abort: AbortController): void {
		clearTimeout(this.#watch);
		this.#watch = setTimeout(() => {
			if (this.#abort === abort) this.#again();
		}, silence);
	}

	// read gives true when the stream has ended, false when it broke off. It
	// throws an ApiError for a refusal that stays, Broken for one that may pass.
	async #read(abort: AbortController): Promise<boolean> {
		this.#alive(abort);
		const response = await this.#open(abort);
		if (response.status === 204) return true;
		const reader = response.body?.getReader();
		if (!reader) throw new Broken();
		this.#alive(abort);
		connection.reached();
		this.#tell('open');
		const parser = new Parser(this.lastEventId);
		for (;;) {
			const piece = await reader.read().catch(() => {
				throw new Broken();
			});
			if (abort.signal.aborted) return false;
			if (piece.done) return false;
			this.#alive(abort);
			const messages = parser.push(piece.value);
			if (parser.retry !== undefined) this.#retry = Math.min(longestWait, Math.max(100, parser.retry));
			for (const m of messages) {
				const event: StreamEvent<T> = { id: m.id, type: m.type, data: decode<T>(m.type, m.data) };
				this.#failures = 0;
				this.lastEventId = m.id;
				this.#options.onEvent(event);
				if (abort.signal.aborted) return false;
				if (this.#options.until?.(event)) {
					abort.abort();
					return true;
				}
			}
		}
	}

	async #open(abort: AbortController): Promise<Response> {
		let response: Response;
		try {
			response = await fetch(this.#target, {
				headers: { Accept: 'text/event-stream', ...(this.lastEventId ? { 'Last-Event-ID': this.lastEventId } : {}) },
				credentials: 'same-origin',
				cache: 'no-store',
				signal: abort.signal,
			});
		} catch (err) {
			if (aborted(err)) throw err;
			throw new Broken();
		}
		const { status } = response;
		// 204 means that there is nothing more to come.
		if (status === 204) return response;
		if (response.ok) {
			if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) return response;
			abort.abort();
			throw new ApiError(status, 'malformed', 'The gateway’s answer is not a stream of events.', response.headers.get('X-Request-ID') ?? '');
		}
		if (status === 429 || status >= 500) {
			// It has answered, so the body is let go.
			await response.body?.cancel();
			const seconds = Number(response.headers.get('Retry-After'));
			throw new Broken(Number.isFinite(seconds) ? Math.min(seconds * 1000, longestWait) : 0);
		}
		throw await failure(response);
	}
}

// Broken is a connection that another try may mend.
class Broken {
	constructor(readonly after = 0) {}
}

function decode<T>(type: string, data: string): T {
	try {
		return parseJSON(data) as T;
	} catch {
		throw new ApiError(200, 'malformed', `An event of the gateway (${type}) is not JSON.`);
	}
}
