// The typed client of the gateway's interface. Paths, parameters, bodies and
// answers come from the generated schema; a wrong one does not compile.
import { parseJSON, writeJSON } from '../json';
import { connection } from '../state/connection.svelte';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

// Operation is what the schema says of a path and method; never when it has none.
type Operation<P extends keyof paths, M extends Method> = Exclude<paths[P][M], undefined>;

// PathOf are the paths that have a method.
export type PathOf<M extends Method> = {
	[P in keyof paths]: [Operation<P, M>] extends [never] ? never : P;
}[keyof paths];

type Parameters<O, In extends 'path' | 'query'> = O extends { parameters: { [K in In]?: infer V } } ? Exclude<V, undefined> : never;

// Query values may be numbers or absent; the wire has text.
type QueryOf<O> = { [K in keyof Parameters<O, 'query'>]?: string | number | undefined };

type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? B : never;

// A stream is no answer of a call: which of its answers a route gives, the request says.
type JSONOf<R> = R extends { content: { 'application/json': infer A } } ? A : R extends { content: object } ? never : undefined;

type Success = 200 | 201 | 202 | 204;

// Answer is the JSON of success, undefined when the route answers without content.
export type Answer<O> = O extends { responses: infer R } ? JSONOf<R[keyof R & Success]> : never;

// Request is what a call gives: only what the path needs must be there.
export type Request<O> = {
	query?: QueryOf<O>;
	headers?: Record<string, string>;
	signal?: AbortSignal;
	// wait is how long the answer may take to begin, in milliseconds; silence by default.
	wait?: number;
} & ([Parameters<O, 'path'>] extends [never] ? { path?: undefined } : { path: Parameters<O, 'path'> }) &
	([BodyOf<O>] extends [never] ? { body?: undefined } : { body: BodyOf<O> });

type Rest<O> = object extends Request<O> ? [request?: Request<O>] : [request: Request<O>];

// ApiError is an answer that says no, or no answer at all (status 0, code
// "offline"). Its message is a sentence for people.
export class ApiError extends Error {
	override readonly name = 'ApiError';

	constructor(
		readonly status: number,
		readonly code: string,
		readonly detail: string,
		readonly requestId: string = '',
		readonly outcome: unknown = undefined,
	) {
		super(detail);
	}

	// passing tells that the same request may go through later.
	get passing(): boolean {
		return [0, 429, 502, 503, 504].includes(this.status);
	}

	// missing tells that the thing is not there, or not the caller's.
	get missing(): boolean {
		return this.status === 404;
	}
}

// aborted tells an abort by our own signal from a failure.
export function aborted(err: unknown): boolean {
	return typeof err === 'object' && err !== null && (err as Error).name === 'AbortError';
}

// url fills the braces of a path and appends the query without absent and
// empty values.
export function url(path: string, fill: Record<string, string> = {}, query: object = {}): string {
	const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
		const value = fill[name];
		if (value === undefined || value === '') throw new Error(`${path} needs ${name}`);
		return encodeURIComponent(value);
	});
	const search = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) {
		if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
	}
	const text = search.toString();
	return text ? `${filled}?${text}` : filled;
}

let leaving = false;

// signIn leaves for the sign-in page, which leads back to where the person is.
export function signIn(): void {
	if (leaving) return;
	leaving = true;
	location.assign(`/signin?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
}

// failure reads the problem of an answer that says no.
export async function failure(response: Response): Promise<ApiError> {
	const id = response.headers.get('X-Request-ID') ?? '';
	let text = '';
	try {
		text = await response.text();
		const problem = JSON.parse(text) as Partial<Schemas['Problem']>;
		if (typeof problem.detail === 'string' && problem.detail) {
			return new ApiError(response.status, problem.code ?? 'unknown', problem.detail, problem.request_id ?? id, problem.outcome);
		}
	} catch {
		// What is not a problem document (a proxy's page, say) is told by its status below.
	}
	const reason = response.statusText || 'no reason given';
	return new ApiError(response.status, 'unknown', `The gateway answered ${response.status} (${reason}).`, id);
}

// silence is how long an answer may take to begin before its connection is taken
// for dead, in milliseconds: a computer that slept, or a router that forgot the
// connection, tells nobody. A stream with nothing to say shows every 15 seconds
// that it lives.
export const silence = 20_000;

// bodyTime is how long the rest of an answer may take, a file on a slow line too.
// It is not read by pieces to see it come: Chromium reports such a request as
// broken off, or as one that never ends.
export const bodyTime = 6 * silence;

// Patience ends a request that takes too long.
class Patience {
	readonly #abort = new AbortController();
	readonly #outer: AbortSignal | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	// out says that it is at an end: the connection is dead.
	out = false;

	constructor(outer?: AbortSignal | null) {
		this.#outer = outer ?? undefined;
		if (this.#outer?.aborted) this.#leave();
		else this.#outer?.addEventListener('abort', this.#leave);
	}

	get signal(): AbortSignal {
		return this.#abort.signal;
	}

	#leave = () => this.#abort.abort(this.#outer?.reason);

	// wait ends the request in so many milliseconds, instead of at the time before.
	wait(ms: number): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			this.out = true;
			this.#abort.abort();
		}, ms);
	}

	// end must be called when nothing more is to come.
	end(): void {
		clearTimeout(this.#timer);
		this.#outer?.removeEventListener('abort', this.#leave);
	}
}

function offline(): ApiError {
	connection.lost();
	return new ApiError(0, 'offline', 'The gateway does not answer. Check that it runs and that you are connected.');
}

// ask sends a request and gives the answer of success, read to its end. It
// throws an ApiError, or the AbortError of the request's own signal; without a
// sign-in it leaves for the sign-in page. A question whose connection died
// without a word is asked once more; what changes something is left to its caller.
export async function ask(target: string, init: RequestInit, wait = silence): Promise<Response> {
	const response = await whole(target, init, (init.method ?? 'GET') === 'GET' ? 1 : 0, wait);
	connection.reached();
	if (response.ok) return response;
	const err = await failure(response);
	if (response.status === 401) signIn();
	throw err;
}

// whole gives an answer whose body is here.
async function whole(target: string, init: RequestInit, more: number, wait: number): Promise<Response> {
	const patience = new Patience(init.signal);
	let response: Response;
	let body: ArrayBuffer;
	try {
		patience.wait(wait);
		response = await fetch(target, { credentials: 'same-origin', ...init, signal: patience.signal });
		patience.wait(bodyTime);
		body = await response.arrayBuffer();
	} catch (err) {
		if (init.signal?.aborted) throw err;
		if (!patience.out || more === 0) throw offline();
		return whole(target, init, more - 1, wait);
	} finally {
		patience.end();
	}
	const { status, statusText, headers } = response;
	// An answer without content may not be given even an empty body.
	return new Response(body.byteLength > 0 ? body : null, { status, statusText, headers });
}

async function call(method: Method, path: string, request: Request<unknown> | undefined): Promise<unknown> {
	const { path: fill, query, body, headers, signal, wait } = (request ?? {}) as {
		path?: Record<string, string>;
		query?: object;
		body?: unknown;
		headers?: Record<string, string>;
		signal?: AbortSignal;
		wait?: number;
	};
	const init = {
		method: method.toUpperCase(),
		headers: {
			Accept: 'application/json',
			...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
			...headers,
		},
		...(body === undefined ? {} : { body: writeJSON(body) }),
		...(signal ? { signal } : {}),
	};
	const response = await ask(url(path, fill, query), init, wait);
	if (response.status === 204) return undefined;
	return json(response);
}

async function json(response: Response): Promise<unknown> {
	const text = await response.text();
	if (!text) return undefined;
	try {
		return parseJSON(text);
	} catch {
		const id = response.headers.get('X-Request-ID') ?? '';
		throw new ApiError(response.status, 'malformed', 'The gateway’s answer is not the JSON that was expected.', id);
	}
}

type Call<M extends Method> = <P extends PathOf<M>>(path: P, ...rest: Rest<Operation<P, M>>) => Promise<Answer<Operation<P, M>>>;

function caller<M extends Method>(method: M): Call<M> {
	return ((path: string, request?: Request<unknown>) => call(method, path, request)) as Call<M>;
}

// api calls the interface: `api.get('/api/sessions/{agent}/{id}', { path: { agent, id } })`.
export const api = {
	get: caller('get'),
	post: caller('post'),
	put: caller('put'),
	patch: caller('patch'),
	del: caller('delete'),

	// upload keeps a file for one of the next messages. progress is told parts
	// of 1 as the body leaves.
	upload(file: Blob, name: string, options: { signal?: AbortSignal; progress?: (part: number) => void } = {}): Promise<Schemas['Attachment']> {
		// fetch tells nothing of a body's progress.
		const { promise, resolve, reject } = withResolvers<Schemas['Attachment']>();
		const request = new XMLHttpRequest();
		request.open('POST', url('/api/attachments', {}, { name }));
		request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
		request.setRequestHeader('Accept', 'application/json');
		const abort = () => request.abort();
		options.signal?.addEventListener('abort', abort, { once: true });
		// What left the page may lie in buffers of a slow line for a while.
		let dead = false;
		let watch: ReturnType<typeof setTimeout> | undefined;
		const heard = () => {
			clearTimeout(watch);
			watch = setTimeout(() => {
				dead = true;
				request.abort();
			}, 3 * silence);
		};
		request.upload.onprogress = (e) => {
			heard();
			if (e.lengthComputable && e.total > 0) options.progress?.(e.loaded / e.total);
		};
		const lost = () => {
			connection.lost();
			reject(new ApiError(0, 'offline', `${name} could not be sent: the gateway does not answer.`));
		};
		request.onabort = () => (dead ? lost() : reject(new DOMException('the upload was stopped', 'AbortError')));
		request.onerror = lost;
		request.onload = () => {
			connection.reached();
			const headers = new Headers({ 'X-Request-ID': request.getResponseHeader('X-Request-ID') ?? '' });
			const bare = request.status === 204 || request.status === 205 || request.status === 304;
			const response = new Response(bare ? null : request.responseText, { status: request.status, statusText: request.statusText, headers });
			if (response.ok) {
				json(response).then((a) => resolve(a as Schemas['Attachment']), reject);
				return;
			}
			if (response.status === 401) signIn();
			failure(response).then(reject, reject);
		};
		request.onloadend = () => {
			clearTimeout(watch);
			options.signal?.removeEventListener('abort', abort);
		};
		if (options.signal?.aborted) {
			reject(new DOMException('the upload was stopped', 'AbortError'));
		} else {
			heard();
			request.send(file);
		}
		return promise;
	},
};

// Promise.withResolvers is newer than the browsers that the page is built for.
function withResolvers<T>() {
	let resolve!: (value: T) => void;
	let reject!: (reason: unknown) => void;
	const promise = new Promise<T>((yes, no) => {
		resolve = yes;
		reject = no;
	});
	return { promise, resolve, reject };
}

// sayError gives the sentence of an error and the id of its request.
export function sayError(err: unknown): { text: string; requestId: string } {
	if (err instanceof ApiError) return { text: err.detail, requestId: err.requestId };
	if (err instanceof Error) return { text: err.message, requestId: '' };
	return { text: String(err), requestId: '' };
}
