import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, Visit, type Answer } from './harness';

// What happens to a page that is open all day.

let browser: Browser;
let gateway: Gateway;
let v: Visit;
let page: Page;

beforeAll(async () => {
	browser = await browse();
});
afterAll(async () => {
	await browser?.close();
});
afterEach(async (test) => {
	if (v) {
		if (test.task.result?.state === 'fail') {
			await v.tell(test.task.name);
			await v.context.close();
		} else await v.close();
	}
	await gateway?.close();
});

const field = (p = page) => p.getByRole('textbox', { name: 'Message' });
const turns = (p = page) => p.locator('article.turn');
const receipt = (p = page) => p.getByRole('button', { name: /^Receipt/ });

async function say(words: string, p = page): Promise<void> {
	await field(p).fill(words);
	await p.keyboard.press('Enter');
}

// open gives a page on a session with one answered message for each of said.
async function open(answers: Answer[], said: string[] = [], loop = false): Promise<string> {
	gateway = await Gateway.start({ script: { answers, loop } });
	let session: string | undefined;
	for (const words of said) session = await gateway.say(words, session);
	v = await Visit.open(browser, gateway, session ? `/chat/main/${session}` : '/');
	page = v.page;
	await field().waitFor();
	return session ?? '';
}

describe('a message on its way', () => {
	it('is there when its conversation is opened again, and told of elsewhere', async () => {
		await open([{ text: 'Yes.' }], ['The first session'], true);
		v.allow(/ERR_|Failed to load/);
		const other = await gateway.say('The second session');
		const link = (name: string) => page.getByRole('link', { name });
		await link('The second session').waitFor();
		await page.route('**/api/runs', (route) => route.abort());
		await say('Important words');
		await link('The second session').click();
		await page.waitForURL(`**/${other}`);
		await link('The first session').click();
		await page.getByText('Important words').waitFor();
		await link('The second session').click();
		await page.getByText('“Important words” could not be sent.').waitFor({ timeout: 30_000 });
		await v.look('day-unsent');
		await page.unroute('**/api/runs');
		await page.getByRole('button', { name: 'Try again' }).click();
		await receipt().nth(1).waitFor();
		await expect.poll(() => turns().count()).toBe(2);
		expect(await turns().last().innerText()).toContain('Important words');
	});

	it('gives its files back where it can’t be sent', async () => {
		await open([{ text: 'I see a file.' }]);
		v.allow(/ERR_|Failed to load/);
		await page.locator('input[type=file]').setInputFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }]);
		await page.getByText('5 B').waitFor();
		await page.route('**/api/runs', (route) => route.fulfill({ status: 413, contentType: 'application/problem+json', body: '{"detail":"the body may have 1 MiB at most","code":"too_large"}' }));
		await say('See there');
		await page.getByText('Not sent. It is longer than a message may be.').waitFor();
		await page.unroute('**/api/runs');
		await page.getByRole('button', { name: 'Edit' }).click();
		await expect.poll(() => field().inputValue()).toBe('See there');
		expect(await page.getByRole('list', { name: 'Files of this message' }).innerText()).toContain('notes.txt');
		await page.keyboard.press('Enter');
		await page.getByText('I see a file.').waitFor();
		expect(await page.getByRole('list', { name: 'Files', exact: true }).innerText()).toContain('notes.txt');
	});
});

describe('what is being written', () => {
	it('leaves room for the buttons in a low window, however much it is', async () => {
		await open([{ text: 'Many files.' }]);
		await page.setViewportSize({ width: 568, height: 320 });
		await field().fill('line\n'.repeat(30));
		await page.locator('input[type=file]').setInputFiles(Array.from({ length: 21 }, (_, i) => ({ name: `file ${i}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') })));
		await expect.poll(() => page.getByText('1 B', { exact: true }).count()).toBe(21);
		const send = page.getByRole('button', { name: 'Send', exact: true });
		const box = (await send.boundingBox())!;
		expect(box.y + box.height).toBeLessThanOrEqual(320);
		await v.look('day-low');
		await send.click();
		await page.getByText('A message takes at most 20 files.').waitFor();
		await page.getByRole('button', { name: 'Take out file 20.txt' }).click();
		await send.click();
		await page.getByText('Many files.').waitFor();
	});
});

describe('a session at work', () => {
	it('is stopped when it is deleted', async () => {
		await open([{ text: 'This answer never ends', hang: 'middle' }]);
		await say('Begin');
		await page.getByText('This answer never ends').waitFor();
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		const path = `/api/sessions/main/${new URL(page.url()).pathname.split('/')[3]}`;
		await page.getByRole('button', { name: 'More for this conversation' }).click();
		await page.getByRole('menuitem', { name: 'Delete' }).click();
		await page.getByText('The answer that is being written is stopped.').waitFor();
		await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
		await page.getByText('“Begin” is deleted.').waitFor();
		await page.waitForURL(/\/chat\/main$/);
		await page.goto('/sessions'); // leaving the page does what was decided
		await expect.poll(() => gateway.api(path).then(() => 'there', () => 'gone')).toBe('gone');
	});
});

describe('a conversation', () => {
	it('is read in the direction of its words', async () => {
		await open([{ text: 'مرحبا **بالعالم** و `code` في الوسط.\n\n- שלום\n- עולם\n\nEnglish words.' }], ['שלום עולם']);
		await page.getByText('English words.').waitFor();
		const direction = (of: string) => page.locator(of).first().evaluate((e) => getComputedStyle(e).direction);
		expect(await direction('.md p')).toBe('rtl');
		expect(await direction('.md p code')).toBe('ltr');
		expect(await direction('.md ul')).toBe('rtl');
		expect(await page.locator('.md p', { hasText: 'English' }).evaluate((e) => getComputedStyle(e).direction)).toBe('ltr');
		await field().fill('שלום');
		expect(await field().evaluate((e) => e.matches(':dir(rtl)'))).toBe(true);
		await v.look('day-directions');
	});

	it('is opened at a turn of long ago', async () => {
		const session = await open([{ text: Array.from({ length: 12 }, (_, i) => `Paragraph ${i + 1}.`).join('\n\n') }], Array.from({ length: 90 }, (_, i) => `Question ${i + 1}`), true);
		let asked = 0;
		page.on('request', (r) => {
			if (r.url().includes('/turns?')) asked++;
		});
		await page.goto(`/chat/main/${session}?turn=7`);
		const off = () => page.locator('article[aria-label="Turn 7"]').evaluate((e) => Math.round(e.getBoundingClientRect().top - e.closest('.thread')!.getBoundingClientRect().top));
		await page.locator('article[aria-label="Turn 7"]').waitFor({ state: 'attached' });
		let last = NaN;
		await expect.poll(async () => last === (last = await off())).toBe(true);
		expect(last).toBe(0);
		expect(asked).toBe(2);
		await page.getByRole('group', { name: 'Conversation' }).hover();
		await page.mouse.wheel(0, 400);
		await expect.poll(off).toBeLessThan(-100);
	});

	it('is printed whole', async () => {
		await open([{ text: Array.from({ length: 120 }, (_, i) => `Paragraph ${i + 1}.`).join('\n\n') }], ['A long one']);
		await page.getByText('Paragraph 120.').waitFor();
		const pages = Number(/\/Count (\d+)/.exec((await page.pdf({ format: 'A4' })).toString('latin1'))?.[1]);
		expect(pages).toBeGreaterThan(2);
		await page.emulateMedia({ media: 'print' });
		expect(await field().isVisible()).toBe(false);
		expect(await page.getByRole('heading', { level: 1, name: 'A long one' }).isVisible()).toBe(true);
		await v.shot('day-print');
	});

	it('says what of the page could not be had', async () => {
		await open([{ text: 'Yes.' }], ['One']);
		v.allow(/ERR_|Failed to (load|fetch)/);
		await page.getByText('Yes.').waitFor();
		await page.route('**/assets/Side-*.js', (route) => route.abort());
		await page.getByRole('button', { name: 'Context' }).click();
		await page.getByText('A part of this page could not be loaded').waitFor();
		expect(await page.getByRole('button', { name: 'Context' }).getAttribute('aria-pressed')).toBe('false');
	});
});
