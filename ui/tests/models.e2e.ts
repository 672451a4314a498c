// What a person learns of the models that answer: which they are, which failed,
// what they made, and what is left of budgets.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, Visit, type Answer } from './harness';

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

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

// Two models of one server.
const two = '{provider: one, fallback: [two], providers: {one: {type: openai-compatible, api_key: k, model: first, base_url: MODEL}, two: {type: openai-compatible, api_key: k, model: second, base_url: MODEL}}}';
const first = '"model":"first"';
const second = '"model":"second"';

async function open(answers: Answer[], config = '', loop = false): Promise<void> {
	gateway = await Gateway.start({ script: { answers, loop }, ai: two, config });
	v = await Visit.open(browser, gateway);
	page = v.page;
	await field().waitFor();
}

const field = () => page.getByRole('textbox', { name: 'Message' });
async function say(words: string): Promise<void> {
	await field().fill(words);
	await page.keyboard.press('Enter');
}
const ended = () => page.getByRole('button', { name: /^Receipt/ }).last().waitFor();
async function reload(): Promise<void> {
	await page.waitForURL(/\/chat\/main\/[^/?]+$/);
	await page.reload();
	await ended();
}

describe('models that fail', () => {
	it('are told of beside the answer of another, after a reload too', async () => {
		const broken: Answer = { when: first, text: 'The first says', break: 'middle' };
		await open([broken, broken, { when: second, text: 'Something else it is.' }]);
		await say('Hello');
		await page.getByText('Something else it is.').waitFor();
		const told = async () => {
			await page.getByText(/^one\/first .* trying again/).waitFor();
			await page.getByText(/^one\/first .* asking two\/second instead/).waitFor();
			await page.getByText(/was taken back/).waitFor();
			expect(await page.getByText('The first says').count()).toBe(0);
			await page.getByRole('button', { name: /^Receipt/ }).click();
			const receipt = page.getByRole('dialog', { name: 'Receipt' });
			await receipt.getByText('1, and 2 failed').waitFor();
			expect(await receipt.getByRole('listitem').allInnerTexts()).toEqual([expect.stringMatching(/^one\/first: ./), expect.stringMatching(/^one\/first: ./)]);
		};
		await ended();
		await told();
		await v.look('models-failover');
		await reload();
		await told();
	});

	it('leave no empty answer when nobody gave one', async () => {
		await open([{ status: 401, body: '{"error":{"message":"no such key","code":"invalid_api_key"}}' }], '', true);
		await say('Hello');
		await page.getByText('The run failed.').waitFor();
		await reload();
		await page.getByText(/^one\/first .* asking two\/second instead/).waitFor();
		expect(await page.getByRole('button', { name: 'Copy the answer as Markdown' }).count()).toBe(0);
		await page.getByRole('button', { name: /^Receipt/ }).click();
		await page.getByRole('dialog', { name: 'Receipt' }).getByText('0, and 2 failed').waitFor();
		await v.look('models-failed');
	});
});

describe('the model', () => {
	it('is chosen by a command, for the session and over reloads', async () => {
		await open([{ when: first, text: 'From the first.' }, { when: second, text: 'From the second.' }], '', true);
		await say('Hello');
		await page.getByText('From the first.').waitFor();
		await ended();
		await say('/model');
		const dialog = page.getByRole('dialog', { name: 'Model of this conversation' });
		await dialog.getByText('one/first answers, as is configured.').waitFor();
		await v.look('models-choose');
		await dialog.getByRole('button', { name: 'two/second' }).click();
		await page.getByText('two/second answers here from now on.').waitFor();
		await say('And you?');
		await page.getByText('From the second.').waitFor();
		await ended();
		await reload();
		await page.getByRole('button', { name: 'Model: two/second' }).waitFor();
		await v.look('models-chosen');
		await say('Again?');
		await expect.poll(() => page.getByText('From the second.').count()).toBe(2);
		await ended();
		v.allow(/status of 400/);
		await say('/model nobody/x');
		await page.getByText(/The model is the same as before/).waitFor();
		await page.getByRole('button', { name: 'Model: two/second' }).waitFor();
		await say('/model default');
		await page.getByText('one/first answers here from now on').waitFor();
		await say('And now?');
		await expect.poll(() => page.getByText('From the first.').count()).toBe(2);
	});

	it('is sent nothing that looks like a command', async () => {
		await open([{ text: 'Asked.' }]);
		for (const [words, why] of [['/modle two', 'did you mean /model?'], ['/compact', 'is not in this version yet'], ['/stop it', 'takes nothing behind it']] as const) {
			await say(words);
			await page.getByText(why).waitFor();
			expect(await field().inputValue()).toBe(words);
		}
		await v.look('models-no-command');
		expect(await page.locator('article.turn').count()).toBe(0);
		await say('//modle is how I wrote it');
		await page.getByText('Asked.').waitFor();
		expect(await page.locator('article.turn').innerText()).toContain('/modle is how I wrote it');
	});

	it('shows what it made, after a reload too', async () => {
		const delta = { content: '', images: [{ type: 'image_url', index: 0, image_url: { url: `data:image/png;base64,${picture}` } }] };
		await open([{ deltas: [{ delta: { content: 'Here it is.' } }, { delta }, { delta: {}, finish: 'stop' }] }]);
		await say('Draw a dot');
		const image = page.getByRole('list', { name: 'Made by the model' }).getByRole('img');
		const width = () => image.evaluate((i: HTMLImageElement) => i.naturalWidth);
		await expect.poll(width).toBe(1);
		await ended();
		await reload();
		await expect.poll(width).toBe(1);
		await v.look('models-made');
	});
});

describe('budgets', () => {
	it('are shown with the use of a conversation, and end runs in their own words', async () => {
		await open([{ text: 'Done.', usage: { input: 9000, output: 100 } }], 'budget: {session: {tokens: 9200}}\n');
		await say('Hello');
		await page.getByText('Done.').waitFor();
		await ended();
		await say('/usage');
		const budgets = page.getByRole('dialog').getByRole('list', { name: 'Budgets' });
		await budgets.getByText('100 tokens of 9,200 tokens').waitFor();
		await v.look('models-budgets');
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		await say('And more');
		const last = page.locator('article.turn').last();
		const told = async () => {
			await last.getByText('A limit ended this run').waitFor();
			await last.getByText(/budget for this conversation does not suffice/).waitFor();
			await last.getByText(/budget\.session\.tokens: 9,100 of 9,200 tokens are used; the run ends/).waitFor();
			expect(await last.innerText()).not.toContain('go on');
		};
		await told();
		await reload();
		await told();
		await v.look('models-limited');
	});
});
