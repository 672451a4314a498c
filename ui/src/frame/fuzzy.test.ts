import { describe, expect, it } from 'vitest';
import { find } from './fuzzy';

const texts = ['New chat', 'Sessions', 'Chat', 'Sign out', 'Theme: dark', 'Theme: light', 'file_read', 'file_search', 'Überblick über Größen', 'Straße 7'];

function best(query: string): string[] {
	return texts
		.map((text) => ({ text, found: find(query, text) }))
		.filter((t) => t.found)
		.sort((a, b) => b.found!.score - a.found!.score)
		.map((t) => t.text);
}

describe('find', () => {
	const cases: [query: string, first: string | undefined][] = [
		['chat', 'Chat'],
		['new', 'New chat'],
		['nc', 'New chat'],
		['so', 'Sign out'],
		['dark', 'Theme: dark'],
		['light theme', 'Theme: light'],
		['fr', 'file_read'],
		['search', 'file_search'],
		['ueber', undefined],
		['uber', 'Überblick über Größen'],
		['GRÖSSEN', undefined],
		['größ', 'Überblick über Größen'],
		['straße', 'Straße 7'],
		['zzz', undefined],
	];
	for (const [query, first] of cases) {
		it(`${query} means ${first ?? 'nothing'}`, () => expect(best(query)[0]).toBe(first));
	}

	it('means everything without words', () => {
		expect(best('  ')).toHaveLength(texts.length);
	});

	it('tells where', () => {
		expect(find('chat', 'New chat')!.at).toEqual([4, 5, 6, 7]);
		expect(find('größen', 'Überblick über Größen')!.at).toEqual([15, 16, 17, 18, 19, 20]);
	});

	it('keeps every index within the text', () => {
		for (const text of [...texts, 'İstanbul 🦀 ﬁ', '🦀🦀 crab']) {
			for (const letter of text) {
				for (const i of find(letter, text)?.at ?? []) expect(i).toBeLessThan(text.length);
			}
		}
	});
});
