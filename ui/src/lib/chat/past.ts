// What the person at this page said before, to be taken up again.
import { url } from '../api/client';
import type { Item } from './items';
import { saidOf, type GivenFile } from './said';
import type { Stored } from './uploads.svelte';

/** Past is a message that has become a turn. */
export interface Past {
	/** The number of its turn, or its run. */
	readonly turn: string;
	readonly text: string;
	/** Files that are in the workspace. */
	readonly files: readonly GivenFile[];
	/** What is in the message itself, as pictures are. */
	readonly media: readonly Stored[];
}

/** pastOf lists the messages of a session that can be edited, the last one first. */
export function pastOf(list: readonly Item[], agent: string, session: string | undefined): Past[] {
	if (!session) return [];
	const out: Past[] = [];
	for (const item of list) {
		const turn = item.turn?.run;
		if (!item.mine || !turn) continue;
		const said = saidOf(item.message);
		const media = said.media.map((f) => ({
			name: f.name || 'file', mime: f.mime,
			url: url('/api/sessions/{agent}/{id}/turns/{turn}/media/{media}', { agent, id: session, turn, media: `message:${f.index}` }),
		}));
		out.push({ turn, text: said.text, files: said.files, media });
	}
	return out.reverse();
}
