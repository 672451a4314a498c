// What this tab has said and nobody has read. It is kept over a reload of the tab,
// and while the page shows another conversation. What is on its way is sent
// meanwhile, and once more after a reload with the same key, which starts nothing
// twice; of what waits it is found out what became of it; what was withdrawn is
// shown until its person has done something about it.
import type { Send, Waiting } from './model';
import type { Run } from './types';

function store(): Storage | undefined {
	try {
		return window.sessionStorage;
	} catch {
		return undefined; // cookies are blocked
	}
}

type Kind = 'unsent' | 'waiting' | 'withdrawn';

interface Keyed {
	readonly key: string;
}

const name = (kind: Kind, agent: string, session: string | undefined) => `goclaw.${kind}.${agent}/${session ?? ''}`;

/** read gives what is kept. What can't be read any more is dropped. */
function read(kind: Kind, agent: string, session: string | undefined): Keyed[] {
	try {
		const kept: unknown = JSON.parse(store()?.getItem(name(kind, agent, session)) ?? '[]');
		return Array.isArray(kept) ? kept.filter(isKeyed) : [];
	} catch {
		return [];
	}
}

/** keep stores what a conversation has now in place of what it had before. What
 *  others keep for the same session stays. */
function keep(kind: Kind, agent: string, session: string | undefined, before: readonly Keyed[], now: readonly Keyed[]): void {
	const own = new Set([...before, ...now].map((v) => v.key));
	const kept = [...read(kind, agent, session).filter((v) => !own.has(v.key)), ...now];
	try {
		if (kept.length === 0) store()?.removeItem(name(kind, agent, session));
		else store()?.setItem(name(kind, agent, session), JSON.stringify(kept));
	} catch {
		// Full or forbidden: the message is still on the page.
	}
}

/** keepUnsent stores what a conversation has not seen confirmed, in place of before. */
export function keepUnsent(agent: string, session: string | undefined, before: readonly Send[], now: readonly Send[]): void {
	keep('unsent', agent, session, before, now);
}

/** Rest is what of this tab's messages waits, and what was withdrawn. */
export interface Rest {
	readonly waiting: readonly Waiting[];
	readonly withdrawn: readonly Waiting[];
}

/** keepRest stores what a conversation knows to be left, in place of before. */
export function keepRest(agent: string, session: string, before: Rest, now: Rest): void {
	keep('waiting', agent, session, before.waiting, now.waiting);
	keep('withdrawn', agent, session, before.withdrawn, now.withdrawn);
}

/** rest gives what keepRest stored. */
export function rest(agent: string, session: string): Rest {
	return { waiting: read('waiting', agent, session).filter(isWaiting), withdrawn: read('withdrawn', agent, session).filter(isWaiting) };
}

/** unsent gives what is kept of a session. What begins a session of its own
 *  belongs to whoever sends it. */
export function unsent(agent: string, session: string | undefined): Send[] {
	return read('unsent', agent, session).filter(isSend).filter((s) => session !== undefined || !going.has(s.key));
}

interface Going {
	readonly run: Promise<Run>;
	/** release takes it from the conversation that has it. */
	release: () => void;
}

// What this page is sending, by key.
const going = new Map<string, Going>();

/** deliver sends a message and gives the run that it became. One that is on its
 *  way already is taken over from the conversation that has it. */
export function deliver(key: string, send: () => Promise<Run>, release: () => void): Promise<Run> {
	const begun = going.get(key);
	if (begun) {
		begun.release();
		begun.release = release;
		return begun.run;
	}
	const run = send().finally(() => going.delete(key));
	going.set(key, { run, release });
	return run;
}

function isKeyed(v: unknown): v is Keyed {
	return typeof (v as Partial<Keyed> | null)?.key === 'string';
}

function isSend(v: Keyed): v is Send {
	const s = v as Partial<Send>;
	return Array.isArray(s.message?.parts) && Array.isArray(s.attachments) && (s.busy === 'queue' || s.busy === 'steer');
}

function isWaiting(v: Keyed): v is Waiting {
	const w = v as Partial<Waiting>;
	return typeof w.run === 'string' && Array.isArray(w.message?.parts) && typeof w.caller?.id === 'string';
}
