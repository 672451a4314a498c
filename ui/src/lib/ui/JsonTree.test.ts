import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import JsonTree from './JsonTree.svelte';
import { brief, step } from './jsonpath';

describe('paths', () => {
	it.each([
		['.', 'a', '.a'],
		['.', 0, '.[0]'],
		['.a', 0, '.a[0]'],
		['.a[0]', 'b', '.a[0].b'],
		['.', 'odd key', '.["odd key"]'],
		['.a', '"', '.a["\\""]'],
		['.a', '1', '.a["1"]'],
	])('%s then %s is %s', (path, key, want) => expect(step(path, key)).toBe(want));

	it('says what is within', () => {
		expect([brief([]), brief([1]), brief({ a: 1, b: 2 }), brief('x'), brief(null)]).toEqual(['0 items', '1 item', '2 keys', '', '']);
	});
});

describe('JsonTree', () => {
	let copied: string[];
	beforeEach(() => {
		copied = [];
		vi.stubGlobal('navigator', { ...navigator, platform: '', clipboard: { writeText: (t: string) => Promise.resolve(void copied.push(t)) } });
	});
	afterEach(() => {
		cleanup();
		vi.unstubAllGlobals();
	});

	it('opens and closes', async () => {
		render(JsonTree, { value: { name: 'x', list: [1, { deep: true }], nothing: null, empty: {} } });
		expect(screen.getByText('"x"')).toBeTruthy();
		expect(screen.getByText('null')).toBeTruthy();
		expect(screen.getByText('{ }')).toBeTruthy();
		expect(screen.queryByText('1')).toBeNull();
		const list = screen.getByRole('button', { name: 'list, 2 items' });
		expect(list.getAttribute('aria-expanded')).toBe('false');
		await fireEvent.click(list);
		expect(list.getAttribute('aria-expanded')).toBe('true');
		expect(screen.getByText('1')).toBeTruthy();
		await fireEvent.click(list);
		expect(screen.queryByText('1')).toBeNull();
	});

	it('copies paths and values', async () => {
		render(JsonTree, { value: { a: [{ 'odd key': 'text' }] }, depth: 9 });
		await fireEvent.click(screen.getByRole('button', { name: 'Copy the path .a[0]["odd key"]' }));
		await fireEvent.click(screen.getByRole('button', { name: 'Copy the value of .a[0]["odd key"]' }));
		await fireEvent.click(screen.getByRole('button', { name: 'Copy the value of .a' }));
		await vi.waitFor(() => expect(copied).toEqual(['.a[0]["odd key"]', 'text', JSON.stringify([{ 'odd key': 'text' }], null, 2)]));
	});

	it('draws huge values in portions', async () => {
		const { container } = render(JsonTree, { value: Array.from({ length: 100_000 }, (_, i) => i) });
		const drawn = () => container.querySelectorAll('[aria-label^="Copy the value of .["]').length;
		expect(drawn()).toBe(100);
		await fireEvent.click(screen.getByText('show 100 more of 100,000'));
		expect(drawn()).toBe(200);
	});

	it('draws long texts in portions', async () => {
		const { container } = render(JsonTree, { value: 'ä'.repeat(50_000) });
		expect(container.textContent!.length).toBeLessThan(500);
		const more = screen.getByRole('button', { name: 'show more of 97.7 KiB' });
		await fireEvent.click(more);
		expect(within(container).getByRole('button', { name: /show more/ })).toBeTruthy();
		expect(container.textContent!.length).toBeGreaterThan(20_000);
	});

	it('does not take text for markup', () => {
		const { container } = render(JsonTree, { value: '<img src=x onerror=alert(1)>' });
		expect(container.querySelector('img')).toBeNull();
	});

	it('shows characters that hide', () => {
		const { container } = render(JsonTree, { value: { 'a\u202eb': 'safe\u202etxt.exe' } });
		expect(container.textContent).toContain('a⟦U+202E⟧b');
		expect(container.textContent).toContain('safe⟦U+202E⟧txt.exe');
	});
});
