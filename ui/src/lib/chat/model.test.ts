import { describe, expect, it } from 'vitest';
import * as m from './model';
import { at, caller, int, makeRun, merge, message, outcome, partly, rng, type Told } from './testdata/runs';
import type { Event, Run, Turn } from './types';

const feed = (c: m.Chat, events: Event[]) => events.reduce(m.applyEvent, c);

/** bare is a view without what only some tellings know: times of chunks, which merging moves. */
function bare(v: m.TurnView | undefined) {
	if (!v) return v;
	return { ...v, key: '', number: undefined, model: undefined, started: undefined, rounds: v.rounds.map((r) => ({ ...r, firstToken: undefined })) };
}

/** essence is what a live telling and a record of the same run agree on. */
function essence(v: m.TurnView | undefined) {
	return v && {
		run: v.run, message: v.message, status: v.status, error: v.error, usage: v.usage, usd: v.usd,
		rounds: v.rounds.map((r) => ({ text: r.text, reasoning: r.reasoning, calls: r.calls.map((c) => ({ id: c.id, index: c.index, name: c.name, args: c.args, status: c.outcome?.status })) })),
	};
}

const known = (t: Told) => m.applyRuns(m.empty, [t.run]);

describe('a run as it is told live', () => {
	const script = (events: Partial<Event>[]): Event[] =>
		events.map((e, i) => ({ run: 'r', session: 's', seq: i + 1, time: at(i), type: 'notice', ...e }) as Event);
	const run: Run = { id: 'r', agent: 'main', session: 's', state: 'running', caller, origin: 'chat', message: message('hi'), usage: { input: 0, output: 0, cached: 0, cache_write: 0, reasoning: 0 } };
	const view = (events: Partial<Event>[]) => m.turns(feed(m.applyRuns(m.empty, [run]), script(events)))[0]!;
	const target = { provider: 'p', model: 'one' };

	it('says that words were taken back, and why, before those that stand', () => {
		const v = view([
			{ type: 'model_call_started', target }, { type: 'token_chunk', text: 'One' }, { kind: 'failover', text: 'asking p/two' }, { type: 'model_call_started', target },
			{ type: 'retracted' }, { type: 'token_chunk', text: 'Two' },
		]);
		expect(v.rounds).toMatchObject([{ text: 'Two', behind: [], before: [{ kind: 'failover' }, { kind: 'retracted', text: expect.stringContaining('taken back') }] }]);
	});

	it('streams text into one round', () => {
		const v = view([{ type: 'run_started' }, { type: 'prompt_built' }, { type: 'model_call_started', target }, { type: 'token_chunk', text: 'a' }, { type: 'token_chunk', text: 'b' }]);
		expect(v.rounds).toHaveLength(1);
		expect(v.rounds[0]).toMatchObject({ text: 'ab', firstToken: at(3), target });
		expect(v.status).toBe('running');
		expect(v.message).toEqual(message('hi'));
	});

	it('has the images that the model made, told live and by its record', () => {
		const media = { name: 'image-1.png', mime: 'image/png', size: 8 };
		const v = view([{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'attachment', ref: 'reply:1:0', media }, { type: 'attachment', ref: 'of a tool' }]);
		expect(v.rounds[0]!.made).toEqual([{ id: 'reply:1:0', name: 'image-1.png', mime: 'image/png' }]);
		const { turn } = makeRun(3);
		const t = { ...turn, media: [{ id: 'message:0', ...media }, { id: `reply:${turn.rounds[0]!.number}:0`, ...media }] };
		expect(m.told(t).rounds[0]!.made).toEqual([{ id: `reply:${turn.rounds[0]!.number}:0`, name: 'image-1.png', mime: 'image/png' }]);
	});

	it('shows what people are asked at its call until that has an end', () => {
		const approval = (id: string, status: 'open' | 'allowed' | 'expired') =>
			({ id, status, tool: 'shell', rule: 'look', agent: 'main', run: 'r', call: 'c1', origin: 'chat', caller, created: at(0), args: { command: 'ls' } }) as const;
		const tool = { id: 'c1', name: 'shell', index: 0 };
		const asked = (events: Partial<Event>[]) => view([{ type: 'model_call_started', target }, ...events]).rounds[0]!.calls[0];
		const one: Partial<Event> = { kind: 'approval_needed', tool, approval: approval('a', 'open') };
		const two: Partial<Event> = { kind: 'approval_needed', tool, approval: approval('b', 'open') };
		expect(asked([one])).toMatchObject({ id: 'c1', args: { command: 'ls' }, asked: [{ id: 'a' }] });
		expect(asked([one, two])!.asked!.map((a) => a.id)).toEqual(['a', 'b']);
		expect(asked([one, two, { kind: 'approval_answered', tool, approval: approval('a', 'allowed') }])!.asked!.map((a) => a.id)).toEqual(['b']);
		expect(asked([one, { kind: 'approval_answered', tool, approval: approval('a', 'expired') }])!.asked).toBeUndefined();
		expect(asked([one, { type: 'tool_finished', tool: { ...tool, outcome: outcome() } }])!.asked).toBeUndefined();
		expect(view([{ type: 'model_call_started', target }, one]).rounds[0]!.behind).toEqual([]);
	});

	it('begins the words of a model call anew when they are retracted', () => {
		const v = view([
			{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'reasoning_chunk', text: 'hm' }, { type: 'token_chunk', text: 'wrong' },
			{ type: 'retracted' }, { type: 'notice', kind: 'provider', text: 'asking two instead' }, { type: 'model_call_started', target: { provider: 'p', model: 'two' } }, { type: 'token_chunk', text: 'right' },
		]);
		expect(v.rounds).toHaveLength(1);
		expect(v.rounds[0]).toMatchObject({ text: 'right', reasoning: '', target: { model: 'two' }, before: [{ kind: 'retracted' }, { kind: 'provider', text: 'asking two instead' }] });
	});

	it('counts calls that run side by side', () => {
		const tool = (index: number, more = {}) => ({ tool: { id: `c${index}`, index, name: 'calc', ...more } });
		const v = view([
			{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'token_chunk', text: 'let me see' },
			{ type: 'tool_started', ...tool(2, { args: { n: 2 } }) }, { type: 'tool_started', ...tool(0) }, { type: 'tool_started', ...tool(1) },
			{ type: 'tool_progress', ...tool(1), text: '10 %' }, { type: 'tool_finished', ...tool(0, { outcome: outcome({ id: 'c0' }) }) },
		]);
		const [r] = v.rounds;
		expect(r!.calls.map((c) => c.index)).toEqual([0, 1, 2]);
		expect(m.progressOf(r!)).toEqual({ done: 1, all: 3 });
		expect(r!.calls[1]).toMatchObject({ progress: '10 %', started: at(5) });
		expect(r!.calls[2]!.args).toEqual({ n: 2 });
	});

	it('counts a call that was refused before it began', () => {
		const v = view([{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'tool_finished', tool: { id: 'c1', index: 1, name: 'shell', outcome: outcome({ id: 'c1', status: 'refused' }) } }]);
		expect(m.progressOf(v.rounds[0]!)).toEqual({ done: 1, all: 2 });
	});

	it('opens a round for words of the gateway behind calls', () => {
		const v = view([
			{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'tool_finished', tool: { id: 'c', index: 0, name: 'calc', outcome: outcome() } },
			{ type: 'notice', kind: 'guard', text: 'loop guard: calc repeated' }, { type: 'token_chunk', text: 'I stopped.' },
		]);
		expect(v.rounds.map((r) => r.text)).toEqual(['', 'I stopped.']);
		expect(v.rounds[1]!.before).toEqual([{ kind: 'guard', text: 'loop guard: calc repeated' }]);
	});

	it('puts a notice behind the words that it is about', () => {
		const v = view([{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'token_chunk', text: 'cut' }, { type: 'notice', kind: 'limit', text: 'cut off' }]);
		expect(v.rounds[0]!.behind).toEqual([{ kind: 'limit', text: 'cut off' }]);
	});

	it('says why a run waits until it begins', () => {
		const waits = { type: 'notice', kind: 'queued', text: 'waiting for another process' } as const;
		expect(view([waits]).waiting).toBe('waiting for another process');
		expect(view([waits, { type: 'run_started' }]).waiting).toBeUndefined();
	});

	it('tells how it ended and what it cost', () => {
		const usage = { input: 9, output: 3, cached: 4, cache_write: 0, reasoning: 0 };
		expect(view([{ type: 'run_started' }, { type: 'run_finished', end: { status: 'limited', rounds: 1, usage, usd: 0.5 } }])).toMatchObject({ status: 'limited', usage, usd: 0.5, ended: at(1) });
		expect(view([{ type: 'run_started' }, { type: 'run_failed', text: 'no key', end: { status: 'failed', rounds: 0, usage } }])).toMatchObject({ status: 'failed', error: 'no key' });
	});

	it('shares what did not change', () => {
		const a = makeRun(3, { run: 'a', number: 1 });
		let c = m.applyPage(m.empty, { turns: [a.turn] });
		const before = m.turns(c)[0];
		c = feed(m.applyRuns(c, [run]), script([{ type: 'run_started' }, { type: 'model_call_started', target }, { type: 'token_chunk', text: 'x' }]));
		expect(m.turns(c)[0]).toBe(before);
		expect(m.turns(c)[1]!.rounds[0]!.text).toBe('x');
	});
});

describe('cuts and resumes', () => {
	it('end in the same view, wherever they are and however chunks are merged', () => {
		for (let seed = 1; seed <= 300; seed++) {
			const t = makeRun(seed);
			const r = rng(seed);
			const whole = m.turns(feed(known(t), t.events))[0];
			let c = known(t);
			for (let connection = int(r, 6); connection >= 0; connection--) {
				// A connection begins at the first event or behind the last one that was seen.
				const seen = m.lastSeen(c);
				const from = seen !== undefined && r() < 0.5 ? Number(seen.split(':')[1]) : 0;
				const rest = merge(t.events.filter((e) => e.seq > from), r, r());
				const some = connection === 0 ? rest : rest.slice(0, int(r, rest.length + 1));
				for (const e of some) {
					c = m.applyEvent(c, e);
					if (r() < 0.2) c = m.applyEvent(c, e); // told twice
				}
			}
			expect(bare(m.turns(c)[0]), `seed ${seed}`).toEqual(bare(whole));
		}
	});

	it('never show less while the events are told again', () => {
		for (let seed = 1; seed <= 60; seed++) {
			const t = makeRun(seed);
			const r = rng(seed);
			const cut = int(r, t.events.length);
			let c = feed(known(t), t.events.slice(0, cut));
			let shown = m.turns(c)[0];
			for (const e of t.events) {
				c = m.applyEvent(c, e);
				const now = m.turns(c)[0];
				if (e.seq < cut) expect(now, `seed ${seed}`).toBe(shown);
				shown = now;
			}
		}
	});

	it('agree with the record, whenever it is read', () => {
		for (let seed = 1; seed <= 150; seed++) {
			const t = makeRun(seed);
			const r = rng(seed + 1);
			const recorded = m.turns(m.applyPage(m.empty, { turns: [t.turn] }))[0];
			expect(essence(m.turns(feed(known(t), t.events))[0]), `seed ${seed}`).toEqual(essence(recorded));
			let c = r() < 0.5 ? known(t) : m.empty;
			for (const e of merge(t.events, r)) {
				c = m.applyEvent(c, e);
				if (r() < 0.1) c = m.applyPage(c, { turns: [partly(t.turn, int(r, t.turn.rounds.length))] });
				if (r() < 0.02) c = m.applyPage(c, { turns: [t.turn] });
			}
			expect(m.unrecorded(c).length).toBeLessThanOrEqual(1);
			c = m.applyPage(c, { turns: [t.turn] }, { gone: m.unrecorded(c) });
			expect(m.turns(c)[0], `seed ${seed}`).toEqual(recorded);
			expect(m.unrecorded(c)).toEqual([]);
		}
	});

	it('show the record of a running turn until the events are as far', () => {
		const t = makeRun(11);
		const record = partly(t.turn, t.turn.rounds.length - 1);
		let c = m.applyPage(m.empty, { turns: [record] });
		const stored = m.turns(c)[0]!;
		expect(stored.status).toBe('running');
		for (const e of t.events) {
			c = m.applyEvent(c, e);
			const v = m.turns(c)[0]!;
			expect(v.rounds.length).toBeGreaterThanOrEqual(Math.min(record.rounds.length, stored.rounds.length));
		}
		expect(m.turns(c)[0]!.status).toBe(t.turn.status);
	});

	it('let an interrupted run end by its record', () => {
		const t = makeRun(5);
		let c = feed(known(t), t.events.slice(0, 4));
		c = m.applyPage(c, { turns: [{ ...partly(t.turn, 0), status: 'interrupted', ended: at(9) }] });
		expect(m.turns(c)[0]!.status).toBe('interrupted');
		expect(m.running(c)).toBeUndefined();
	});
});

describe('a run of another page', () => {
	it('is shown once its message is known', () => {
		const t = makeRun(4);
		let c = feed(m.empty, t.events.slice(0, 5));
		expect(m.turns(c)).toEqual([]);
		expect(m.unknown(c)).toEqual([t.run.id]);
		expect(m.running(c)?.run).toBe(t.run.id);
		c = m.applyRun(c, t.run);
		expect(m.unknown(c)).toEqual([]);
		expect(m.turns(c)[0]!.message).toEqual(t.run.message);
		c = feed(c, t.events.slice(5));
		expect(essence(m.turns(c)[0])).toEqual(essence(m.turns(m.applyPage(m.empty, { turns: [t.turn] }))[0]));
	});
});

describe('messages of this page', () => {
	const send: m.Send = { key: 'k1', message: message('question 9'), attachments: [], busy: 'queue' };

	it('become the run without changing their key', () => {
		const t = makeRun(9);
		for (const early of [0, 3, t.events.length]) {
			let c = m.sending(m.empty, send);
			c = feed(c, t.events.slice(0, early)); // the stream may be faster than the answer
			expect(m.turns(c)).toEqual([]);
			c = m.sent(c, 'k1', t.run);
			expect(c.sends).toEqual([]);
			c = feed(c, t.events.slice(early));
			c = m.applyPage(c, { turns: [t.turn] }, { gone: m.unrecorded(c) });
			expect(m.turns(c).map((v) => v.key)).toEqual(['k1']);
		}
	});

	it('keep their words and their key when they could not be sent', () => {
		let c = m.notSent(m.sending(m.empty, send), 'k1', 'no connection');
		expect(c.sends).toEqual([{ ...send, failed: 'no connection' }]);
		c = m.sending(c, c.sends[0]!);
		expect(c.sends[0]!.failed).toBeUndefined();
		expect(m.dropSend(c, 'k1').sends).toEqual([]);
	});

	it('show a run that was over before its answer came', () => {
		const t = makeRun(2);
		const c = m.sent(m.sending(m.empty, send), 'k1', { ...t.run, state: 'ended', status: 'done' });
		expect(m.turns(c).map((v) => [v.key, v.status])).toEqual([['k1', 'done']]);
		expect(m.unrecorded(c)).toEqual([t.run.id]);
		expect(m.turns(m.applyPage(c, { turns: [t.turn] }))[0]!.rounds).toHaveLength(t.turn.rounds.length);
	});

	it('wait with the same key, then run', () => {
		const t = makeRun(9, { queued: true });
		let c = m.sent(m.sending(m.empty, send), 'k1', { ...t.run, state: 'queued' });
		expect(c.waiting.map((w) => w.key)).toEqual(['k1']);
		c = m.applyEvent(c, t.events[0]!);
		expect(m.turns(c)).toEqual([]);
		c = feed(c, t.events.slice(1, 3));
		expect(c.waiting).toEqual([]);
		expect(m.turns(c).map((v) => v.key)).toEqual(['k1']);
		expect(m.unknown(c)).toEqual([]);
	});

	it('leave no trace when this page takes them back', () => {
		const t = makeRun(9, { queued: true });
		let c = m.sent(m.sending(m.empty, send), 'k1', { ...t.run, state: 'queued' });
		const end: Event[] = [{ ...t.events[1]!, seq: 2 }, { ...t.events.at(-1)!, type: 'run_finished', seq: 3, end: { status: 'stopped', rounds: 0, usage: t.run.usage } }];
		c = feed(c, [t.events[0]!]);
		expect(m.turns(m.settle(c, 'other'))).toEqual([]);
		// It may be told before its request is answered.
		expect(feed(m.taking(c, [t.run.id]), end)).toMatchObject({ waiting: [], withdrawn: [] });
		c = feed(m.settle(c, t.run.id), end);
		expect([c.waiting, c.withdrawn]).toEqual([[], []]);
		expect(m.turns(c)).toEqual([]);
		expect(m.unknown(c)).toEqual([]);
		expect(m.running(c)).toBeUndefined();
		c = m.applyPage(c, { turns: [] }, { gone: m.unrecorded(c) });
		expect(c.entries).toEqual([]);
		expect(m.applyRun(c, { ...t.run, state: 'queued' })).toBe(c); // read before it was taken back
	});

	it('stay in sight when somebody else takes them back', () => {
		const t = makeRun(9, { queued: true });
		const end: Event[] = [{ ...t.events[1]!, seq: 2 }, { ...t.events.at(-1)!, type: 'run_finished', seq: 3, end: { status: 'stopped', rounds: 0, usage: t.run.usage } }];
		let c = feed(m.sent(m.sending(m.empty, send), 'k1', { ...t.run, state: 'queued' }), [t.events[0]!, ...end]);
		expect([c.waiting, c.withdrawn]).toMatchObject([[], [{ key: 'k1', run: t.run.id, message: t.run.message }]]);
		c = m.applyPage(feed(c, end), { turns: [] }, { gone: m.unrecorded(c) });
		expect(c.withdrawn).toHaveLength(1);
		expect(m.turns(c)).toEqual([]);
		expect(m.settle(c, t.run.id).withdrawn).toEqual([]);
		// So does one that was taken back before its own answer came.
		const { started: _, ...run } = t.run;
		expect(m.sent(m.sending(m.empty, send), 'k1', { ...run, state: 'ended', status: 'stopped' }).withdrawn).toMatchObject([{ key: 'k1' }]);
		// One that began after all and was stopped at once has a record.
		expect(m.applyPage(c, { turns: [{ ...t.turn, status: 'stopped', rounds: [] }] }).withdrawn).toEqual([]);
	});
});

describe('words that steer', () => {
	const t = makeRun(31);
	const own = { ...makeRun(32, { run: 'steering' }).run, message: message('rather in French') };
	const send: m.Send = { key: 'k2', message: own.message, attachments: [], busy: 'steer' };
	const called = t.events.findLastIndex((e) => e.type === 'tool_finished') + 1;
	const first = t.turn.rounds.length - 1;
	// The going run takes the words in behind its last calls; their own run ends with that.
	const taken: Event = { run: t.run.id, session: 's1', seq: 0, time: at(5), type: 'notice', kind: 'steered', text: 'rather in French', ref: own.id };
	const events = [...t.events.slice(0, called), taken, ...t.events.slice(called)].map((e, i) => ({ ...e, seq: i + 1 }));
	const ends: Event[] = [
		{ ...taken, run: own.id, seq: 1, kind: 'queued', text: 'the session’s run takes it in', ref: t.run.id },
		{ ...taken, run: own.id, seq: 2, kind: 'joined', text: 'taken in', ref: t.run.id },
		{ ...taken, run: own.id, seq: 3, type: 'run_finished', kind: undefined, ref: t.run.id, end: { status: 'done', rounds: 0, usage: own.usage } },
	];
	const steered = (c: m.Chat) => m.sent(m.sending(c, send), 'k2', { ...own, state: 'queued' });

	it('wait until the next model call takes them in', () => {
		expect(called).toBeGreaterThan(0);
		let c = steered(feed(known(t), events.slice(0, called)));
		expect(c.waiting).toMatchObject([{ key: 'k2', steers: true }]);
		expect(m.running(c)?.run).toBe(t.run.id);
		c = feed(c, events.slice(called, called + 1));
		expect(c.waiting).toEqual([]);
		c = feed(c, ends);
		expect(m.turns(c).map((v) => v.run)).toEqual([t.run.id]);
		expect(c.withdrawn).toEqual([]);
		expect(m.unknown(c)).toEqual([]);
		expect(m.running(c)?.run).toBe(t.run.id);
		c = feed(c, events.slice(called + 1));
		expect(m.turns(c)[0]!.rounds[first]!.joined).toEqual(['rather in French']);
		expect([m.joined(c, ' rather in French\n'), m.joined(c, 'rather')]).toEqual([true, false]);
		c = m.applyPage(c, { turns: [{ ...t.turn, rounds: t.turn.rounds.map((r, i) => (i === first ? { ...r, joined: ['rather in French'] } : r)) }] }, { gone: m.unrecorded(c) });
		expect(m.turns(c).map((v) => v.rounds[first]!.joined)).toEqual([['rather in French']]);
		expect(c.entries).toHaveLength(1);
	});

	it('are in place for whoever comes later', () => {
		expect(m.turns(feed(known(t), events))[0]!.rounds[first]!.joined).toEqual(['rather in French']);
		const kept: Event[] = events.map((e) => (e === taken || e.kind === 'steered' ? { ...e, kind: 'joined', ref: undefined } : e));
		expect(m.turns(feed(known(t), kept))[0]!.rounds[first]!.joined).toEqual(['rather in French']);
	});

	it('show nothing twice when the answer comes late', () => {
		let c = m.sending(feed(known(t), events.slice(0, called)), send);
		c = feed(c, [...ends, ...events.slice(called)]);
		c = m.sent(c, 'k2', { ...own, state: 'ended', status: 'done' });
		expect(m.turns(c).map((v) => v.run)).toEqual([t.run.id]);
		expect(c.waiting).toEqual([]);
	});

	it('begin a turn of their own when nothing was going', () => {
		const c = m.sent(m.sending(feed(known(t), events), send), 'k2', own);
		expect(m.turns(c).map((v) => v.key)).toEqual([t.run.id, 'k2']);
	});
});

describe('a run that is told from its record', () => {
	it('replaces what was told live once it is as far', () => {
		for (let seed = 1; seed <= 40; seed++) {
			const t = makeRun(seed);
			const r = rng(seed);
			const cut = int(r, t.events.length);
			let c = m.restart(feed(known(t), t.events.slice(0, cut)), t.run.id, true);
			const shown = m.turns(c)[0]!;
			// The record has no chunks, so its events are fewer.
			const kept = merge(t.events.filter((e) => e.type !== 'tool_progress'), r, 1).map((e, i) => ({ ...e, seq: i + 1 }));
			for (const e of kept) {
				c = m.applyEvent(c, e);
				expect(m.turns(c)[0]!.rounds.length).toBeGreaterThanOrEqual(shown.rounds.length);
			}
			expect(essence(m.turns(c)[0])).toEqual(essence(m.turns(m.applyPage(m.empty, { turns: [t.turn] }))[0]));
		}
	});
});

describe('what waits', () => {
	const run = (id: string, state: Run['state']): Run => ({ ...makeRun(1).run, id, state, message: message(id) });

	it('stands in the order of the gateway', () => {
		let c = m.applyRun(m.applyRun(m.empty, run('b', 'queued')), run('a', 'queued'));
		c = m.applyRuns(c, [run('x', 'running'), run('a', 'queued'), run('b', 'queued')]);
		expect(c.waiting.map((w) => w.run)).toEqual(['a', 'b']);
		expect(m.turns(c).map((v) => v.run)).toEqual(['x']);
		expect(m.applyRuns(c, [run('x', 'running'), run('b', 'queued')]).waiting.map((w) => w.run)).toEqual(['b']);
	});

	it('is not dropped, and stands last, where the gateway was asked before', () => {
		const asked = m.applyRun(m.applyRun(m.empty, run('a', 'queued')), run('b', 'queued'));
		const c = m.applyRun(asked, run('c', 'queued'));
		expect(m.applyRuns(c, [run('x', 'running'), run('b', 'queued')], asked).waiting.map((w) => w.run)).toEqual(['b', 'c']);
	});

	it('is told twice without harm', () => {
		const c = m.applyRun(m.empty, run('a', 'queued'));
		expect(m.applyRun(c, run('a', 'queued'))).toBe(c);
	});
});

describe('pages', () => {
	const turn = (n: number) => makeRun(n, { number: n }).turn;
	const page = (from: number, to: number, before?: number) => ({ turns: Array.from({ length: to - from + 1 }, (_, i) => turn(from + i)), before });
	const numbers = (c: m.Chat) => m.turns(c).map((v) => v.number);

	it('continue towards the beginning', () => {
		let c = m.applyPage(m.empty, page(8, 10, 8));
		expect([c.before, numbers(c)]).toEqual([8, [8, 9, 10]]);
		c = m.applyPage(c, page(5, 7, 5), { earlier: true });
		c = m.applyPage(c, page(1, 4), { earlier: true });
		expect([c.before, numbers(c)]).toEqual([undefined, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]);
	});

	it('are refreshed without losing earlier ones or redrawing', () => {
		let c = m.applyPage(m.applyPage(m.empty, page(8, 10, 8)), page(5, 7, 5), { earlier: true });
		const before = m.turns(c);
		c = m.applyPage(c, page(9, 11, 9));
		expect([c.before, numbers(c)]).toEqual([5, [5, 6, 7, 8, 9, 10, 11]]);
		expect(m.turns(c).slice(0, 6).every((v, i) => v === before[i])).toBe(true);
	});

	it('leave no gap when much happened meanwhile', () => {
		let c = m.applyPage(m.empty, page(1, 3));
		c = m.applyPage(c, page(8, 10, 8));
		expect([c.before, numbers(c)]).toEqual([8, [8, 9, 10]]);
	});

	it('tell turns apart that did not run here', () => {
		const told = [1, 2].map((n) => ({ ...turn(n), run: '', seeded: true }));
		const copied = [3, 4].map((n) => ({ ...turn(n), copied: true }));
		let c = m.applyPage(m.empty, { turns: [...told, ...copied, turn(5)] });
		c = m.applyPage(c, { turns: [...told, ...copied, turn(5), turn(6)] });
		expect(numbers(c)).toEqual([1, 2, 3, 4, 5, 6]);
		// What stands for the run names the turn to the gateway.
		expect(m.turns(c).map((v) => v.run)).toEqual(['1', '2', '3', '4', turn(5).run, turn(6).run]);
		expect(m.turns(c).map((v) => v.copied ?? false)).toEqual([false, false, true, true, false, false]);
	});

	it('keep a live turn behind all that are stored', () => {
		const t = makeRun(50, { run: 'live' });
		let c = feed(m.applyRuns(m.applyPage(m.empty, page(8, 10, 8)), [t.run]), t.events.slice(0, 6));
		c = m.applyPage(c, page(5, 7, 5), { earlier: true });
		expect(numbers(c)).toEqual([5, 6, 7, 8, 9, 10, undefined]);
	});

	it('tell of cut answers and of another model', () => {
		const t = turn(1);
		const rounds: Turn['rounds'] = [{ ...t.rounds[0]!, calls: [outcome()] }, { ...t.rounds[0]!, calls: [], finish: 'length', target: { provider: 'p', model: 'two' } }];
		const v = m.turns(m.applyPage(m.empty, { turns: [{ ...t, rounds }] }))[0]!;
		expect(v.rounds[1]!.behind[0]!.text).toMatch(/cut off at a limit/);
		expect(v.rounds[1]!.before).toEqual([{ kind: 'failover', text: 'p/two answers from here on' }]);
	});

	it('tell what was told of model calls that failed', () => {
		const t = turn(1);
		const two = { provider: 'p', model: 'two' };
		const failed = { target: t.rounds[0]!.target, class: 'auth', message: 'no', started: t.started, ended: t.started };
		const attempts = [{ ...failed, next: 'retry', told: 'asked again' }, { ...failed, next: 'failover', to: two, told: 'asking p/two' }, failed];
		const v = m.turns(m.applyPage(m.empty, { turns: [{ ...t, rounds: [t.rounds[0]!, { ...t.rounds[0]!, target: two, attempts }] }] }))[0]!;
		expect(v.rounds[1]!.before).toEqual([{ kind: 'retry', text: 'asked again' }, { kind: 'failover', text: 'asking p/two' }]);
	});

	it('tell what the gateway said of a round in its own words', () => {
		const t = turn(1);
		const cut = { kind: 'limit', text: 'cut off at what the budget left' };
		const notices = [{ kind: 'cooldown', text: 'p/one rests; asking p/two instead.' }, { ...cut, behind: true }];
		const round = { ...t.rounds[0]!, calls: [], finish: 'length', target: { provider: 'p', model: 'two' }, notices, retracted: 2 };
		const v = m.turns(m.applyPage(m.empty, { turns: [{ ...t, rounds: [t.rounds[0]!, round] }] }))[0]!;
		expect(v.rounds[1]!.before).toEqual([notices[0], { kind: 'retracted', text: expect.stringContaining('taken back 2 times') }]);
		expect(v.rounds[1]!.behind).toEqual([cut]);
	});

	it('show calls of a record that have no result yet as running', () => {
		const t = partly(turn(1), 0);
		const open = { ...outcome({ id: 'c' }), status: '' as never, started: '0001-01-01T00:00:00Z', args: undefined, call: { id: 'c', name: 'calc', arguments: '{"a":1}' } };
		const v = m.turns(m.applyPage(m.empty, { turns: [{ ...t, rounds: [{ ...makeRun(1).turn.rounds[0]!, calls: [open] }] }] }))[0]!;
		expect(v.rounds[0]!.calls[0]).toEqual({ id: 'c', index: 0, name: 'calc', args: { a: 1 }, started: undefined, outcome: undefined });
	});
});
