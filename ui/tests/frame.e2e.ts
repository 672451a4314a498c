import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit } from './harness';

const limit = 150 * 1024; // bytes that the first page may load, compressed

let browser: Browser;
let gateway: Gateway;

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start()]);
	await gateway.say('Zebras of the savanna');
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

const title = (page: Page) => page.getByRole('banner').getByRole('heading', { level: 1 });

// on opens a window, does something in it and fails when anything went wrong there.
async function on(path: string, run: (v: Visit, page: Page) => Promise<void>, look = {}): Promise<void> {
	const v = await Visit.open(browser, gateway, path, look);
	try {
		await run(v, v.page);
	} catch (err) {
		await v.shot('failed');
		await v.context.close();
		throw err;
	}
	await v.close();
}

describe('signing in', () => {
	it('leads back to the page that was wanted', async () => {
		const context = await browser.newContext({ baseURL: gateway.url });
		const page = await context.newPage();
		await page.goto('/sessions?q=words');
		expect(new URL(page.url()).pathname).toBe('/signin');
		await page.locator('input[name=token]').fill(gateway.token);
		await page.locator('button').first().click();
		await page.waitForURL('**/sessions?q=words');
		await expect.poll(() => title(page).innerText()).toBe('Sessions');
		await context.close();
	});

	it('takes a link once', async () => {
		const own = await Gateway.start();
		try {
			const context = await browser.newContext();
			const page = await context.newPage();
			await page.goto(own.link);
			await expect.poll(() => title(page).innerText()).not.toBe('');
			expect(new URL(page.url()).pathname).toMatch(/^\/chat/);
			await context.clearCookies();
			await page.goto(own.link);
			expect(new URL(page.url()).pathname).toBe('/signin');
			expect(await page.locator('body').innerText()).toContain('goclaw users link');
			await context.close();
		} finally {
			await own.close();
		}
	});

	it('ends when one signs out', async () => {
		const out = async (_: Visit, page: Page) => {
			await page.getByRole('button', { name: /Signed in as/ }).click();
			await page.getByRole('menuitem', { name: 'Sign out' }).click();
			await page.waitForURL('**/signin');
			await page.goto('/sessions');
			await page.waitForURL('**/signin?next=*');
		};
		await on('/sessions', out, { fresh: true });
	});

	it('is asked for when the sign-in has ended meanwhile', async () => {
		await on('/sessions', async (v, page) => {
			v.allow(/401/);
			await expect.poll(() => title(page).innerText()).toBe('Sessions');
			await v.context.clearCookies();
			// The page may notice by itself, before anything can be typed.
			await page.getByLabel('Words of a title').fill('anything', { timeout: 2000 }).catch(() => undefined);
			await page.waitForURL(/\/signin\?next=%2Fsessions/);
		});
	});
});

describe('the frame', () => {
	it('loads little, from the gateway alone, without inline scripts', async () => {
		await on('/', async (v, page) => {
			await page.waitForURL('**/chat**');
			await page.waitForLoadState('load');
			await expect.poll(() => page.locator('main[aria-busy=false]').count()).toBe(1);
			// What the browser says itself: the bytes of each body as they came over the wire.
			const bodies = await page.evaluate(() =>
				performance.getEntries().flatMap((e) => (e instanceof PerformanceResourceTiming ? [[new URL(e.name).pathname, e.encodedBodySize] as const] : [])),
			);
			const files = bodies.filter(([path]) => !path.startsWith('/api') && path !== '/signin');
			const total = files.reduce((sum, [, bytes]) => sum + bytes, 0);
			console.log(`the first page loads ${(total / 1024).toFixed(1)} KiB compressed, in ${files.length} files`);
			expect(total).toBeGreaterThan(10_000);
			expect(total).toBeLessThan(limit);
			const html = await (await v.context.request.get('/')).text();
			expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/);
			expect(html).not.toMatch(/\son\w+=|<style|\sstyle=/);
			const policy = (await v.context.request.get('/')).headers()['content-security-policy'] ?? '';
			expect(policy).toMatch(/script-src 'self'(;|$)/);
			expect(policy).not.toContain('unsafe');
		});
	});

	it('has an address for every page, and Back works', async () => {
		await on('/chat', async (_, page) => {
			const sessions = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sessions' });
			await sessions.click();
			await page.waitForURL('**/sessions');
			await expect.poll(() => page.title()).toBe('Sessions · GoClaw');
			expect(await sessions.getAttribute('aria-current')).toBe('page');
			// The focus has followed, so that the next Tab is on the new page.
			expect(await page.evaluate(() => document.querySelector('main')!.contains(document.activeElement))).toBe(true);
			await page.getByText('Messages', { exact: true }).click();
			await page.waitForURL('**/sessions?in=messages');
			await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chat' }).click();
			await page.waitForURL(/\/chat/);
			await page.goBack();
			await page.waitForURL('**/sessions?in=messages');
			expect(await page.getByRole('radio', { name: 'Messages' }).isChecked()).toBe(true);
			await page.reload();
			await expect.poll(() => page.getByRole('radio', { name: 'Messages' }).isChecked()).toBe(true);
		});
	});

	it('opens a session whose name has a dot', async () => {
		await gateway.say('A name with a dot', 'v2.4:plan.md');
		await on('/chat/main/v2.4:plan.md', async (_, page) => {
			await expect.poll(() => title(page).innerText()).toBe('A name with a dot');
		});
	});

	it('says when there is no such page', async () => {
		await on('/nowhere', async (v, page) => {
			await expect.poll(() => title(page).innerText()).toBe('Not found');
			await v.look('missing');
		});
	});

	it('skips to the page by keyboard', async () => {
		await on('/sessions', async (_, page) => {
			await expect.poll(() => title(page).innerText()).toBe('Sessions');
			await page.keyboard.press('Tab');
			await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the page');
			await page.keyboard.press('Enter');
			expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
		});
	});

	it('remembers the theme before anything is drawn', async () => {
		await on('/sessions', async (v, page) => {
			v.allow(/ERR_FAILED/); // the scripts that are kept away below
			const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
			const light = await ground();
			await page.getByRole('button', { name: 'Theme' }).click();
			await page.getByRole('menuitemcheckbox', { name: 'Dark' }).click();
			expect(await ground()).not.toBe(light);
			// Without the page's own code: the theme is there all the same.
			await page.route('**/assets/*.js', (route) => route.abort());
			await page.reload({ waitUntil: 'commit' });
			await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
			expect(await page.locator('#app > *').count()).toBe(0);
		});
	});

	it('works without storage', async () => {
		const v = await Visit.open(browser, gateway);
		await v.context.addInitScript(() => {
			Object.defineProperty(window, 'localStorage', {
				get() {
					throw new DOMException('denied', 'SecurityError');
				},
			});
		});
		await v.page.goto('/sessions');
		await v.page.getByRole('button', { name: 'Fold the rail' }).click();
		await v.page.getByRole('button', { name: 'Unfold the rail' }).waitFor();
		await v.close();
	});

	it('shows how the gateway is', async () => {
		await on('/sessions', async (v, page) => {
			await page.getByRole('button', { name: 'Status: Ready' }).click();
			const panel = page.getByRole('dialog', { name: 'Status of the gateway' });
			await panel.getByText('openai/test-model').waitFor();
			await v.look('status');
			await page.keyboard.press('Escape');
			await panel.waitFor({ state: 'hidden' });
			await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Status: Ready');
		});
	});

	it('says when the gateway is gone, and when it is back', async () => {
		const own = await Gateway.start();
		try {
			const v = await Visit.open(browser, own, '/sessions');
			v.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_NETWORK/);
			await expect.poll(() => v.page.locator('main[aria-busy=false]').count()).toBe(1);
			await own.stop('SIGKILL');
			const banner = v.page.getByRole('status').getByText('The gateway does not answer.');
			await banner.waitFor({ timeout: 20_000 });
			await v.look('unreachable');
			await own.run();
			await v.page.getByRole('button', { name: 'Try now' }).click({ timeout: 2000 }).catch(() => undefined); // it tries by itself too, and may be faster
			await banner.waitFor({ state: 'hidden' });
			await v.page.getByRole('button', { name: 'Status: Ready' }).waitFor();
			await v.close();
		} finally {
			await own.close();
		}
	});

	it('reads by itself what it could not read while the gateway was gone', async () => {
		const own = await Gateway.start();
		try {
			await own.api('/v1/chat/completions', { body: { model: 'main', user: 'outage', messages: [{ role: 'user', content: 'One' }] } });
			for (const [name, failed, there] of [
				['Tools', 'The tools could not be read', 'file_read'],
				['Sessions', 'The sessions could not be loaded', 'One'],
			] as const) {
				const v = await Visit.open(browser, own, '/nowhere');
				v.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_NETWORK|404/);
				// The page's code is here; only its data is missing.
				await v.page.getByRole('link', { name }).click();
				await v.page.getByText(there).first().waitFor();
				await v.page.goBack();
				await own.stop('SIGKILL');
				await v.page.getByRole('link', { name }).click();
				const note = v.page.getByRole('alert').filter({ hasText: failed });
				await note.waitFor();
				await own.run();
				await note.waitFor({ state: 'detached' });
				await v.page.getByText(there).first().waitFor();
				await v.close();
			}
		} finally {
			await own.close();
		}
	});

	it('has menus for keys and pointers', async () => {
		await on('/sessions', async (v, page) => {
			const button = page.getByRole('button', { name: 'Theme' });
			const menu = page.getByRole('menu');
			const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.getAttribute('aria-label'));
			await button.focus();
			for (const open of ['Enter', 'Space', 'ArrowDown']) {
				await page.keyboard.press(open);
				await menu.waitFor();
				await expect.poll(focused, { message: open }).toBe('Like the system');
				await page.keyboard.press('ArrowDown');
				await expect.poll(focused).toBe('Light');
				await page.keyboard.press('d');
				await expect.poll(focused).toBe('Dark');
				await page.keyboard.press('Escape');
				await menu.waitFor({ state: 'hidden' });
				await expect.poll(focused).toBe('Theme');
			}
			await page.keyboard.press('Enter');
			await expect.poll(focused).toBe('Like the system');
			await page.keyboard.press('Tab');
			await menu.waitFor({ state: 'hidden' });
			await expect.poll(focused).toBe('Theme');
			// Its own button closes it, and so does a press anywhere else.
			await button.click();
			await menu.waitFor();
			const at = (await button.boundingBox())!;
			await page.mouse.click(at.x + at.width / 2, at.y + at.height / 2);
			await menu.waitFor({ state: 'hidden' });
			await button.click();
			await menu.waitFor();
			await page.mouse.click(640, 500);
			await menu.waitFor({ state: 'hidden' });
			// A tooltip says what the button is, for keys as for the pointer, until Escape.
			await page.mouse.move(640, 500);
			await page.getByRole('button', { name: /Signed in as/ }).focus();
			await page.keyboard.press('Shift+Tab');
			await page.getByRole('tooltip').filter({ hasText: 'Theme' }).waitFor();
			await v.look('tooltip');
			await page.keyboard.press('Escape');
			await page.getByRole('tooltip').waitFor({ state: 'hidden' });
			await page.getByRole('button', { name: 'Fold the rail' }).hover();
			await page.getByRole('tooltip').filter({ hasText: 'Fold the rail' }).waitFor();
		});
	});

	it('says when a part of it can’t be loaded, and goes on', async () => {
		await on('/sessions', async (v, page) => {
			v.allow(/ERR_FAILED|dynamically imported/);
			await expect.poll(() => title(page).innerText()).toBe('Sessions');
			await page.route('**/assets/*.js', (route) => route.abort());
			await page.keyboard.press('Control+k');
			const note = page.getByText('A part of this page could not be loaded').first();
			await note.waitFor();
			await page.getByRole('button', { name: 'Close the message' }).click();
			// Keys are the page's again.
			await page.getByLabel('Words of a title').fill('');
			await page.keyboard.type('words');
			expect(await page.getByLabel('Words of a title').inputValue()).toBe('words');
			await page.getByRole('button', { name: 'Theme' }).click();
			await note.waitFor();
			await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tools' }).click();
			await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
			await page.unroute('**/assets/*.js');
			await page.getByRole('button', { name: 'Load anew' }).last().click();
			await expect.poll(() => title(page).innerText()).toBe('Tools');
		});
	});

	it('turns its shortcuts of one key off', async () => {
		await on('/sessions', async (v, page) => {
			await expect.poll(() => title(page).innerText()).toBe('Sessions');
			await page.keyboard.press('?');
			const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
			await dialog.waitFor();
			await v.look('shortcuts');
			await dialog.getByRole('checkbox').uncheck();
			await page.keyboard.press('Escape');
			await dialog.waitFor({ state: 'hidden' });
			await page.keyboard.press('?');
			await page.keyboard.press('g');
			await page.keyboard.press('c');
			expect(await dialog.isVisible()).toBe(false);
			expect(new URL(page.url()).pathname).toBe('/sessions');
			await page.keyboard.press('Control+k');
			await page.getByRole('combobox', { name: 'Find' }).waitFor();
		});
	});
});

describe('the palette', () => {
	it('finds and does by keyboard alone', async () => {
		await on('/chat', async (v, page) => {
			await expect.poll(() => page.locator('main[aria-busy=false]').count()).toBe(1);
			await page.keyboard.press('Control+k');
			const input = page.getByRole('combobox', { name: 'Find' });
			await input.waitFor();
			await page.getByRole('option', { name: 'Zebras of the savanna' }).waitFor();
			await v.look('palette');
			await page.keyboard.type('sess');
			await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toContain('Sessions');
			expect(await input.getAttribute('aria-activedescendant')).toBe(await page.locator('[role=option][aria-selected=true]').getAttribute('id'));
			await page.keyboard.press('Enter');
			await page.waitForURL('**/sessions');
			await page.keyboard.press('Control+k');
			await page.keyboard.type('savanna');
			await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toContain('Zebras of the savanna');
			await page.keyboard.press('ArrowDown');
			await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toContain('Search messages');
			await page.keyboard.press('ArrowUp');
			await page.keyboard.press('Enter');
			await page.waitForURL(/\/chat\/main\/.+/);
			await page.keyboard.press('Control+k');
			// What is typed before it is there is not lost, nor does the page under it get it.
			await page.keyboard.type('theme dark');
			await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toContain('Theme: dark');
			await page.keyboard.press('Enter');
			await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
			await page.keyboard.press('Control+k');
			await page.keyboard.type('nothing is called that qqq');
			await page.keyboard.press('Escape');
			await page.getByRole('combobox', { name: 'Find' }).waitFor({ state: 'hidden' });
		});
	});
});

describe('a phone', () => {
	it('has the pages in a drawer', async () => {
		await on(
			'/chat',
			async (v, page) => {
				await page.getByRole('button', { name: 'Pages' }).click();
				const drawer = page.getByRole('dialog', { name: 'Pages' });
				await drawer.getByRole('link', { name: 'Sessions' }).waitFor();
				await v.look('drawer');
				await drawer.getByRole('link', { name: 'Sessions' }).click();
				await page.waitForURL('**/sessions');
				await drawer.waitFor({ state: 'hidden' });
			},
			{ phone: true },
		);
	});
});

describe('every look', () => {
	for (const { name, look } of looks) {
		it(name, async () => {
			await on(
				'/sessions',
				async (v, page) => {
					await page.getByRole('link', { name: 'Zebras of the savanna' }).waitFor();
					await v.look(`sessions-${name}`);
					await page.getByRole('button', { name: /^More for/ }).first().click();
					await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
					await v.look(`sessions-menu-${name}`);
				},
				look,
			);
			await on(
				'/chat',
				async (v, page) => {
					await expect.poll(() => page.locator('main[aria-busy=false]').count()).toBe(1);
					await v.look(`chat-${name}`);
				},
				look,
			);
		});
	}
});
