import type { Schemas } from '../../lib/api/client';

export type Surface = Schemas['Surface'];

// Row is a tool as the page lists it, whatever became of it.
export interface Row {
	name: string;
	state: 'offered' | 'permitted' | 'removed';
	tool?: Schemas['Tool'];
	removal?: Schemas['ToolRemoval'];
	// about is one line of its description, or why it is not there.
	about: string;
}

// rows are all tools of a surface by name: a list for people, while a model is
// shown them in an order of its own.
export function rows(s: Surface): Row[] {
	const of = (state: 'offered' | 'permitted') => (tool: Schemas['Tool']): Row => ({ name: tool.name, state, tool, about: tool.description.split('\n')[0] ?? '' });
	return [
		...(s.offered ?? []).map(of('offered')),
		...(s.permitted_not_offered ?? []).map(of('permitted')),
		...(s.removed ?? []).map((removal): Row => ({ name: removal.tool, state: 'removed', removal, about: removal.reason })),
	].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

// sift keeps the rows that hold all words, and are in the state that is wanted.
export function sift(all: Row[], words: string, state: string): Row[] {
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
	return all.filter((r) => {
		if (state && r.state !== state) return false;
		const text = [r.name, r.tool?.description, r.tool?.category, r.tool?.owner, r.removal?.reason, r.removal?.layer, r.removal?.rule].join(' ').toLowerCase();
		return wanted.every((w) => text.includes(w));
	});
}
