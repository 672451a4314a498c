import { expect, it } from 'vitest';
import { draftOf, empty, ruleOf } from './rule';

it('keeps a rule that nobody changed', () => {
	const rule = { name: 'r', action: 'webhook', when: 'after', tools: ['shell', 'group:fs'], agents: ['main'], match: 'true', message: 'm', priority: -3, url: 'https://x', secret: '***', timeout: '5s', to: 'admins' };
	expect(ruleOf(draftOf(rule))).toEqual(rule);
	expect(ruleOf(draftOf({ name: 'r', action: 'block' }))).toEqual({ name: 'r', action: 'block', when: 'before' });
});

it('sends only what was written, and what is for the action', () => {
	expect(ruleOf({ ...empty, name: ' a ', tools: 'x,\n y ,,', url: 'https://left.from.before', priority: '0' })).toEqual({ name: 'a', action: 'block', when: 'before', tools: ['x', 'y'] });
});

it('says what is no priority', () => {
	expect(() => ruleOf({ ...empty, priority: 'high' })).toThrow('high');
	expect(() => ruleOf({ ...empty, priority: '1.5' })).toThrow('1.5');
});
