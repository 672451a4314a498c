// The state of one conversation and how it changes. Everything here is pure:
// a change returns a new Chat that shares what stayed the same, so that a page
// redraws only the turns whose view is another object than before.
//
// A turn is told twice: by its record (GET …/turns), which is complete once it
// has ended, and by its events, which come as it happens. While it runs, the
// events are shown; when its record says how it ended, that is shown, and stays.
// So it doesn't matter when a page was opened, which events it missed and how
// often it was told the same ones: every page ends with the same view.
//
// Start reading at Chat, then applyEvent and applyPage.
import { parseJSON } from '../json';
import type { Approval, Event, Message, Outcome, Part, Principal, Round, Run, Status, Target, Turn, Turns, Usage } from './types';

/** Notice is a word of the gateway between those of the model. */
export interface Notice {
	readonly kind: string;
	readonly text: string;
}

/** Call is one tool call, from its start on. */
export interface Call {
	readonly id: string;
	/** Its place among the calls of its round. */
	readonly index: number;
	readonly name: string;
	readonly args?: unknown;
	readonly started?: string;
	/** What the tool last told about how far it is. */
	readonly progress?: string;
	/** What people are asked before it runs, or before a call that it makes does, while nobody has answered. */
	readonly asked?: readonly Approval[];
	/** How it ended; missing while it runs. */
	readonly outcome?: Outcome;
}

/** Made is an image or a file that the model made; id is its place among the media of its turn. */
export interface Made {
	readonly id: string;
	readonly name: string;
	readonly mime: string;
}

/** Failed is a model call that failed. */
export interface Failed {
	readonly model: string;
	readonly why: string;
}

/** RoundView is one model call with the tool calls of its answer. */
export interface RoundView {
	/** What the person said meanwhile, just before this model call. */
	readonly joined: readonly string[];
	/** Notices before and behind the words of the model. */
	readonly before: readonly Notice[];
	readonly behind: readonly Notice[];
	readonly reasoning: string;
	readonly text: string;
	readonly calls: readonly Call[];
	readonly made?: readonly Made[];
	readonly target?: Target;
	readonly usage?: Usage;
	/** Whether the answer came from the cache and no model was asked. */
	readonly recalled?: boolean;
	/** Whether no model gave an answer: the gateway said what stands here, or all calls for it failed. */
	readonly unanswered?: boolean;
	/** Model calls for it that failed, in order; known of a record. */
	readonly failed?: readonly Failed[];
	readonly started?: string;
	readonly firstToken?: string;
	readonly replied?: string;
	readonly ended?: string;
}

/** Told is a turn as its events or its record tell it. */
interface Told {
	/** Number of the last event that is in here. */
	readonly seq: number;
	readonly status: Status;
	readonly error?: string;
	/** Why it has not begun yet. */
	readonly waiting?: string;
	readonly rounds: readonly RoundView[];
	/** Notices and words of the person that came before the round they belong to. */
	readonly pending: readonly Notice[];
	readonly taken: readonly string[];
	/** The run that took this message in; then this one is no turn. */
	readonly into?: string;
	readonly started?: string;
	readonly ended?: string;
	readonly usage?: Usage;
	readonly usd?: number;
}

/** TurnView is what is shown of a turn. */
export interface TurnView {
	/** Names the turn on the page; it stays the same for as long as it is shown. */
	readonly key: string;
	readonly run: string;
	readonly number?: number;
	/** copied says that a fork began with it. What it used counts where it ran. */
	readonly copied?: boolean;
	readonly message: Message;
	readonly caller?: Principal;
	/** What the gateway put behind the message for the model. */
	readonly added: readonly string[];
	readonly status: Status;
	readonly error?: string;
	readonly waiting?: string;
	readonly rounds: readonly RoundView[];
	/** Notices behind the last round. */
	readonly notices: readonly Notice[];
	readonly model?: string;
	readonly started?: string;
	readonly ended?: string;
	readonly usage?: Usage;
	readonly usd?: number;
}

/** Entry is all that is known of a turn. */
interface Entry {
	/** The run, or the number of a turn that didn't run in this session: either names it to the gateway. */
	readonly run: string;
	readonly key: string;
	readonly stored?: Turn;
	/** What its run told of it before its record was read. */
	readonly said?: Pick<Run, 'message' | 'caller' | 'model'>;
	readonly record?: Told;
	readonly live?: Told;
	/** The events told once more from the first, until they have caught up with live. */
	readonly again?: Told;
	/** Whether again is made from the record: its events have numbers of their own then. */
	readonly kept?: boolean;
	/** The message that it was while it waited. */
	readonly waited?: Waiting;
	/** Missing while nobody knows what the person said. */
	readonly view?: TurnView;
}

/** Waiting is a message that waits for the session's run to end. */
export interface Waiting {
	readonly key: string;
	readonly run: string;
	readonly message: Message;
	readonly caller: Principal;
	/** Whether the going run takes it in before its next model call; known of this page's own. */
	readonly steers: boolean;
}

/** Send is a message of this page that the gateway has not confirmed yet. */
export interface Send {
	/** Also its Idempotency-Key. */
	readonly key: string;
	readonly message: Message;
	/** Ids of its attachments. */
	readonly attachments: readonly string[];
	/** The model that was chosen for it. */
	readonly model?: string;
	/** The conversation that it begins begins in plan mode. */
	readonly plan?: boolean;
	readonly busy: 'queue' | 'steer';
	/** Why it could not be sent; missing while it is on its way. */
	readonly failed?: string;
}

/** Chat is the state of one conversation. */
export interface Chat {
	readonly entries: readonly Entry[];
	/** Earlier turns exist: those before this number. */
	readonly before?: number;
	/** Whether the last turns have been read once. */
	readonly loaded: boolean;
	readonly waiting: readonly Waiting[];
	/** Messages that were withdrawn before the agent read them, by or from another page, until the person has done something about it. */
	readonly withdrawn: readonly Waiting[];
	/** Runs of messages that waited and of which nothing more is to be told here. */
	readonly settled: readonly string[];
	readonly sends: readonly Send[];
	/** Keys of this page's messages by the run that they became. */
	readonly keys: Readonly<Record<string, string>>;
	/** Runs of this page's messages that were to steer. */
	readonly steering: readonly string[];
}

export const empty: Chat = { entries: [], loaded: false, waiting: [], withdrawn: [], settled: [], sends: [], keys: {}, steering: [] };

/** turns lists what is shown, oldest first. */
export function turns(c: Chat): TurnView[] {
	const out: TurnView[] = [];
	const waits = new Set(c.waiting.map((w) => w.run));
	for (const e of c.entries) if (e.view && !waits.has(e.run)) out.push(e.view);
	return out;
}

/** running is the turn that is going, if any is. */
export function running(c: Chat): TurnView | undefined {
	const waits = new Set(c.waiting.map((w) => w.run));
	for (let i = c.entries.length - 1; i >= 0; i--) {
		const e = c.entries[i]!;
		if (statusOf(e) === 'running' && !traceless(e) && !waits.has(e.run)) return e.view ?? viewOf({ ...e, said: { message: nobody, caller: noCaller } });
	}
	return undefined;
}

const nobody: Message = { role: 'user', parts: [] };
const noCaller: Principal = { id: '', role: 'user' };

/** unknown lists runs whose message isn't known: GET /api/runs/{id} tells it. */
export function unknown(c: Chat): string[] {
	return c.entries.filter((e) => !e.stored && !e.said && !traceless(e)).map((e) => e.run);
}

/** unrecorded lists runs that have ended but are shown from their events only. */
export function unrecorded(c: Chat): string[] {
	return c.entries.filter((e) => hasEnded(e.live) && !hasEnded(e.record)).map((e) => e.run);
}

/** lastSeen is the id of the last event of the going run, to continue behind it. */
export function lastSeen(c: Chat): string | undefined {
	const e = c.entries.at(-1);
	return e?.live && !e.again && !hasEnded(e.live) ? `${e.run}:${e.live.seq}` : undefined;
}

function hasEnded(t: Told | undefined): boolean {
	return t !== undefined && t.status !== 'running';
}

/** traceless says that a run is no turn: its message was withdrawn before it began, or another run took it in. */
function traceless(e: Entry): boolean {
	if (e.stored || !e.live) return false;
	return e.live.into !== undefined || (e.live.status === 'stopped' && e.live.rounds.length === 0);
}

/** wasWithdrawn says that a run was no turn because its message was withdrawn. */
function wasWithdrawn(e: Entry): boolean {
	return traceless(e) && e.live?.into === undefined;
}

/** isRead says that the agent has the message of a run. */
function isRead(e: Entry): boolean {
	return e.stored !== undefined || e.live?.into !== undefined || (e.live?.rounds.length ?? 0) > 0;
}

function statusOf(e: Entry): Status {
	return shown(e)?.status ?? 'running';
}

/** shown picks who tells the turn: a record that has ended, else whoever is further. */
function shown(e: Entry): Told | undefined {
	if (!e.live || hasEnded(e.record)) return e.record ?? e.live;
	if (!e.record || hasEnded(e.live)) return e.live;
	return asFar(e.live, e.record) ? e.live : e.record;
}

/** asFar says whether a tells as much of a turn as b. */
function asFar(a: Told, b: Told): boolean {
	return a.rounds.length > b.rounds.length || (a.rounds.length === b.rounds.length && length(a) >= length(b));
}

/** length measures how much is told. */
function length(t: Told): number {
	let n = 0;
	for (const r of t.rounds) {
		n += 1 + r.text.length + r.calls.length;
		for (const c of r.calls) if (c.outcome) n++;
	}
	return n;
}

function viewOf(e: Entry): TurnView | undefined {
	const message = e.stored?.message ?? e.said?.message;
	if (!message || traceless(e)) return undefined;
	const t = shown(e) ?? blank;
	const last = t.rounds.at(-1)?.target;
	return {
		key: e.key,
		run: e.run,
		number: e.stored?.number,
		copied: e.stored?.copied,
		message,
		caller: e.stored?.caller ?? e.said?.caller,
		added: e.stored?.added ?? none,
		status: t.status,
		error: t.error,
		waiting: t.waiting,
		rounds: t.rounds,
		notices: t.pending,
		model: (e.stored?.model || (last && `${last.provider}/${last.model}`)) ?? e.said?.model,
		started: e.stored?.started ?? t.started,
		ended: t.ended,
		usage: t.usage,
		usd: t.usd,
	};
}

const none: readonly never[] = [];
const blank: Told = { seq: 0, status: 'running', rounds: none, pending: none, taken: none };
const blankRound: RoundView = { joined: none, before: none, behind: none, reasoning: '', text: '', calls: none };

// ---- events ----

/** applyEvent adds what an event of a run tells. Events that were told before change nothing. */
export function applyEvent(c: Chat, ev: Event): Chat {
	const i = c.entries.findIndex((e) => e.run === ev.run);
	const old = i >= 0 ? c.entries[i]! : newEntry(c, ev.run);
	if (hasEnded(old.record)) return c; // it has told all
	const next = tell(old, ev);
	if (next === old) return c;
	if (ev.type === 'notice' && ev.kind === 'steered' && ev.ref) c = settle(c, ev.ref);
	return place(c, i, next);
}

function newEntry(c: Chat, run: string): Entry {
	const w = c.waiting.find((w) => w.run === run);
	return { run, key: c.keys[run] ?? run, said: w && { message: w.message, caller: w.caller } };
}

/** place puts an entry where the old one was, or behind all others. */
function place(c: Chat, i: number, e: Entry): Chat {
	const old = c.entries[i];
	const waits = c.waiting.find((w) => w.run === e.run);
	if (waits) e = { ...e, waited: waits };
	if (!old || old.live !== e.live || old.record !== e.record || old.said !== e.said) e = { ...e, view: viewOf(e) };
	const entries = c.entries.slice();
	if (i >= 0) entries[i] = e;
	else entries.push(e);
	const waiting = waits && begun(e) ? without(c.waiting, e.run) : c.waiting;
	const next = { ...c, entries, waiting };
	// What another page wrote is shown there.
	if (e.waited && wasWithdrawn(e) && c.keys[e.run]) return withdraw(next, e.waited);
	return isRead(e) && c.withdrawn.some((w) => w.run === e.run) ? { ...next, withdrawn: without(c.withdrawn, e.run) } : next;
}

const without = (list: readonly Waiting[], run: string) => list.filter((w) => w.run !== run);

/** begun says whether a run does more than wait. */
function begun(e: Entry): boolean {
	return shown(e)?.waiting === undefined;
}

function tell(e: Entry, ev: Event): Entry {
	if (ev.seq === 1 && e.live && e.live.seq >= 1) {
		return caughtUp({ ...e, again: step(blank, ev) });
	}
	if (e.again) {
		return ev.seq > e.again.seq ? caughtUp({ ...e, again: step(e.again, ev) }) : e;
	}
	const live = e.live ?? blank;
	if (ev.seq <= live.seq) return e;
	return { ...e, live: step(live, ev) };
}

/** caughtUp takes the second telling for the first once it is as far. */
function caughtUp(e: Entry): Entry {
	if (!e.again || !e.live) return e;
	const far = e.kept ? asFar(e.again, e.live) : e.again.seq >= e.live.seq;
	return far || hasEnded(e.again) ? { ...e, live: e.again, again: undefined, kept: undefined } : e;
}

/** restart is called when a run is told once more from its beginning, kept when that is made from its record. */
export function restart(c: Chat, run: string, kept: boolean): Chat {
	const i = c.entries.findIndex((e) => e.run === run);
	const e = c.entries[i];
	if (!e?.live || hasEnded(e.record)) return c;
	return place(c, i, { ...e, again: blank, kept });
}

/** step is one event's change of a telling. */
function step(t: Told, ev: Event): Told {
	const next = change(t, ev);
	return { ...next, seq: ev.seq };
}

function change(t: Told, ev: Event): Told {
	switch (ev.type) {
		case 'run_started':
			return { ...t, waiting: undefined, started: ev.time };
		case 'model_call_started':
			return openRound(t, { target: ev.target, started: ev.time });
		case 'token_chunk':
			return inRound(t, (r) => ({ ...r, text: r.text + (ev.text ?? ''), firstToken: r.firstToken ?? ev.time }));
		case 'reasoning_chunk':
			return inRound(t, (r) => ({ ...r, reasoning: r.reasoning + (ev.text ?? ''), firstToken: r.firstToken ?? ev.time }));
		case 'retracted':
			return t.rounds.length === 0 ? t : lastRound(t, (r) => ({ ...r, text: '', reasoning: '', before: [...r.before, ...r.behind, takenBack(1)], behind: none }));
		case 'tool_started':
		case 'tool_progress':
		case 'tool_finished':
			return lastRound(t.rounds.length === 0 ? openRound(t, {}) : t, (r) => withCall(r, ev));
		case 'attachment': {
			// Of those that tools bring the calls' effects tell.
			const { media, ref = '' } = ev;
			return media && t.rounds.length > 0 ? lastRound(t, (r) => ({ ...r, made: [...(r.made ?? none), { id: ref, name: media.name ?? '', mime: media.mime }] })) : t;
		}
		case 'notice':
			return notice(t, ev);
		case 'run_finished':
		case 'run_failed':
			return {
				...(ev.end?.cached ? lastRound(t, (r) => ({ ...r, recalled: true })) : t),
				status: ev.end?.status ?? (ev.type === 'run_failed' ? 'failed' : 'done'),
				error: ev.type === 'run_failed' ? ev.text : undefined,
				waiting: undefined,
				ended: ev.time,
				usage: ev.end?.usage,
				usd: ev.end?.usd,
			};
		default: // prompt_built says nothing to a person
			return t;
	}
}

/** openRound begins a round, or the same one anew when its model call is made again. */
function openRound(t: Told, facts: Partial<RoundView>): Told {
	const last = t.rounds.at(-1);
	if (last && last.calls.length === 0) return lastRound(t, (r) => ({ ...r, ...facts, started: r.started ?? facts.started }));
	return { ...t, rounds: [...t.rounds, { ...blankRound, before: t.pending, joined: t.taken, ...facts }], pending: none, taken: none };
}

/** inRound changes the round whose words come. Words behind calls begin another one. */
function inRound(t: Told, f: (r: RoundView) => RoundView): Told {
	const last = t.rounds.at(-1);
	return lastRound(!last || last.calls.length > 0 ? openRound(t, {}) : t, f);
}

function lastRound(t: Told, f: (r: RoundView) => RoundView): Told {
	const rounds = t.rounds.slice();
	rounds[rounds.length - 1] = f(rounds[rounds.length - 1]!);
	return { ...t, rounds };
}

function notice(t: Told, ev: Event): Told {
	if (ev.approval && ev.tool && t.rounds.length > 0) return lastRound(t, (r) => withCall(r, ev));
	const n = { kind: ev.kind ?? '', text: ev.text ?? '' };
	switch (n.kind) {
		case 'queued':
		case 'parked':
			return { ...t, waiting: n.text };
		case 'joined':
			if (ev.ref) return { ...t, into: ev.ref, waiting: undefined };
			return { ...t, taken: [...t.taken, n.text] };
		case 'steered':
			return { ...t, taken: [...t.taken, n.text] };
	}
	const last = t.rounds.at(-1);
	if (!last || last.calls.length > 0) return { ...t, pending: [...t.pending, n] };
	return lastRound(t, (r) => (r.text ? { ...r, behind: [...r.behind, n] } : { ...r, before: [...r.before, n] }));
}

function withCall(r: RoundView, ev: Event): RoundView {
	const e = ev.tool;
	if (!e) return r;
	const i = r.calls.findIndex((c) => c.index === e.index);
	const old: Call = i >= 0 ? r.calls[i]! : { id: e.id, index: e.index, name: e.name };
	if (old.outcome) return r;
	let c: Call = { ...old, name: e.name || old.name, args: e.args ?? old.args };
	if (ev.approval) c = { ...c, args: c.args ?? (c.id === ev.approval.call ? ev.approval.args : undefined), asked: askedBy(c, ev.approval) };
	if (ev.type === 'tool_started') c = { ...c, started: ev.time };
	if (ev.type === 'tool_progress') c = { ...c, progress: ev.text };
	if (ev.type === 'tool_finished') c = { ...c, args: c.args ?? parsed(e.outcome?.call.arguments ?? ''), outcome: e.outcome, started: c.started ?? e.outcome?.started, progress: undefined, asked: undefined };
	const calls = r.calls.slice();
	if (i >= 0) calls[i] = c;
	else {
		const at = calls.findIndex((o) => o.index > c.index);
		calls.splice(at < 0 ? calls.length : at, 0, c);
	}
	return { ...r, calls };
}

/** askedBy is what a call still waits for when that is told of a. */
function askedBy(c: Call, a: Approval): readonly Approval[] | undefined {
	const rest = (c.asked ?? none).filter((o) => o.id !== a.id);
	const asked = a.status === 'open' ? [...rest, a] : rest;
	return asked.length > 0 ? asked : undefined;
}

// ---- records ----

/** told is a turn as its record tells it. */
export function told(t: Turn): Told {
	const rounds = t.rounds.map((r, i) => ({ ...roundOf(r, t.rounds[i - 1]), ...madeIn(t, r) }));
	return {
		seq: 0, status: t.status, error: t.error || undefined, rounds, pending: none, taken: none,
		started: t.started, ended: t.ended, usage: t.usage, usd: t.usd ?? undefined,
	};
}

function madeIn(t: Turn, r: Round): Pick<RoundView, 'made'> {
	const made = (t.media ?? []).filter((m) => m.id.startsWith(`reply:${r.number}:`));
	return made.length > 0 ? { made: made.map((m) => ({ id: m.id, name: m.name ?? '', mime: m.mime })) } : {};
}

function roundOf(r: Round, last: Round | undefined): RoundView {
	const attempts = r.attempts ?? [];
	const notices = (r.notices ?? []).filter((n) => !n.behind);
	const before: Notice[] = [...notices, ...attempts.flatMap((a) => (a.told ? [{ kind: a.next ?? '', text: a.told }] : []))].map(({ kind, text }) => ({ kind, text }));
	if (r.retracted) before.push(takenBack(r.retracted));
	if (!before.some((n) => n.kind === 'failover' || n.kind === 'cooldown') && last && name(last.target) && name(r.target) && name(last.target) !== name(r.target)) {
		before.push({ kind: 'failover', text: `${name(r.target)} answers from here on` });
	}
	return {
		joined: r.joined ?? none, before, behind: cutNotices(r),
		reasoning: r.reasoning ?? '', text: r.text,
		calls: (r.calls ?? []).map(callOf),
		target: r.target, usage: r.usage, recalled: r.cached, unanswered: r.finish === 'host' || (r.finish === 'stopped' && attempts.length > 0 && !attempts.at(-1)!.next) || undefined,
		failed: attempts.filter((a) => !a.skipped).map((a) => ({ model: name(a.target) || a.target.provider, why: a.message + (a.status ? ` (HTTP ${a.status})` : '') })),
		started: r.started, firstToken: r.first_token, replied: r.replied, ended: r.ended,
	};
}

const name = (t: Target | undefined) => (t?.model ? `${t.provider}/${t.model}` : '');

/** takenBack says that what had been shown of an answer isn't any more. */
const takenBack = (times: number): Notice => ({ kind: 'retracted', text: `what had been shown of an answer was taken back${times > 1 ? ` ${times} times` : ''}: the one below begins differently` });

/** cutNotices tells what the loop told when an answer was not all the model had to say. Of old records its words are not known, nor which limit it was. */
function cutNotices(r: Round): readonly Notice[] {
	const words = (r.notices ?? []).filter((n) => n.behind);
	if (words.length > 0) return words.map(({ kind, text }) => ({ kind, text }));
	if (r.calls?.length) return none;
	if (r.finish === 'length') return [{ kind: 'limit', text: 'the answer was cut off at a limit of its length; say "go on"' }];
	if (r.finish === 'filter') return [{ kind: 'limit', text: "the provider's filter cut the answer off" }];
	return none;
}

function callOf(o: Outcome, index: number): Call {
	const started = zero(o.started) ? undefined : o.started;
	return { id: o.call.id, index, name: o.tool || o.call.name, args: o.args ?? parsed(o.call.arguments), started, outcome: o.status ? o : undefined };
}

/** zero says whether a time is Go's zero time, which means none. */
function zero(time: string | undefined): boolean {
	return !time || time.startsWith('0001-');
}

function parsed(text: string): unknown {
	try {
		return parseJSON(text);
	} catch {
		return text || undefined;
	}
}

/** applyPage takes in a page of turns. With before it is one of earlier turns;
 *  else the last ones, and gone lists the runs that were known to have ended
 *  when they were asked for: those without a record left no trace. */
export function applyPage(c: Chat, page: Turns, o: { earlier?: boolean; gone?: readonly string[] } = {}): Chat {
	const byRun = new Map(c.entries.map((e) => [e.run, e]));
	for (const t of page.turns) {
		const run = nameOf(t);
		const old = byRun.get(run) ?? newEntry(c, run);
		if (old.stored && hasEnded(old.record)) continue; // an ended turn's record doesn't change
		const e = { ...old, stored: t, record: told(t) };
		byRun.set(run, { ...e, view: viewOf(e) });
	}
	const gone = new Set(o.gone ?? []);
	let entries = [...byRun.values()].filter((e) => e.stored || !gone.has(e.run));
	entries = inOrder(entries);
	const waiting = c.waiting.filter((w) => !byRun.has(w.run) || !begun(byRun.get(w.run)!));
	let before = c.before;
	if (o.earlier) before = page.before;
	else if (!c.loaded || !joins(c, page)) before = page.before;
	if (!o.earlier && c.loaded && !joins(c, page)) {
		// So much happened meanwhile that there is a gap: what is behind it is read again on demand.
		const first = page.turns[0]?.number ?? 0;
		entries = entries.filter((e) => !e.stored || e.stored.number >= first);
	}
	const taken = c.withdrawn.filter((w) => !byRun.get(w.run)?.stored);
	return { ...c, entries, waiting, withdrawn: taken.length < c.withdrawn.length ? taken : c.withdrawn, before, loaded: c.loaded || !o.earlier };
}

const nameOf = (t: Turn) => (t.copied || !t.run ? String(t.number) : t.run);

/** joins says whether a page of the last turns leaves no gap to those that are known. */
function joins(c: Chat, page: Turns): boolean {
	const first = page.turns[0]?.number;
	const known = c.entries.findLast((e) => e.stored)?.stored?.number;
	return first === undefined || known === undefined || page.before === undefined || first <= known + 1;
}

/** inOrder sorts by number; what has none yet is behind, as it came. */
function inOrder(entries: Entry[]): Entry[] {
	return entries
		.map((e, i) => ({ e, i }))
		.sort((a, b) => (a.e.stored?.number ?? Infinity) - (b.e.stored?.number ?? Infinity) || a.i - b.i)
		.map(({ e }) => e);
}

/** applyRuns takes in the runs of a session that are going or wait (GET
 *  /api/sessions/{agent}/{id}). What waits since they were asked for, with asked
 *  as it was then, is not dropped for an answer that may not know of it. */
export function applyRuns(c: Chat, runs: readonly Run[], asked: Chat = c): Chat {
	const knew = new Set(asked.waiting.map((w) => w.run));
	let next: Chat = { ...c, waiting: c.waiting.filter((w) => !knew.has(w.run) || runs.some((r) => r.id === w.run && r.state === 'queued')) };
	for (const r of runs) next = applyRun(next, r);
	const order = new Map(runs.map((r, i) => [r.id, i]));
	const rank = (w: Waiting) => order.get(w.run) ?? runs.length;
	return { ...next, waiting: next.waiting.slice().sort((a, b) => rank(a) - rank(b)) };
}

/** applyRun takes in what is known of one run. */
export function applyRun(c: Chat, r: Run): Chat {
	const i = c.entries.findIndex((e) => e.run === r.id);
	if (r.state === 'queued' && (i < 0 || !begun(c.entries[i]!))) {
		if (c.waiting.some((w) => w.run === r.id)) return c;
		if ((i >= 0 && traceless(c.entries[i]!)) || c.settled.includes(r.id) || c.withdrawn.some((w) => w.run === r.id)) return c; // told too late
		const w: Waiting = { key: c.keys[r.id] ?? r.id, run: r.id, message: r.message, caller: r.caller, steers: c.steering.includes(r.id) };
		return { ...c, waiting: [...c.waiting, w] };
	}
	if (i < 0 && r.state === 'ended') return { ...c, waiting: c.waiting.filter((w) => w.run !== r.id) };
	const old = i >= 0 ? c.entries[i]! : newEntry(c, r.id);
	if (old.stored || (old.said && i >= 0)) return c;
	return place(c, i, { ...old, said: { message: r.message, caller: r.caller, model: r.model } });
}

/** taking says that this page takes messages back that wait, or that it could not. */
export function taking(c: Chat, runs: readonly string[], does = true): Chat {
	const others = c.settled.filter((r) => !runs.includes(r));
	return { ...c, settled: does ? [...others, ...runs] : others };
}

/** settle takes out a message that waited, for good: the person took it back here, or it was read. */
export function settle(c: Chat, run: string): Chat {
	return { ...c, waiting: without(c.waiting, run), withdrawn: without(c.withdrawn, run), settled: [...c.settled.filter((r) => r !== run), run] };
}

/** withdraw keeps a message that somebody took back before it was read, so that its words are not lost. */
export function withdraw(c: Chat, w: Waiting): Chat {
	if (c.settled.includes(w.run) || c.withdrawn.some((o) => o.run === w.run)) return c;
	return { ...c, waiting: without(c.waiting, w.run), withdrawn: [...c.withdrawn, w] };
}

/** accounted says whether it is known what became of a message that waited. */
export function accounted(c: Chat, run: string): boolean {
	return c.settled.includes(run) || c.withdrawn.some((w) => w.run === run) || c.entries.some((e) => e.run === run && begun(e) && !wasWithdrawn(e));
}

/** joined says whether a turn has taken in a message with these words. */
export function joined(c: Chat, words: string): boolean {
	return c.entries.some((e) => shown(e)?.rounds.some((r) => r.joined.some((j) => j.trim() === words.trim())));
}

// ---- what this page sends ----

/** sending adds a message that is on its way, or on its way once more. */
export function sending(c: Chat, s: Send): Chat {
	const sends = c.sends.filter((o) => o.key !== s.key);
	return { ...c, sends: [...sends, { ...s, failed: undefined }] };
}

/** notSent says why a message could not be sent. */
export function notSent(c: Chat, key: string, why: string): Chat {
	return { ...c, sends: c.sends.map((s) => (s.key === key ? { ...s, failed: why } : s)) };
}

/** dropSend forgets a message that was not sent. */
export function dropSend(c: Chat, key: string): Chat {
	return { ...c, sends: c.sends.filter((s) => s.key !== key) };
}

/** sent says which run a message became. */
export function sent(c: Chat, key: string, r: Run): Chat {
	const s = c.sends.find((s) => s.key === key);
	if (!s) return c;
	const steers = s.busy === 'steer';
	let next = { ...dropSend(c, key), keys: { ...c.keys, [r.id]: key }, steering: steers ? [...c.steering, r.id] : c.steering };
	const i = next.entries.findIndex((e) => e.run === r.id);
	// Its events may have come before the answer did.
	if (i >= 0) next = place(next, i, rekeyed(next.entries[i]!, key));
	next = { ...next, waiting: next.waiting.map((w) => (w.run === r.id ? { ...w, key, steers } : w)) };
	// Somebody withdrew it before the answer came.
	if (r.state === 'ended' && r.status === 'stopped' && !r.started) return withdraw(next, { key, run: r.id, message: r.message, caller: r.caller, steers });
	// One that steers may be over because the going run has taken it in.
	if (i < 0 && r.state === 'ended' && !steers) {
		const live = { ...blank, status: r.status ?? 'done', error: r.error };
		return place(next, -1, { ...newEntry(next, r.id), said: { message: r.message, caller: r.caller, model: r.model }, live });
	}
	return applyRun(next, r);
}

function rekeyed(e: Entry, key: string): Entry {
	const r = { ...e, key };
	return { ...r, view: viewOf(r) };
}

/** textOf joins the words of a message; what the host added to it is left out. */
export function textOf(parts: readonly Part[]): string {
	let out = '';
	for (const p of parts) if (p.kind === 'text') out += p.text ?? '';
	return out;
}

/** answerOf is what the turn answers, as Markdown. */
export function answerOf(t: TurnView): string {
	return t.rounds
		.map((r) => r.text.trim())
		.filter(Boolean)
		.join('\n\n');
}

/** progressOf counts the calls of a round that have ended, and all of them. */
export function progressOf(r: RoundView): { done: number; all: number } {
	let done = 0;
	for (const c of r.calls) if (c.outcome) done++;
	const last = r.calls.at(-1);
	return { done, all: last ? Math.max(last.index + 1, r.calls.length) : 0 };
}
