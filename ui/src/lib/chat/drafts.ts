// What a person has begun to write, kept for each session over reloads.
import { recall, remember } from '../storage';
import type { GivenFile } from './said';

/** Edit is a message of before that is being written anew; sending it makes a fork. */
export interface Edit {
	/** The number of its turn, or its run. */
	readonly turn: string;
	/** Its files that are in the workspace, and stay with it. */
	readonly files: readonly GivenFile[];
	/** Makes one fork only, however often it is sent. */
	readonly key: string;
}

const name = (agent: string, session: string | undefined) => `draft.${agent}/${session ?? ''}`;
const editName = (agent: string, session: string | undefined) => `edit.${agent}/${session ?? ''}`;

// What the browser doesn't keep is kept as long as the page is open.
const own = new Map<string, string>();

export function recallDraft(agent: string, session: string | undefined): string {
	const key = name(agent, session);
	return own.get(key) ?? recall(key) ?? '';
}

export function keepDraft(agent: string, session: string | undefined, text: string, edit?: Edit): void {
	const key = name(agent, session);
	const kept = text.trim() === '' ? undefined : text;
	if (remember(key, kept) || kept === undefined) own.delete(key);
	else own.set(key, kept);
	remember(editName(agent, session), edit && JSON.stringify(edit));
}

/** recallEdit gives what the draft is an edit of; undefined when it is a new message. */
export function recallEdit(agent: string, session: string | undefined): Edit | undefined {
	try {
		const read = JSON.parse(recall(editName(agent, session)) ?? 'null') as Partial<Edit> | null;
		return typeof read?.turn === 'string' && typeof read.key === 'string' && Array.isArray(read.files) ? (read as Edit) : undefined;
	} catch {
		return undefined; // of another version
	}
}
