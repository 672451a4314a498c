// One conversation as a page has it open: what is known of it, the stream that
// tells what goes on, and what this page sends. The rules are in model.ts; here
// is when something is asked for.
//
// Life: open, then close. A conversation without a session begins with its first
// message; the same object goes on then, so that nothing on the page is drawn anew.
import { aborted, api, ApiError, sayError } from '../api/client';
import { follow, type Follower, type StreamState } from '../api/stream';
import { keepModel, recallModel } from './chosen';
import * as m from './model';
import * as outbox from './outbox';
import type { Event, Message, Run, Session, SessionChanged } from './types';

/** File is a file of a message, as the gateway keeps it. */
export interface File {
	id: string;
	name: string;
	mime: string;
	/** size is in bytes. */
	size: number;
}

export interface Options {
	/** onSession is told of every change of a session of the caller's. */
	onSession?: (s: SessionChanged) => void;
	/** onOpen is called when the stream begins to tell; what happened before it doesn't tell. */
	onOpen?: () => void;
	/** onBegun is told the session that a first message began. */
	onBegun?: (session: string) => void;
	/** onUnsent is told a message that could not be sent after close. */
	onUnsent?: (s: m.Send) => void;
}

const pageSize = 20; // turns asked for at once
const most = 200; // when a turn of long ago is sought
const impatience = 300; // milliseconds that the stream gets to open before the turns are asked for
/** Milliseconds between the tries to send a message, or to fork, when there is no answer. */
export const tries = [400, 1200, 3000, 6000];

export class Conversation {
	readonly agent: string;
	/** session is undefined until the first message was taken. */
	session = $state<string>();
	chat = $state.raw<m.Chat>(m.empty);
	/** detail is the session's own record: title, use, who began it. */
	detail = $state.raw<Session>();
	/** error is why the conversation can't be shown or followed. */
	error = $state.raw<unknown>();
	deleted = $state(false);
	stream = $state<StreamState>('connecting');
	/** earlier tells that earlier turns are being asked for, or why there are none. */
	earlier = $state.raw<{ loading: boolean; error?: unknown }>({ loading: false });
	stopping = $state(false);
	/** model is the one that was chosen for the messages to come; undefined when the agent's own answers. */
	model = $state<string>();
	/** lag is how far this machine's clock is ahead of the gateway's, in milliseconds. */
	lag = $state(0);

	readonly turns = $derived(m.turns(this.chat));
	readonly running = $derived(m.running(this.chat));
	#plan = $state(false); // before the conversation begins
	/** plan says that plan mode is on, or will be when the conversation begins. */
	readonly plan = $derived(this.session && this.detail ? (this.detail.plan ?? false) : this.#plan);

	#options: Options;
	#follower: Follower | undefined;
	#refused: unknown; // why the stream has ended for good
	#events: Event[] = [];
	#frame: { cancel: () => void } | undefined;
	#abort = new AbortController();
	#closed = false;
	#asked = new Set<string>(); // runs whose record was asked for
	#refreshing = false;
	#refreshAgain = false;
	#lagKnown = false;
	#line: Promise<unknown> = Promise.resolve(); // messages go one behind the other
	#mine = new Map<string, m.Waiting>(); // messages of this tab that wait, until it is known what became of them
	#traced = new Set<string>(); // of these, runs that were asked for

	constructor(agent: string, session: string | undefined, options: Options = {}) {
		this.agent = agent;
		this.session = session;
		this.model = recallModel(agent, session);
		this.#options = options;
	}

	/** open follows the conversation until close. */
	open(): void {
		this.#recall();
		this.#connect();
		this.resume();
		if (this.session) setTimeout(() => void (this.chat.loaded || this.refresh()), impatience);
	}

	/** resume sends what was said here and is not sent yet. */
	resume(): void {
		for (const s of outbox.unsent(this.agent, this.session)) if (!this.chat.sends.some((o) => o.key === s.key)) this.#send(s);
	}

	/** recall goes on with what this tab had waiting here before. */
	#recall(): void {
		if (!this.session) return;
		const { waiting, withdrawn } = outbox.rest(this.agent, this.session);
		for (const w of waiting) this.#mine.set(w.run, w);
		const keys = Object.fromEntries([...waiting, ...withdrawn].map((w) => [w.run, w.key]));
		this.chat = { ...this.chat, keys: { ...keys, ...this.chat.keys }, withdrawn };
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#follower?.close();
		this.#frame?.cancel();
		this.#abort.abort();
	}

	#connect(): void {
		this.#follower?.close();
		this.#refused = undefined;
		this.#follower = follow<unknown>('/api/events', {
			query: { agent: this.session ? this.agent : undefined, session: this.session },
			onEvent: (e) => this.#event(e.type, e.data),
			onState: (state) => {
				this.stream = state;
				if (state !== 'open') return;
				// Whatever happened while nothing was told is in the record.
				void this.refresh();
				this.#options.onOpen?.();
			},
			onError: (err) => (this.error = this.#refused = err),
		});
	}

	#event(type: string, data: unknown): void {
		switch (type) {
			case 'session_changed':
				this.#changed(data as SessionChanged);
				return;
			case 'run_queued':
				this.#flush();
				this.#set(m.applyRun(this.chat, data as Run));
				return;
			case 'run_opened': // its events follow from the first
				this.#flush();
				this.#set(m.applyRun(this.chat, data as Run));
				return;
			case 'run_replayed': // the same, made from its record
				this.#flush();
				this.#set(m.restart(this.chat, (data as { run: string }).run, true));
				return;
		}
		const e = data as Event;
		if (typeof e?.run !== 'string' || typeof e.seq !== 'number') return;
		this.#clock(e.time);
		this.#events.push(e);
		this.#frame ??= nextFrame(() => this.#flush());
	}

	/** clock finds out how clocks differ: by the event that came fastest. */
	#clock(time: string): void {
		const lag = Date.now() - Date.parse(time);
		if (Number.isNaN(lag) || (this.#lagKnown && lag >= this.lag)) return;
		this.#lagKnown = true;
		this.lag = lag;
	}

	/** flush takes in the events that came since the last picture. */
	#flush(): void {
		this.#frame?.cancel();
		this.#frame = undefined;
		if (this.#events.length === 0) return;
		let c = this.chat;
		for (const e of this.#events) c = m.applyEvent(c, e);
		this.#events = [];
		this.#set(c);
	}

	/** set shows a state and asks for what it lacks. One that is closed still sends what it was given. */
	#set(c: m.Chat): void {
		if (c === this.chat) return;
		const before = this.chat;
		this.chat = c;
		if (c.sends !== before.sends) outbox.keepUnsent(this.agent, this.session, before.sends, c.sends);
		this.#keepMine(before);
		if (this.#closed) return;
		for (const run of m.unknown(c)) void this.#ask(run);
		if (m.unrecorded(c).length > m.unrecorded(before).length) void this.refresh();
		if (this.stopping && !m.running(c)) this.stopping = false;
	}

	/** keepMine follows what this tab has waiting until it is known what became of it. */
	#keepMine(before: m.Chat): void {
		const c = this.chat;
		if (!this.session) return;
		const had = [...this.#mine.values()];
		let changed = c.withdrawn !== before.withdrawn;
		for (const w of c.waiting) {
			if (!c.keys[w.run] || this.#mine.get(w.run) === w) continue;
			this.#mine.set(w.run, w);
			changed = true;
		}
		for (const [run, w] of this.#mine) {
			if (c.waiting.some((o) => o.run === run)) continue;
			if (m.accounted(c, run)) changed = this.#mine.delete(run);
			else if (c.loaded && !this.#closed) void this.#trace(w);
		}
		if (!changed) return;
		outbox.keepRest(this.agent, this.session, { waiting: had, withdrawn: before.withdrawn }, { waiting: [...this.#mine.values()], withdrawn: c.withdrawn });
	}

	/** trace finds out what became of a message that waits no more though nobody has told of it; once for each reading of the session. */
	async #trace(w: m.Waiting): Promise<void> {
		if (this.#traced.has(w.run)) return;
		this.#traced.add(w.run);
		try {
			const r = await api.get('/api/runs/{id}', { path: { id: w.run }, signal: this.#abort.signal });
			if (r.state === 'queued') return; // that is told soon
			this.#found(w, r.state === 'ended' && r.status === 'stopped' && !r.started);
		} catch (err) {
			// Of one that was withdrawn or taken in long ago nothing is left.
			if (err instanceof ApiError && err.missing) this.#found(w, !m.joined(this.chat, m.textOf(w.message.parts)));
		}
	}

	#found(w: m.Waiting, withdrawn: boolean): void {
		this.#set(withdrawn ? m.withdraw(this.chat, w) : m.settle(this.chat, w.run));
	}

	/** ask finds out what was said in a run of another page. */
	async #ask(run: string): Promise<void> {
		if (this.#asked.has(run)) return;
		this.#asked.add(run);
		try {
			const r = await api.get('/api/runs/{id}', { path: { id: run }, signal: this.#abort.signal });
			this.#set(m.applyRun(this.chat, r));
		} catch (err) {
			// A run without a record was withdrawn; otherwise the turns tell of it later.
			if (!aborted(err) && !(err instanceof ApiError && err.missing)) this.#asked.delete(run);
		}
	}

	#changed(s: SessionChanged): void {
		this.#options.onSession?.(s);
		if (s.agent !== this.agent || s.id !== this.session) return;
		if (s.deleted) {
			this.deleted = true;
			return;
		}
		this.detail = s;
		const waits = this.chat.waiting.length + this.chat.sends.filter((x) => !x.failed).length;
		const goes = m.running(this.chat)?.run;
		if ((s.queued ?? 0) !== waits || (s.running && s.running !== goes) || (!s.running && goes)) void this.refresh();
	}

	/** retry reads again what could not be read, and follows what is followed no more. */
	retry(): void {
		if (this.#refused) this.#connect();
		else void this.refresh();
	}

	/** refresh reads the last turns and what goes on; once at a time, and once more when asked meanwhile. */
	async refresh(): Promise<void> {
		if (!this.session || this.#closed) return;
		if (this.#refreshing) {
			this.#refreshAgain = true;
			return;
		}
		this.#refreshing = true;
		try {
			do {
				this.#refreshAgain = false;
				await this.#read(this.session);
			} while (this.#refreshAgain && !this.#closed);
			this.error = this.#refused;
		} catch (err) {
			if (!aborted(err)) this.error = err;
		} finally {
			this.#refreshing = false;
		}
	}

	async #read(session: string): Promise<void> {
		const path = { agent: this.agent, id: session };
		const asked = this.chat;
		const gone = m.unrecorded(asked);
		this.#traced.clear();
		const { signal } = this.#abort;
		const [page, detail] = await Promise.all([
			api.get('/api/sessions/{agent}/{id}/turns', { path, query: { limit: pageSize }, signal }),
			api.get('/api/sessions/{agent}/{id}', { path, signal }),
		]);
		this.#flush();
		const { runs, ...own } = detail;
		this.detail = own;
		this.#set(m.applyRuns(m.applyPage(this.chat, page, { gone }), runs, asked));
	}

	/** showEarlier reads turns before those that are shown: a page, or towards the turn that is sought. */
	async showEarlier(sought = Infinity): Promise<void> {
		const before = this.chat.before;
		if (before === undefined || this.earlier.loading || !this.session) return;
		const limit = Math.min(most, Math.max(pageSize, before - sought));
		this.earlier = { loading: true };
		try {
			const page = await api.get('/api/sessions/{agent}/{id}/turns', {
				path: { agent: this.agent, id: this.session },
				query: { limit, before },
				signal: this.#abort.signal,
			});
			this.#flush();
			this.#set(m.applyPage(this.chat, page, { earlier: true }));
			this.earlier = { loading: false };
		} catch (err) {
			this.earlier = aborted(err) ? { loading: false } : { loading: false, error: err };
		}
	}

	/** choose sets the model of the messages to come. */
	choose(model: string | undefined): void {
		this.model = model;
		keepModel(this.agent, this.session, model);
	}

	/** send hands a message over. It is on the page at once, and stays there with a way to try again when it could not be sent. */
	send(text: string, files: readonly File[], busy: m.Send['busy']): void {
		const parts: Message['parts'] = [];
		if (text) parts.push({ kind: 'text', text });
		for (const f of files) parts.push({ kind: 'media', media: { mime: f.mime, name: f.name, size: f.size } });
		this.#send({ key: newKey(), message: { role: 'user', parts }, attachments: files.map((f) => f.id), model: this.model, busy, ...(!this.session && this.plan ? { plan: true } : {}) });
	}

	/** sendAgain tries a message that could not be sent once more. The same key never starts two runs. */
	sendAgain(key: string): void {
		const s = this.chat.sends.find((s) => s.key === key);
		if (s?.failed) this.#send({ ...s, model: this.model }); // which may be why it was refused
	}

	/** discard forgets a message that could not be sent and gives what was in it. */
	discard(key: string): { text: string; files: File[] } {
		const s = this.chat.sends.find((s) => s.key === key);
		this.#set(m.dropSend(this.chat, key));
		if (!s) return { text: '', files: [] };
		const media = s.message.parts.flatMap((p) => p.media ?? []);
		const files = s.attachments.map((id, i) => ({ id, name: media[i]?.name ?? '', mime: media[i]?.mime ?? '', size: media[i]?.size ?? 0 }));
		return { text: m.textOf(s.message.parts), files };
	}

	#send(s: m.Send): void {
		const before = this.#line;
		const run = outbox.deliver(
			s.key,
			() => before.then(() => this.#deliver(s)),
			() => this.#set(m.dropSend(this.chat, s.key)),
		);
		this.#set(m.sending(this.chat, s));
		this.#line = run.then(
			(r) => this.#sent(s.key, r),
			(err: unknown) => {
				this.#set(m.notSent(this.chat, s.key, why(err)));
				if (this.#closed && this.chat.sends.some((o) => o.key === s.key)) this.#options.onUnsent?.(s);
			},
		);
	}

	#sent(key: string, run: Run): void {
		this.#flush();
		if (!this.session) this.#begin(run.session);
		this.#set(m.sent(this.chat, key, run));
		if (run.state === 'ended') void this.refresh();
	}

	/** deliver tries until somebody answers. */
	#deliver(s: m.Send): Promise<Run> {
		return insist(() => this.#post(s));
	}

	#post(s: m.Send): Promise<Run> {
		return api.post('/api/runs', {
			body: {
				agent: this.agent,
				...(this.session ? { session: this.session } : {}),
				message: m.textOf(s.message.parts),
				...(s.attachments.length > 0 ? { attachments: [...s.attachments] } : {}),
				...(s.model ? { model: s.model } : {}),
				...(s.plan && !this.session ? { plan: true } : {}),
				while_busy: s.busy,
				stream: false,
			},
			headers: { 'Idempotency-Key': s.key },
		});
	}

	/** begin goes on in the session that the first message made. */
	#begin(session: string): void {
		const { sends } = this.chat;
		outbox.keepUnsent(this.agent, undefined, sends, []);
		keepModel(this.agent, undefined, undefined);
		keepModel(this.agent, session, this.model);
		this.session = session;
		outbox.keepUnsent(this.agent, session, [], sends);
		if (this.#closed) return;
		this.#connect();
		this.#options.onBegun?.(session);
	}

	/** stop ends the answer that is being written and withdraws what waits. It
	 *  gives what this tab had waiting; what others had stays in sight. */
	async stop(): Promise<Message[]> {
		const session = this.session;
		if (!session || this.stopping) return [];
		this.stopping = true;
		const { waiting } = this.chat;
		const mine = waiting.filter((w) => this.#mine.has(w.run));
		try {
			await this.#takeBack(mine, () => api.post('/api/sessions/{agent}/{id}/stop', { path: { agent: this.agent, id: session } }));
		} catch (err) {
			this.stopping = false;
			throw err;
		}
		let c = this.chat;
		for (const w of waiting) if (!m.accounted(c, w.run)) c = m.withdraw(c, w);
		this.#set(c);
		if (!m.running(this.chat)) this.stopping = false;
		return mine.map((w) => w.message);
	}

	/** withdraw takes back a message that waits and gives it. */
	async withdraw(run: string): Promise<Message | undefined> {
		const w = this.chat.waiting.find((w) => w.run === run);
		await this.#takeBack(w ? [w] : [], () => api.post('/api/runs/{id}/stop', { path: { id: run } }));
		return w?.message;
	}

	/** takeBack withdraws messages for this page: nothing of them is left in sight. */
	async #takeBack(waiting: readonly m.Waiting[], by: () => Promise<unknown>): Promise<void> {
		const runs = waiting.map((w) => w.run);
		this.#set(m.taking(this.chat, runs));
		try {
			await by();
		} catch (err) {
			this.#set(m.taking(this.chat, runs, false));
			throw err;
		}
		this.#set(runs.reduce(m.settle, this.chat));
	}

	/** settle forgets a message that was withdrawn, and gives it. */
	settle(run: string): Message | undefined {
		const w = this.chat.withdrawn.find((w) => w.run === run);
		this.#set(m.settle(this.chat, run));
		return w?.message;
	}

	/** fork makes a session that begins as this one did, up to a turn or before it. The same key makes no second one. */
	fork(turn: string, mode: 'after' | 'before', key = newKey()): Promise<Session> {
		const path = { agent: this.agent, id: this.session ?? '' };
		return insist(() => api.post('/api/sessions/{agent}/{id}/fork', { path, body: { turn, mode }, headers: { 'Idempotency-Key': key } }));
	}

	/** setPlan turns plan mode on or off, from the next step on. */
	async setPlan(on: boolean): Promise<void> {
		if (!this.session) {
			this.#plan = on;
			return;
		}
		const { session } = this;
		const set = await insist(() => api.put('/api/sessions/{agent}/{id}/plan', { path: { agent: this.agent, id: session }, body: { on } }));
		if (this.detail) this.detail = { ...this.detail, plan: set.on };
	}

	async rename(title: string): Promise<void> {
		if (!this.session) return;
		this.detail = await api.patch('/api/sessions/{agent}/{id}', { path: { agent: this.agent, id: this.session }, body: { title } });
	}
}

/** newKey makes a message's key. Over plain HTTP from another machine browsers have no randomUUID. */
export function newKey(): string {
	if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
	return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

/** insist asks again, for a while, where that may help. */
async function insist<T>(ask: () => Promise<T>): Promise<T> {
	for (let attempt = 0; ; attempt++) {
		try {
			return await ask();
		} catch (err) {
			const wait = tries[attempt];
			if (wait === undefined || !(err instanceof ApiError && err.passing)) throw err;
			await new Promise((done) => setTimeout(done, wait));
		}
	}
}

/** why says why a message could not be sent, and what to do. */
function why(err: unknown): string {
	if (err instanceof ApiError && err.status === 413) return 'It is longer than a message may be. Give the text as a file instead.';
	return sayError(err).text;
}

/** nextFrame calls f with the next picture, or soon when nobody looks. */
function nextFrame(f: () => void): { cancel: () => void } {
	if (document.hidden || typeof requestAnimationFrame !== 'function') {
		const t = setTimeout(f, 100);
		return { cancel: () => clearTimeout(t) };
	}
	const t = requestAnimationFrame(f);
	// A tab that goes out of sight draws no more pictures.
	const later = setTimeout(f, 1000);
	return {
		cancel: () => {
			cancelAnimationFrame(t);
			clearTimeout(later);
		},
	};
}
