import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit } from './harness';

let browser: Browser;
let gateway: Gateway;

const config = `hooks:
  - {name: no-secrets, tools: [file_read], match: 'args.path.startsWith("secret/")', action: block, message: Ask an admin.}
  - {name: writes, tools: [file_write], action: approve}
`;

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ config })]);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

const calc = (expression: string) => gateway.api<{ status: string }>('/tools/invoke', { body: { tool: 'calc', args: { expression } } });

describe('the rules', () => {
	for (const { name, look } of looks) {
		it(`in ${name}`, async () => {
			const v = await Visit.open(browser, gateway, '/hook', look);
			await v.page.getByRole('link', { name: 'no-secrets' }).waitFor();
			await v.look(`hooks-${name}`);
			await v.page.getByRole('link', { name: 'no-secrets' }).click();
			await v.page.getByLabel('Condition (CEL)').waitFor();
			await v.look(`hook-${name}`);
			await v.close();
		});
	}

	it('are tried, added, changed and deleted, and act at once', async () => {
		const v = await Visit.open(browser, gateway, '/hook');
		const { page } = v;
		await page.getByLabel('Tool', { exact: true }).fill('file_read');
		await page.getByLabel('Arguments (JSON)').fill('{"path": "secret/x"}');
		await page.getByRole('button', { name: 'Try the rules' }).click();
		await page.getByRole('region', { name: 'What the rules say' }).getByText('matches').waitFor();
		await v.look('hooks-tried');

		await page.getByRole('link', { name: 'Add a rule' }).click();
		const form = page.getByRole('region', { name: 'A new rule' });
		await form.getByLabel('Name').fill('no-seven');
		await form.getByLabel('Tools').fill('calc');
		await form.getByLabel('Condition (CEL)').fill('args.expression.contains(');
		v.allow(/status of 4\d\d/);
		await form.getByRole('button', { name: 'Add the rule' }).click();
		await form.getByRole('alert').waitFor();
		await v.look('hook-fault');
		await form.getByLabel('Condition (CEL)').fill('args.expression.contains("7")');
		await form.getByRole('button', { name: 'Add the rule' }).click();
		await page.waitForURL('**/hook/no-seven');
		await expect(calc('7+1')).rejects.toThrow('no-seven');

		const rule = page.getByRole('region', { name: 'Rule no-seven' });
		await rule.getByLabel('Condition (CEL)').fill('args.expression.contains("8")');
		await rule.getByRole('button', { name: 'Save' }).click();
		await expect.poll(() => calc('7+1').then((o) => o.status, () => '')).toBe('ok');
		await expect(calc('8+1')).rejects.toThrow('no-seven');

		await rule.getByRole('button', { name: 'Delete' }).click();
		await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
		await page.waitForURL((u) => u.pathname === '/hook');
		await expect.poll(() => page.getByRole('link', { name: 'no-seven' }).count()).toBe(0);
		expect((await calc('8+1')).status).toBe('ok');
		await v.close();
	});
});
