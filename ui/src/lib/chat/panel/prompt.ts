// The parts of a request as the Context panel shows them.
import type { Prompt, PromptSection, Usage } from '../types';

export interface PromptPart {
	key: string;
	name: string;
	tokens: number;
	colour: string;
	/** place says which part of the prompt it belongs to. */
	place: string;
	note: string;
	changed: string;
	section?: PromptSection;
}

// Told apart also by those who see few colours: neighbours differ in lightness.
const colours = ['#3f8f80', '#8fd0c3', '#2f6fb0', '#9cc4ee', '#8a5bb0', '#cbb0e3', '#b07a1f', '#e8c47a', '#5d6066', '#b5b8bd'];

const places: Record<string, string> = { static: 'the same in every session', session: 'of this session', message: 'of each message' };
const changes: Record<string, string> = { changed: 'changed', new: 'new', empty: 'gone' };

/** partsOf lists them in the order in which the model reads them. */
export function partsOf(p: Prompt): PromptPart[] {
	const out: PromptPart[] = [];
	const colour = () => colours[out.length % colours.length]!;
	const sections = (place: string) => {
		for (const s of p.sections) {
			if (s.place !== place) continue;
			out.push({
				key: `section ${s.place}/${s.name}`, name: s.name, tokens: s.tokens, colour: colour(), place: places[s.place] ?? s.place,
				note: s.source ?? '', changed: changes[s.changed ?? ''] ?? s.changed ?? '', section: s,
			});
		}
	};
	const size = (n: number, one: string, many: string) => `${n.toLocaleString()} ${n === 1 ? one : many}`;
	out.push({ key: 'tools', name: 'Tools', tokens: p.tools.tokens, colour: colour(), place: '', note: size(p.tools.count, 'description', 'descriptions'), changed: '' });
	sections('static');
	sections('session');
	out.push({ key: 'messages', name: 'Conversation', tokens: p.messages.tokens, colour: colour(), place: '', note: size(p.messages.count, 'message', 'messages'), changed: '' });
	sections('message');
	for (const place of new Set(p.sections.map((s) => s.place))) if (!Object.hasOwn(places, place)) sections(place);
	return out;
}

/** shareOf is the part of a request's input that the provider's cache gave, in per cent. */
export function shareOf(u: Usage | undefined): number | undefined {
	if (!u || u.input <= 0) return undefined;
	return Math.round((u.cached / u.input) * 100);
}
