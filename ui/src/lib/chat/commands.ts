// The words with a slash that a person can type into the composer.

export interface Command {
	readonly name: string;
	/** What is written behind it, if anything. */
	readonly argument?: string;
	readonly about: string;
	/** Only of use in a session that exists. */
	readonly session?: boolean;
}

export const commands: readonly Command[] = [
	{ name: 'new', about: 'Begin a new conversation' },
	{ name: 'stop', about: 'Stop the answer that is being written', session: true },
	{ name: 'tools', about: 'Show the tools that this conversation is offered, and why' },
	{ name: 'context', about: 'Show what the next request to the model holds' },
	{ name: 'usage', about: 'Show the tokens and the cost so far', session: true },
	{ name: 'rename', argument: 'title', about: 'Give this conversation another title', session: true },
	{ name: 'fork', about: 'Go on from the last answer in a copy of this conversation', session: true },
	{ name: 'export', argument: 'markdown | jsonl', about: 'Download this conversation', session: true },
	{ name: 'help', about: 'Show commands and shortcuts' },
];

/** Typed is what a text in the composer means. */
export type Typed = { kind: 'message' } | { kind: 'command'; command: Command; argument: string } | { kind: 'unknown'; name: string };

/** readCommand tells a command from a message. Paths such as /etc/hosts and
 *  words with a slash in front of a sentence are messages. */
export function readCommand(text: string): Typed {
	const m = /^\/([a-z]+)(?:[ \t]+([^\n]*))?\s*$/i.exec(text);
	if (!m) return { kind: 'message' };
	const name = m[1]!.toLowerCase();
	const argument = (m[2] ?? '').trim();
	const command = commands.find((c) => c.name === name);
	if (command) return command.argument || !argument ? { kind: 'command', command, argument } : { kind: 'message' };
	return argument ? { kind: 'message' } : { kind: 'unknown', name };
}

/** complete lists the commands that a text may become; none when it is no command. */
export function complete(text: string, inSession: boolean): Command[] {
	const m = /^\/([a-z]*)$/i.exec(text);
	if (!m) return [];
	const begin = m[1]!.toLowerCase();
	return commands.filter((c) => c.name.startsWith(begin) && (inSession || !c.session));
}
