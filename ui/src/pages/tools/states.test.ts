import { render } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import States from './States.svelte';

describe('how far a tool gets', () => {
	const upTo = (n: number, detail = '') =>
		['installed', 'discovered', 'registered', 'exposed', 'called', 'executed'].map((state, i) => ({ state, verdict: i < n ? 'yes' : i === n ? 'NO' : '-', detail: i === n ? detail : '' }));

	it.each([
		[6, '', 'offered'],
		[3, 'layer policy: denied', 'not exposed'],
		[5, 'refused', 'offered; last call refused'],
		[5, 'step before, rule look: never', 'offered; last call refused'],
		[5, 'invalid, step arguments: path is missing', 'offered; last call invalid'],
		[5, 'cancelled', 'offered; last call cancelled'],
		[5, 'plan mode is on, so a call would be refused', 'offered; a call would be refused'],
	])('stops at %s (%s): %s', (n, detail, want) => {
		const { container } = render(States, { states: upTo(n, detail) as never });
		expect(container.textContent?.trim()).toBe(want);
	});
});
