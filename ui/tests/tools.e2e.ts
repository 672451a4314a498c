import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit } from './harness';

let browser: Browser;
let gateway: Gateway;

// The agent may not write files, so that there is something to explain.
const config = 'tools: {deny: [file_write]}\n';

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ config })]);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

describe('the tools', () => {
	it('say what is offered, what not and why', async () => {
		const v = await Visit.open(browser, gateway, '/tool');
		const { page } = v;
		await page.getByRole('link', { name: 'file_read' }).waitFor();
		await page.getByLabel('State').selectOption('removed');
		await page.waitForURL('**/tool?state=removed');
		expect(await page.getByRole('main').getByRole('link').allInnerTexts()).toContain('file_write');
		await page.getByRole('link', { name: 'file_write' }).click();
		await page.waitForURL('**/tool/file_write?state=removed');
		const detail = page.getByRole('region', { name: 'Tool file_write' });
		await detail.getByText('exposed').waitFor();
		await detail.getByText('config.yaml', { exact: false }).first().waitFor();
		await v.look('tool-removed');
		await page.reload();
		await detail.getByText('exposed').waitFor();
		await detail.getByRole('link', { name: 'Close' }).click();
		await page.waitForURL('**/tool?state=removed');
		await page.getByLabel('State').selectOption('');
		await page.getByLabel('Words of a tool').fill('arithmetic');
		await expect.poll(() => page.getByRole('main').getByRole('link').allInnerTexts()).toEqual(['calc']);
		expect(page.url()).toContain('q=arithmetic');
		await page.getByLabel('As which role').selectOption('user');
		await page.waitForURL('**role=user**');
		await page.goto('/tool/fil_read');
		await page.getByRole('link', { name: 'file_read', exact: true }).last().click();
		await page.waitForURL('**/tool/file_read');
		await v.close();
	});

	it('are reached from the palette', async () => {
		const v = await Visit.open(browser, gateway, '/sessions');
		const { page } = v;
		await expect.poll(() => page.locator('main[aria-busy=false]').count()).toBe(1);
		await page.keyboard.press('Control+k');
		await page.getByRole('combobox', { name: 'Find' }).waitFor();
		await page.keyboard.type('calc');
		await expect.poll(() => page.locator('[role=option][aria-selected=true]').innerText()).toContain('calc');
		await page.keyboard.press('Enter');
		await page.waitForURL('**/tool/calc');
		await page.getByText('What a model is told').waitFor();
		await v.close();
	});

	for (const { name, look } of looks) {
		it(`in ${name}`, async () => {
			const v = await Visit.open(browser, gateway, '/tool', look);
			await v.page.getByRole('link', { name: 'calc' }).waitFor();
			await v.look(`tools-${name}`);
			await v.page.getByRole('link', { name: 'calc' }).click();
			await v.page.getByText('exposed').waitFor();
			await v.look(`tool-${name}`);
			await v.close();
		});
	}
});
