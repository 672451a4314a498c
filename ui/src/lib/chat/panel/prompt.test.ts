import { expect, it } from 'vitest';
import type { Prompt } from '../types';
import { partsOf, shareOf } from './prompt';

const section = (name: string, place: string, tokens: number, changed?: string) => ({ name, place, tokens, bytes: tokens * 4, text: name, changed });
const prompt = {
	agent: 'main', target: { provider: 'demo', model: 'script' }, tools: { count: 12, bytes: 4000, tokens: 1000 }, messages: { count: 1, bytes: 40, tokens: 10 },
	sections: [section('time', 'message', 5, 'changed'), section('identity', 'static', 100), section('memory', 'session', 50, 'new')],
} satisfies Prompt;

it('lists the parts of a request as the model reads them', () => {
	expect(partsOf(prompt).map((p) => [p.name, p.tokens, p.changed])).toEqual([['Tools', 1000, ''], ['identity', 100, ''], ['memory', 50, 'new'], ['Conversation', 10, ''], ['time', 5, 'changed']]);
	const parts = partsOf(prompt);
	expect(new Set(parts.map((p) => p.key)).size).toBe(parts.length);
	expect(parts[3]!.note).toBe('1 message');
});

it('knows the share of the cache', () => {
	const usage = { input: 200, cached: 150, output: 1, cache_write: 0, reasoning: 0 };
	expect(shareOf(usage)).toBe(75);
	expect(shareOf({ ...usage, input: 0 })).toBeUndefined();
	expect(shareOf(undefined)).toBeUndefined();
});
