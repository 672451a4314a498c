import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Component } from 'svelte';
import { build, chatPath, match, router, type Page } from './router.svelte';

const settle = () => new Promise((done) => setTimeout(done));

describe('paths', () => {
	const chat = '/chat/:agent?/:session?';
	it.each([
		[chat, '/chat', {}],
		[chat, '/chat/', {}],
		[chat, '/chat/main', { agent: 'main' }],
		[chat, '/chat/main/a%2Fb%20%C3%BC', { agent: 'main', session: 'a/b ü' }],
		[chat, '/chat/main/x/y', undefined],
		[chat, '/chats', undefined],
		[chat, '/chat/%E0%A4%A', undefined],
		['/tools/:name', '/tools', undefined],
		['/tools/:name', '/tools/x', { name: 'x' }],
		['/sessions', '/sessions', {}],
	])('%s fits %s: %j', (path, address, want) => expect(match(path, address)).toEqual(want));

	it('are built from what they are read to', () => {
		for (const params of [{}, { agent: 'main' }, { agent: 'a b', session: 'x/y?z#ü%' }]) {
			expect(match(chat, build(chat, params))).toEqual(params);
		}
		expect(chatPath()).toBe('/chat');
		expect(chatPath('main')).toBe('/chat/main');
		expect(chatPath(undefined, 's')).toBe('/chat');
		expect(() => build('/tools/:name')).toThrow('needs name');
	});
});

describe('router', () => {
	const component = (() => undefined) as unknown as Component;
	const waiting: (() => void)[] = [];
	const pages: Page[] = [
		{ name: 'a', path: '/a/:x?', title: 'A', load: () => Promise.resolve({ default: component }) },
		{ name: 'slow', path: '/slow', title: 'Slow', load: () => new Promise((done) => waiting.push(() => done({ default: component }))) },
		{ name: 'lost', path: '/lost', title: 'Lost', load: () => Promise.reject(new Error('no such file')) },
	];
	let end: () => void;

	beforeEach(async () => {
		history.replaceState(null, '', '/');
		end = router.start(pages);
		await settle();
	});
	afterEach(() => end());

	it('leads from / to the first page', () => {
		expect(location.pathname).toBe('/a');
		expect(router.page?.name).toBe('a');
		expect(router.component).toBe(component);
	});

	it('keeps the query apart from the path', async () => {
		router.navigate('/a/1?q=words');
		await settle();
		expect([router.params.x, router.query.get('q')]).toEqual(['1', 'words']);
		const length = history.length;
		const moves = router.moves;
		router.setQuery({ q: 'other', empty: '' });
		await settle();
		expect(location.search).toBe('?q=other');
		expect(history.length).toBe(length);
		expect(router.moves).toBe(moves);
		router.setQuery({ q: undefined }, { push: true });
		await settle();
		expect(location.search).toBe('');
		expect(history.length).toBe(length + 1);
	});

	it('changes path, parameters and page in one step', async () => {
		router.navigate('/a/1');
		await settle();
		router.navigate('/slow');
		await settle();
		expect([location.pathname, router.path, router.params.x, router.loading]).toEqual(['/slow', '/a/1', '1', true]);
		waiting.pop()!();
		await settle();
		expect([router.path, router.params.x, router.loading]).toEqual(['/slow', undefined, false]);
	});

	it('goes where it was told last', async () => {
		// The page's code is there by now; another router would wait for it.
		router.navigate('/a/2');
		router.navigate('/lost');
		router.navigate('/a/3');
		await settle();
		expect([router.page?.name, router.params.x, router.error]).toEqual(['a', '3', undefined]);
	});

	it('says when the code of a page can’t be had', async () => {
		router.navigate('/lost');
		await settle();
		expect(router.page?.name).toBe('lost');
		expect(router.component).toBeUndefined();
		expect(router.error).toBeInstanceOf(Error);
		router.navigate('/nowhere');
		await settle();
		expect([router.page, router.error]).toEqual([undefined, undefined]);
	});

	it('keeps what a page left, for Back', async () => {
		router.navigate('/a/1');
		router.keep('top', 120);
		router.navigate('/a/2');
		await settle();
		expect(router.kept('top')).toBeUndefined();
		history.back();
		await new Promise((done) => window.addEventListener('popstate', done, { once: true }));
		await settle();
		expect(router.params.x).toBe('1');
		expect(router.kept('top')).toBe(120);
	});

	describe('links', () => {
		function click(html: string, init: MouseEventInit = {}): boolean {
			document.body.innerHTML = html;
			const e = new MouseEvent('click', { bubbles: true, cancelable: true, composed: true, button: 0, ...init });
			document.body.querySelector('[data-hit]')!.dispatchEvent(e);
			return e.defaultPrevented;
		}
		it.each<[string, string, MouseEventInit, boolean]>([
			['of a page', '<a href="/a/9"><b data-hit>x</b></a>', {}, true],
			['with Ctrl', '<a href="/a/9" data-hit>x</a>', { ctrlKey: true }, false],
			['with the middle button', '<a href="/a/9" data-hit>x</a>', { button: 1 }, false],
			['into a new window', '<a href="/a/9" target="_blank" data-hit>x</a>', {}, false],
			['of a file', '<a href="/a/9" download data-hit>x</a>', {}, false],
			['of another interface', '<a href="/api/x" data-hit>x</a>', {}, false],
			['of another host', '<a href="https://example.com/a/9" data-hit>x</a>', {}, false],
			['within the page', '<a href="#here" data-hit>x</a>', {}, false],
		])('%s', (_, html, init, ours) => {
			// jsdom can't leave; a click that is not ours is held here.
			const hold = (e: Event) => e.preventDefault();
			let followed = false;
			const before = router.path;
			const seen = (e: Event) => (followed = e.defaultPrevented);
			document.addEventListener('click', seen);
			window.addEventListener('click', hold);
			click(html, init);
			document.removeEventListener('click', seen);
			window.removeEventListener('click', hold);
			expect(followed, before).toBe(ours);
		});
	});
});
