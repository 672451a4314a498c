import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { browse, Gateway, Visit } from './harness';

let browser: Browser;
let gateway: Gateway;
let v: Visit;
let page: Page;

const many = 70; // more than a page of the list

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ script: { loop: true, answers: [{ text: 'The quokka answers.' }] } })]);
	for (let i = 1; i <= many; i++) await gateway.say(`Question ${i} about ${i % 2 ? 'badgers' : 'otters'}`);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

beforeEach(async () => {
	v = await Visit.open(browser, gateway, '/sessions');
	page = v.page;
	await row(many).waitFor();
});
afterEach(async (test) => {
	if (test.task.result?.state === 'fail') {
		await v.tell(test.task.name);
		await v.context.close();
	} else await v.close();
});

const link = (n: number, kind = n % 2 ? 'badgers' : 'otters') => page.getByRole('link', { name: `Question ${n} about ${kind}`, exact: true });
const row = (n: number) => link(n);
const menu = (name: string) => page.getByRole('button', { name: `More for ${name}`, exact: true });

describe('the list', () => {
	it('comes in pages and comes back as it was left', async () => {
		expect(await page.locator('a[data-row]').count()).toBe(50);
		await row(30).scrollIntoViewIfNeeded();
		await row(1).waitFor({ state: 'attached' });
		expect(await page.locator('a[data-row]').count()).toBe(many);
		await row(5).scrollIntoViewIfNeeded();
		await expect.poll(() => page.evaluate(() => JSON.stringify(history.state))).toContain(`"count":${many}`);
		await row(5).click();
		await page.waitForURL(/\/chat\/main\//);
		await page.goBack();
		await row(5).waitFor();
		await expect.poll(() => row(5).evaluate((e) => e.getBoundingClientRect().top < innerHeight)).toBe(true);
	});

	it('finds titles by their words, at an address', async () => {
		await page.getByLabel('Words of a title').fill('otters 12');
		await expect.poll(() => page.locator('a[data-row]').count()).toBe(1);
		await row(12).waitFor();
		expect(page.url()).toContain('q=otters+12');
		await page.reload();
		await row(12).waitFor();
		expect(await page.locator('a[data-row]').count()).toBe(1);
		await page.getByRole('button', { name: 'Clear' }).click();
		await row(many).waitFor();
		await page.getByLabel('Words of a title').fill('walrus');
		await page.getByText('No session matches').waitFor();
		await v.look('sessions-none');
		await page.getByRole('button', { name: 'Show all' }).click();
		await row(many).waitFor();
	});

	it('searches messages and answers', async () => {
		await page.getByText('Messages', { exact: true }).click();
		await page.getByText('Finds messages and answers').waitFor();
		await page.getByLabel('Words of a message').fill('quokka');
		await page.locator('mark').first().waitFor();
		await v.look('sessions-hits');
		await page.locator('a[data-row]:has(mark)').first().click();
		await page.waitForURL(/\/chat\/main\/[^?]+\?turn=1/);
	});

	it('goes from title to title by arrows', async () => {
		await row(many).focus();
		await page.keyboard.press('ArrowDown');
		await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(`Question ${many - 1} about badgers`);
		await page.keyboard.press('ArrowUp');
		await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(`Question ${many} about otters`);
	});

	it('tells of what begins meanwhile without moving anything', async () => {
		const before = await page.locator('a[data-row]').first().innerText();
		const session = await gateway.say('A new one comes');
		await page.getByRole('button', { name: 'Show 1 new session' }).waitFor();
		expect(await page.locator('a[data-row]').first().innerText()).toBe(before);
		await page.getByRole('button', { name: 'Show 1 new session' }).click();
		await expect.poll(() => page.locator('a[data-row]').first().innerText()).toBe('A new one comes');
		await gateway.api(`/api/sessions/main/${session}`, { method: 'DELETE' });
		await page.getByRole('link', { name: 'A new one comes' }).waitFor({ state: 'detached' });
	});
});

describe('a session', () => {
	it('is renamed in place', async () => {
		const session = await gateway.say('Old name');
		await page.getByRole('button', { name: /Show 1 new/ }).click();
		await menu('Old name').click();
		await page.getByRole('menuitem', { name: 'Rename' }).click();
		const field = page.getByLabel('New title');
		await expect.poll(() => field.evaluate((e) => document.activeElement === e)).toBe(true);
		await page.keyboard.type('Thrown away');
		await page.keyboard.press('Escape');
		await page.getByRole('link', { name: 'Old name' }).waitFor();
		await menu('Old name').click();
		await page.getByRole('menuitem', { name: 'Rename' }).click();
		await expect.poll(() => field.evaluate((e) => document.activeElement === e)).toBe(true);
		await page.keyboard.type('New name');
		await page.keyboard.press('Enter');
		await page.getByRole('link', { name: 'New name' }).waitFor();
		expect((await gateway.api<{ title: string }>(`/api/sessions/main/${session}`)).title).toBe('New name');
		expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('More for New name');
		await gateway.api(`/api/sessions/main/${session}`, { method: 'DELETE' });
	});

	it('is deleted when its name was confirmed, and undone', async () => {
		const name = 'Question 66 about otters';
		await page.getByLabel('Words of a title').fill(name);
		await expect.poll(() => page.locator('a[data-row]').count()).toBe(1);
		const { sessions } = await gateway.api<{ sessions: { id: string }[] }>(`/api/sessions?title=${encodeURIComponent(name)}`);
		const path = `/api/sessions/main/${sessions[0]!.id}`;
		const ask = async () => {
			await menu(name).click();
			await page.getByRole('menuitem', { name: 'Delete' }).click();
			await page.getByRole('dialog', { name: `Delete “${name}”?` }).waitFor();
		};
		await ask();
		await v.look('sessions-delete');
		await page.getByRole('button', { name: 'Cancel' }).click();
		await link(66).waitFor();
		await ask();
		await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
		await link(66).waitFor({ state: 'detached' });
		await page.getByRole('button', { name: 'Undo' }).click();
		await link(66).waitFor();
		await gateway.api(path);
		await ask();
		await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
		await link(66).waitFor({ state: 'detached' });
		// Leaving the page does what was decided.
		await page.goto('/chat');
		await expect.poll(() => gateway.api(path).then(() => 'there', () => 'gone')).toBe('gone');
	});

	it('is exported', async () => {
		const name = `Question ${many} about otters`;
		for (const [label, ending, holds] of [
			['Export as Markdown', /\.md$/, 'quokka'],
			['Export as JSONL', /\.jsonl$/, '{'],
		] as const) {
			await menu(name).click();
			const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: label }).click()]);
			expect(download.suggestedFilename()).toMatch(ending);
			expect(readFileSync(await download.path(), 'utf8')).toContain(holds);
		}
	});
});

it('says what sessions are for when there is none', async () => {
	const own = await Gateway.start();
	try {
		const w = await Visit.open(browser, own, '/sessions');
		await w.page.getByText('No sessions yet').waitFor();
		await w.look('sessions-empty');
		await own.say('The first of all');
		await w.page.getByRole('link', { name: 'The first of all' }).waitFor();
		await w.close();
	} finally {
		await own.close();
	}
});
