import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it } from 'vitest';
import { at, outcome } from '../testdata/runs';
import type { Call } from '../model';
import { words, type State } from './call';
import Line from './CallLine.test.svelte';

const call = (o: Partial<Call> = {}): Call => ({ id: 'c1', index: 0, name: 'calc', args: { expression: '6*7' }, started: at(0), ...o });
const button = () => screen.getByRole('button');

afterEach(cleanup);

describe('the line of a call', () => {
	it.each(['ok', 'error', 'refused', 'invalid', 'timeout', 'cancelled', 'panic', 'interrupted', 'handed'] as const)('says %s by a word, a shape and a colour', (status) => {
		render(Line, { call: call({ outcome: outcome({ status }) }), run: 'r', over: true });
		expect(button().textContent).toContain(words[status as State]);
		const shapes = [...button().querySelectorAll('svg')].map((s) => s.getAttribute('class'));
		expect(shapes[0]).toMatch(/lucide-/);
		expect(button().querySelector('[class*="text-"]')).not.toBeNull();
	});

	it('has a shape of its own for each state', () => {
		const shapes = new Set<string>();
		for (const status of ['ok', 'error', 'refused', 'invalid', 'timeout', 'cancelled', 'panic', 'interrupted', 'handed'] as const) {
			const { container, unmount } = render(Line, { call: call({ outcome: outcome({ status }) }), run: 'r', over: true });
			shapes.add(container.querySelector('svg')!.innerHTML);
			unmount();
		}
		expect(shapes.size).toBe(9);
	});

	it('says that it runs, with what and how far', () => {
		render(Line, { call: call({ progress: 'half of it' }), run: 'r', over: false });
		expect(button().textContent).toMatch(/calc.*6\*7.*half of it.*running/s);
		expect(button().getAttribute('aria-expanded')).toBe('false');
	});

	it('says that a call without an outcome was interrupted when its turn is over', () => {
		render(Line, { call: call(), run: 'r', over: true });
		expect(button().textContent).toContain('interrupted');
	});

	it('shows hidden characters of names and arguments', () => {
		render(Line, { call: call({ name: 'ca\u202elc', args: { path: 'a\u2066b' } }), run: 'r', over: true });
		expect(button().textContent).toContain('ca⟦U+202E⟧lc');
		expect(button().textContent).toContain('a⟦U+2066⟧b');
	});
});
