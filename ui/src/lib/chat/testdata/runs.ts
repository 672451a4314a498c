// Runs made up from a seed: what the loop tells as events and, of the same run,
// what the gateway stores as its turn.
import type { Event, Message, Outcome, OutcomeStatus, Run, Turn } from '../types';

/** rng yields numbers in [0, 1) that follow from seed. */
export function rng(seed: number): () => number {
	let s = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1; // small seeds are spread, else they begin alike
	return () => {
		s ^= s << 13;
		s >>>= 0;
		s ^= s >>> 17;
		s ^= s << 5;
		s >>>= 0;
		return s / 0x100000000;
	};
}

export const int = (r: () => number, n: number) => Math.floor(r() * n);

export function message(text: string): Message {
	return { role: 'user', parts: [{ kind: 'text', text }] };
}

export const caller = { id: 'ada', role: 'user', human: true } as const;

/** at is a time some seconds into the test's day. */
export function at(seconds: number): string {
	return new Date(Date.UTC(2026, 4, 4, 10, 0, 0) + seconds * 1000).toISOString();
}

export const noUsage = { input: 0, output: 0, cached: 0, cache_write: 0, reasoning: 0 };

export function outcome(o: Partial<Outcome> & { id?: string } = {}): Outcome {
	const { id = 'c1', ...rest } = o;
	return {
		call: { id, name: o.tool ?? 'calc', arguments: JSON.stringify(o.args ?? {}) },
		tool: 'calc',
		args: {},
		status: 'ok',
		content: [{ kind: 'text', text: '42' }],
		started: at(0),
		ended: at(1),
		...rest,
	};
}

export interface Told {
	events: Event[];
	turn: Turn;
	run: Run;
}

const statuses: OutcomeStatus[] = ['ok', 'ok', 'ok', 'error', 'refused', 'invalid', 'timeout', 'cancelled'];

/** makeRun tells a run with some rounds, calls, notices and retractions. */
export function makeRun(seed: number, o: { run?: string; number?: number; session?: string; queued?: boolean } = {}): Told {
	const r = rng(seed * 7919 + 17);
	const run = o.run ?? `run${seed}`;
	const session = o.session ?? 's1';
	const events: Event[] = [];
	let clock = 0;
	const emit = (e: Partial<Event> & Pick<Event, 'type'>) => {
		clock += 0.1;
		events.push({ run, session, agent: 'main', seq: events.length + 1, time: at(clock), ...e });
	};
	const target = { provider: 'demo', model: 'script' };
	const said = message(`question ${seed}`);
	if (o.queued) emit({ type: 'notice', kind: 'queued', text: 'waiting for the session’s current run to end' });
	emit({ type: 'run_started' });
	const rounds: Turn['rounds'] = [];
	const n = 1 + int(r, 4);
	for (let i = 0; i < n; i++) {
		const last = i === n - 1;
		if (i > 0 && r() < 0.3) emit({ type: 'notice', kind: 'guard', text: `note ${i}` });
		emit({ type: 'prompt_built', request: { bytes: 1, messages: 1, target } });
		emit({ type: 'model_call_started', target });
		const started = at(clock);
		let text = '';
		let reasoning = '';
		let firstToken: string | undefined;
		const say = (words: number, kind: 'token_chunk' | 'reasoning_chunk') => {
			for (let w = 0; w < words; w++) {
				const t = `w${int(r, 1000)} `;
				emit({ type: kind, text: t });
				firstToken ??= at(clock);
				if (kind === 'token_chunk') text += t;
				else reasoning += t;
			}
		};
		if (r() < 0.4) say(1 + int(r, 5), 'reasoning_chunk');
		say(int(r, 8), 'token_chunk');
		if (r() < 0.25) {
			emit({ type: 'retracted' });
			text = reasoning = '';
			say(1 + int(r, 6), 'token_chunk');
		}
		if (last) say(1 + int(r, 4), 'token_chunk');
		const calls: Outcome[] = [];
		if (!last) {
			const count = 1 + int(r, 5);
			for (let c = 0; c < count; c++) {
				const status = statuses[int(r, statuses.length)]!;
				calls.push(outcome({ id: `${run}-${i}-${c}`, tool: ['calc', 'file_read', 'datetime'][int(r, 3)], args: { n: c }, status, content: [{ kind: 'text', text: `result ${c}` }] }));
			}
			const tool = (c: number) => ({ id: calls[c]!.call.id, index: c, name: calls[c]!.tool, args: calls[c]!.args });
			const open = calls.map((_, c) => c).filter((c) => {
				if (calls[c]!.status !== 'refused') return true;
				emit({ type: 'tool_finished', tool: { ...tool(c), outcome: calls[c] } });
				return false;
			});
			for (const c of open) {
				emit({ type: 'tool_started', tool: tool(c) });
				calls[c] = { ...calls[c]!, started: at(clock) };
			}
			while (open.length > 0) {
				const c = open.splice(int(r, open.length), 1)[0]!;
				if (r() < 0.4) emit({ type: 'tool_progress', tool: { id: tool(c).id, index: c, name: tool(c).name }, text: 'halfway' });
				emit({ type: 'tool_finished', tool: { ...tool(c), outcome: calls[c] } });
			}
		}
		rounds.push({
			number: i + 1, text, reasoning: reasoning || undefined, finish: last ? 'stop' : 'calls', target, usage: noUsage,
			calls, started, first_token: firstToken, replied: at(clock), ended: at(clock),
		});
	}
	const fails = r() < 0.2;
	const end = { status: fails ? ('failed' as const) : ('done' as const), rounds: n, usage: { ...noUsage, input: 10, output: 5 }, usd: r() < 0.5 ? 0.01 : undefined };
	emit(fails ? { type: 'run_failed', text: 'it broke; try again', end } : { type: 'run_finished', text: rounds.at(-1)!.text, end });
	const turn: Turn = {
		number: o.number ?? seed, run, message: said, status: end.status, error: fails ? 'it broke; try again' : undefined,
		caller, origin: 'chat', started: at(0.1), ended: at(clock), usage: end.usage, usd: end.usd, rounds,
	};
	return { events, turn, run: { id: run, agent: 'main', session, state: 'running', caller, origin: 'chat', message: said, usage: noUsage } };
}

/** partly is the record as it is after the first rounds, the last of them open. */
export function partly(t: Turn, rounds: number): Turn {
	return { ...t, status: 'running', error: undefined, ended: undefined, usd: undefined, rounds: t.rounds.slice(0, rounds) };
}

/** merge joins chunks that stand side by side as the gateway does for slow readers. */
export function merge(events: Event[], r: () => number, chance = 0.5): Event[] {
	const out: Event[] = [];
	for (const e of events) {
		const last = out.at(-1);
		if (last && last.type === e.type && last.seq === e.seq - 1 && (e.type === 'token_chunk' || e.type === 'reasoning_chunk') && r() < chance) {
			out[out.length - 1] = { ...e, text: (last.text ?? '') + (e.text ?? '') };
		} else out.push(e);
	}
	return out;
}
