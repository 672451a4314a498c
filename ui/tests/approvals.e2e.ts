import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit } from './harness';

let browser: Browser;
let gateway: Gateway;

const config = 'hooks:\n  - {name: careful, tools: [calc, file_read], action: approve, message: Somebody looks at this first.}\n';

beforeAll(async () => {
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ config })]);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

const calc = (expression: string) => gateway.api<{ status: string }>('/tools/invoke', { body: { tool: 'calc', args: { expression } } }).then((o) => o.status, String);

describe('what waits for a person', () => {
	it('is answered, always allowed and asked again', async () => {
		const v = await Visit.open(browser, gateway, '/approval');
		const { page } = v;
		await page.getByText('Nothing waits').waitFor();
		await v.look('approvals-none');
		const once = calc('1+1');
		const card = page.getByRole('region', { name: 'Approval of calc' });
		await card.getByText('1+1').waitFor();
		await card.getByRole('button', { name: 'Allow once' }).click();
		expect(await once).toBe('ok');

		const always = calc('2+2');
		await card.getByText('2+2').waitFor();
		await card.getByRole('button', { name: 'Always allow' }).click();
		expect(await always).toBe('ok');
		expect(await calc('2+2')).toBe('ok');
		await page.getByRole('button', { name: 'Revoke' }).click();
		await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
		await page.getByText('Nothing yet', { exact: false }).waitFor();

		// A number is shown as it was sent, and not as a number of JavaScript.
		const large = fetch(`${gateway.url}/tools/invoke`, {
			method: 'POST',
			headers: { Authorization: `Bearer ${gateway.token}`, 'Content-Type': 'application/json' },
			body: '{"tool":"file_read","args":{"path":"none","from":9007199254740993}}',
		});
		const asked = page.getByRole('region', { name: 'Approval of file_read' });
		await asked.getByText('9007199254740993').waitFor();
		await asked.getByRole('button', { name: 'Deny' }).click();
		await large;

		const no = calc('2+2');
		await card.getByText('2+2').waitFor();
		await card.getByRole('button', { name: 'Deny' }).click();
		expect(await no).toContain('careful');
		await v.close();
	});

	for (const { name, look } of looks) {
		it(`in ${name}`, async () => {
			const waits = calc('3+3');
			await expect.poll(async () => (await gateway.api<{ approvals: unknown[] }>('/api/approvals?status=open')).approvals.length).toBe(1);
			// From anywhere the bar at the top leads there.
			const v = await Visit.open(browser, gateway, '/sessions', look);
			await v.page.getByRole('link', { name: '1 to approve' }).click();
			const card = v.page.getByRole('region', { name: 'Approval of calc' });
			await card.waitFor();
			await v.look(`approvals-${name}`);
			await card.getByRole('button', { name: 'Allow once' }).click();
			expect(await waits).toBe('ok');
			await v.page.getByText('Nothing waits').waitFor();
			await v.close();
		});
	}
});
