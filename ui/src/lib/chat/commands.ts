// The words with a slash that a person can type into the composer. What is a
// command, and what a message, is as in internal/agent/command, which the other
// front ends share: nothing that looks like a command is sent as a message unless
// two slashes say so.

export interface Command {
	readonly name: string;
	/** What is written behind it, if anything; in brackets when it may be left out. */
	readonly argument?: string;
	readonly about: string;
	/** Only of use in a session that exists. */
	readonly session?: boolean;
}

export const commands: readonly Command[] = [
	{ name: 'new', about: 'Begin a new conversation' },
	{ name: 'sessions', about: 'Look for a conversation among all' },
	{ name: 'resume', argument: 'name', about: 'Go on with another conversation' },
	{ name: 'fork', argument: '[turn]', about: 'Go on from the last answer, or that of an earlier turn, in a copy of this conversation', session: true },
	{ name: 'agent', argument: '[id]', about: 'Talk to another agent, or list them' },
	{ name: 'model', argument: '[name]', about: 'Choose the model that answers here from now on, or show which does' },
	{ name: 'stop', about: 'Stop the answer that is being written', session: true },
	{ name: 'steer', argument: 'text', about: 'Say something to the agent before its next step', session: true },
	{ name: 'approve', argument: '[once | always | no]', about: 'Answer the tool call that waits for it', session: true },
	{ name: 'plan', argument: '[on | off]', about: 'Have the agent plan first: what changes something is refused until you agree' },
	{ name: 'tools', argument: '[name]', about: 'Show the tools that this conversation is offered, or explain one' },
	{ name: 'context', about: 'Show what the next request to the model holds' },
	{ name: 'usage', about: 'Show the tokens, the cost and what is left of budgets', session: true },
	{ name: 'rename', argument: '[title]', about: 'Give this conversation another title', session: true },
	{ name: 'export', argument: '[markdown | jsonl]', about: 'Download this conversation', session: true },
	{ name: 'help', argument: '[command]', about: 'Show commands and shortcuts' },
];

// Of every front end, and not in this version.
const later = new Set(['compact', 'skills']);

/** Typed is what a text in the composer means. */
export type Typed = { kind: 'message'; text: string } | { kind: 'command'; command: Command; argument: string } | { kind: 'wrong'; why: string };

/** readCommand tells a command from a message, and says why it can't be done when it is neither. */
export function readCommand(text: string): Typed {
	const trimmed = text.trim();
	if (trimmed.startsWith('//')) return { kind: 'message', text: trimmed.slice(1) };
	const m = /^\/([a-z][a-z0-9_?-]*|\?)(?:\s+([^]*))?$/i.exec(trimmed);
	if (!m) return { kind: 'message', text: trimmed };
	const word = m[1]!;
	const name = word === '?' ? 'help' : word.toLowerCase();
	const argument = m[2] ?? '';
	const anyway = `To send it as a message, write //${clip(word)}`;
	const command = commands.find((c) => c.name === name);
	if (later.has(name)) return { kind: 'wrong', why: `/${name} is not in this version yet. ${anyway}` };
	if (!command) return { kind: 'wrong', why: `There is no command /${clip(word)}: ${meant(name)} ${anyway}` };
	if (needs(command) && !argument) return { kind: 'wrong', why: `/${name} needs something behind it: write /${name} ${command.argument?.toUpperCase()}` };
	if (!command.argument && argument) return { kind: 'wrong', why: `/${name} takes nothing behind it. ${anyway}` };
	return { kind: 'command', command, argument };
}

/** needs says whether a command does nothing without its argument. */
export function needs(c: Command): boolean {
	return c.argument !== undefined && !c.argument.startsWith('[');
}

/** meant asks for the commands that a name is near to, or says where they are listed. */
function meant(name: string): string {
	const far = (c: Command) => (c.name.startsWith(name) ? 0 : distance(name, c.name));
	const near = commands.filter((c) => far(c) <= 2 && far(c) < c.name.length / 2).sort((a, b) => far(a) - far(b));
	return near.length > 0 ? `did you mean /${near.slice(0, 3).map((c) => c.name).join(' or /')}?` : '/help lists them.';
}

/** distance counts the letters by which two words differ, swaps of neighbours as one. */
function distance(a: string, b: string): number {
	const rows = Array.from({ length: a.length + 1 }, (_, i) => [i]);
	for (let j = 0; j <= b.length; j++) rows[0]![j] = j;
	for (let i = 1; i <= a.length; i++) {
		for (let j = 1; j <= b.length; j++) {
			const same = a[i - 1] === b[j - 1] ? 0 : 1;
			let d = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + same);
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, rows[i - 2]![j - 2]! + 1);
			rows[i]![j] = d;
		}
	}
	return rows[a.length]![b.length]!;
}

/** clip keeps what a person wrote short enough to be repeated. */
const clip = (s: string) => (s.length > 40 ? `${s.slice(0, 40)}…` : s);

/** complete lists the commands that a text may become; none when it is no command. */
export function complete(text: string, inSession: boolean): Command[] {
	const m = /^\/([a-z]*)$/i.exec(text);
	if (!m) return [];
	const begin = m[1]!.toLowerCase();
	return commands.filter((c) => c.name.startsWith(begin) && (inSession || !c.session));
}
