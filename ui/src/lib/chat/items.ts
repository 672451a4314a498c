// The conversation as one list: turns, then what was withdrawn, what waits, and what is on its way.
// A message keeps its key from one to the next, so that it stays where it is.
import * as m from './model';
import type { Message } from './types';

export interface Item {
	readonly key: string;
	readonly message: Message;
	readonly run?: string;
	/** Whether the person at this page said it. */
	readonly mine: boolean;
	/** Who said it. */
	readonly caller: string;
	readonly turn?: m.TurnView;
	readonly waiting?: m.Waiting;
	/** The message was withdrawn before it was read. */
	readonly withdrawn?: boolean;
	readonly send?: m.Send;
}

/** items lists a conversation for the person whose id is me. */
export function items(c: m.Chat, turns: readonly m.TurnView[], me: string): Item[] {
	const by = (p: { id: string; name?: string } | undefined) => ({ mine: !p || p.id === me, caller: p?.name || p?.id || '' });
	return [
		...turns.map((t) => ({ key: t.key, message: t.message, run: t.run, turn: t, ...by(t.caller) })),
		...c.withdrawn.map((w) => ({ key: w.key, message: w.message, run: w.run, withdrawn: true, ...by(w.caller) })),
		...c.waiting.map((w) => ({ key: w.key, message: w.message, run: w.run, waiting: w, ...by(w.caller) })),
		...c.sends.map((s) => ({ key: s.key, message: s.message, send: s, ...by(undefined) })),
	];
}
