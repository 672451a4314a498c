import { expect, it } from 'vitest';
import * as m from './model';
import { receiptOf } from './receipt';
import { at, makeRun, outcome } from './testdata/runs';

it('adds up a turn', () => {
	const { turn } = makeRun(3);
	const [a] = turn.rounds;
	const t = { ...turn, usage: { input: 100, output: 20, cached: 60, cache_write: 0, reasoning: 5 }, usd: undefined, started: at(0), ended: at(12), model: 'p/two',
		rounds: [{ ...a!, target: { provider: 'p', model: 'one' }, first_token: at(2), calls: [outcome({ id: 'a' }), outcome({ id: 'b' }), outcome({ id: 'c', tool: 'shell' })] }, { ...a!, target: { provider: 'p', model: 'two' }, calls: [] }] };
	expect(receiptOf(m.turns(m.applyPage(m.empty, { turns: [t] }))[0]!)).toEqual({
		models: ['p/one', 'p/two'], input: 100, output: 20, cached: 60, reasoning: 5, usd: undefined, answered: 2, failed: [], recalled: false,
		tools: [{ name: 'calc', count: 2 }, { name: 'shell', count: 1 }], took: 12_000, firstToken: 2000,
	});
});

it('knows what is not known', () => {
	const { run } = makeRun(3);
	const r = receiptOf(m.turns(m.applyRuns(m.empty, [run]))[0]!);
	expect([r.models, r.took, r.firstToken, r.usd]).toEqual([[], NaN, NaN, undefined]);
});

it('counts calls that failed, and rounds that no model answered', () => {
	const { turn } = makeRun(3);
	const failed = (model: string, next: string) => ({ target: { provider: 'p', model }, class: 'auth', status: 401, message: 'no key', started: at(0), ended: at(1), next });
	const of = (round: object) => receiptOf(m.turns(m.applyPage(m.empty, { turns: [{ ...turn, rounds: [{ ...turn.rounds[0]!, calls: [], ...round }] }] }))[0]!);
	const moved = of({ target: { provider: 'p', model: 'two' }, attempts: [failed('one', 'failover'), { ...failed('three', 'failover'), skipped: true }] });
	expect(moved).toMatchObject({ models: ['p/two'], answered: 1, failed: [{ model: 'p/one', why: 'no key (HTTP 401)' }] });
	expect(of({ finish: 'stopped', text: '', attempts: [failed('one', 'retry'), failed('one', '')] })).toMatchObject({ models: [], answered: 0, failed: [{}, {}] });
	expect(of({ finish: 'stopped', text: 'half' })).toMatchObject({ answered: 1, failed: [] });
	expect(of({ finish: 'host', target: { provider: '', model: '' } })).toMatchObject({ models: [], answered: 0 });
});

it('says when no model was asked', () => {
	const { turn } = makeRun(3);
	const t = { ...turn, rounds: [{ ...turn.rounds[0]!, calls: [], cached: true }] };
	expect(receiptOf(m.turns(m.applyPage(m.empty, { turns: [t] }))[0]!).recalled).toBe(true);
});
