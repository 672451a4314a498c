// The numbers of a turn, as its receipt shows them.
import type { Failed, TurnView } from './model';

export interface Receipt {
	/** Those that answered, in order. */
	models: string[];
	input: number;
	output: number;
	cached: number;
	reasoning: number;
	/** Dollars; undefined when a price is unknown. */
	usd: number | undefined;
	/** Model calls that were answered, and those that failed, in order. */
	answered: number;
	failed: Failed[];
	/** Whether the answer came from the cache and no model was asked. */
	recalled: boolean;
	tools: { name: string; count: number }[];
	/** Milliseconds; NaN when they aren't known. */
	took: number;
	firstToken: number;
}

/** receiptOf adds up a turn that has ended. */
export function receiptOf(t: TurnView): Receipt {
	const models: string[] = [];
	const tools = new Map<string, number>();
	for (const r of t.rounds) {
		const name = r.target?.model ? `${r.target.provider}/${r.target.model}` : '';
		if (name && !r.unanswered && !models.includes(name)) models.push(name);
		for (const c of r.calls) tools.set(c.name, (tools.get(c.name) ?? 0) + 1);
	}
	if (models.length === 0 && t.model && !t.rounds.some((r) => r.unanswered)) models.push(t.model);
	const first = t.rounds.find((r) => r.firstToken && !r.firstToken.startsWith('0001'))?.firstToken;
	const since = (a: string | undefined, b: string | undefined) => (a && b ? Date.parse(b) - Date.parse(a) : NaN);
	return {
		models,
		input: t.usage?.input ?? 0,
		output: t.usage?.output ?? 0,
		cached: t.usage?.cached ?? 0,
		reasoning: t.usage?.reasoning ?? 0,
		usd: t.usd,
		answered: t.rounds.filter((r) => !r.unanswered && !r.recalled).length,
		failed: t.rounds.flatMap((r) => r.failed ?? []),
		recalled: t.rounds.some((r) => r.recalled),
		tools: [...tools].map(([name, count]) => ({ name, count })),
		took: since(t.started, t.ended),
		firstToken: since(t.started, first),
	};
}
