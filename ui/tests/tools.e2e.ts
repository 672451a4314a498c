import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit } from './harness';

let browser: Browser;
let gateway: Gateway;

// The agent may not write files, so that there is something to explain; and one call is refused by a rule.
const config = `tools: {deny: [file_write, clac], rag: {top_k: 1}}
hooks:
  - {name: no-thirteen, tools: [calc], match: 'args.expression.contains("13")', action: block, message: Thirteen is not calculated with.}
`;

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ config })]);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

describe('the tools', () => {
	it('tell what is odd, and of one that is still to come', async () => {
		const v = await Visit.open(browser, gateway, '/tool/calc');
		const { page } = v;
		const detail = page.getByRole('region', { name: 'Tool calc' });
		await detail.getByRole('heading', { name: 'What is odd' }).waitFor();
		await detail.getByText(/there is no tool .clac.*; nearest: calc/).waitFor();
		await v.look('tool-odd');
		v.allow(/status of 404/);
		await page.goto('/tool/shell');
		const later = page.getByRole('region', { name: 'Tool shell' });
		await later.getByText('it belongs to the family shell, which is still to come', { exact: false }).waitFor();
		await v.look('tool-later');
		await page.goto('/tool/apply_patch?message=' + encodeURIComponent('read the file'));
		const left = page.getByRole('region', { name: 'Tool apply_patch' });
		await left.getByText('layer selection', { exact: false }).waitFor();
		await v.look('tool-left-out');
		await v.close();
	});

	it('say how far each gets, and why no further', async () => {
		const v = await Visit.open(browser, gateway, '/tool');
		const { page } = v;
		const names = () => page.locator('main a[data-row]').allInnerTexts();
		await page.getByRole('link', { name: 'calc', exact: true }).waitFor();
		await page.getByLabel('State').selectOption('exposed');
		await page.waitForURL('**/tool?state=exposed');
		await expect.poll(names).toContain('file_write');
		expect(await names()).not.toContain('calc');
		await page.getByRole('link', { name: 'file_write' }).click();
		await page.waitForURL('**/tool/file_write?state=exposed');
		const detail = page.getByRole('region', { name: 'Tool file_write' });
		await detail.getByText('no, it stops here').waitFor();
		await detail.getByText('config.yaml', { exact: false }).first().waitFor();
		await v.look('tool-removed');
		await page.reload();
		await detail.getByText('no, it stops here').waitFor();
		await detail.getByRole('link', { name: 'Close' }).click();
		await page.waitForURL('**/tool?state=exposed');
		await page.goBack();
		await detail.getByText('no, it stops here').waitFor();
		await page.goBack();
		await page.getByLabel('State').selectOption('');
		await page.getByLabel('Words of a tool').fill('arithmetic');
		await expect.poll(names).toEqual(['calc']);
		expect(page.url()).toContain('q=arithmetic');
		await page.getByLabel('As which role').selectOption('user');
		await page.waitForURL('**role=user**');
		await page.getByLabel('Words of a tool').fill('nothing has this word');
		await page.getByRole('button', { name: 'Show all' }).click();
		await expect.poll(async () => (await names()).length).toBeGreaterThan(10);
		v.allow(/status of 404/);
		await page.goto('/tool/fil_read');
		await page.getByRole('region', { name: 'Tool fil_read' }).getByRole('link', { name: 'file_read', exact: true }).click();
		await page.waitForURL('**/tool/file_read');
		await v.close();
	});

	it('are called by hand, through every step', async () => {
		const v = await Visit.open(browser, gateway, '/tool/calc');
		const { page } = v;
		await page.getByRole('textbox', { name: /^expression/ }).fill('6*7');
		await page.getByRole('button', { name: 'Call calc' }).click();
		const came = page.getByRole('region', { name: 'What came of the call' });
		await came.getByText('42', { exact: false }).first().waitFor();
		await v.look('tool-tried');
		await page.getByRole('textbox', { name: /^expression/ }).fill('13+1');
		await page.getByRole('button', { name: 'Only try the rules' }).click();
		await page.getByRole('region', { name: 'What the rules say' }).getByText('matches').waitFor();
		v.allow(/status of 4\d\d/);
		await page.getByRole('button', { name: 'Call calc' }).click();
		await came.getByText('no-thirteen').first().waitFor();
		await came.getByText('Who can change it').waitFor();
		await v.look('tool-refused');
		await v.close();
	});

	it('are reached from the palette', async () => {
		const v = await Visit.open(browser, gateway, '/sessions');
		const { page } = v;
		await expect.poll(() => page.locator('main[aria-busy=false]').count()).toBe(1);
		await page.keyboard.press('Control+k');
		await page.getByRole('combobox', { name: 'Find' }).waitFor();
		await page.keyboard.type('calc');
		await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toMatch(/^calc\b/);
		await page.keyboard.press('Enter');
		await page.waitForURL('**/tool/calc');
		await page.getByText('What a model is told').waitFor();
		await v.close();
	});

	for (const { name, look } of looks) {
		it(`in ${name}`, async () => {
			const v = await Visit.open(browser, gateway, '/tool', look);
			await v.page.getByRole('link', { name: 'calc', exact: true }).waitFor();
			await v.look(`tools-${name}`);
			await v.page.getByRole('link', { name: 'calc', exact: true }).click();
			await v.page.getByText('How far it gets').waitFor();
			await v.page.getByText('What a model is told').waitFor();
			await v.look(`tool-${name}`);
			await v.close();
		});
	}
});
