import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit, type Answer } from './harness';

let browser: Browser;
let gateway: Gateway;

const writes = (when: string, path: string): Answer[] => [{ when, calls: [{ name: 'file_write', args: { path, content: 'x' } }] }, { when, text: `About ${path}.` }];

beforeAll(async () => {
	const config = 'hooks:\n  - {name: watched, tools: [file_write], action: notify, when: after, message: Somebody wrote a file.}\n';
	const answers = [...writes('Plan it', 'planned.txt'), ...writes('Write it', 'other.txt'), ...writes('Now do it', 'done.txt')];
	[browser, gateway] = await Promise.all([browse(), Gateway.start({ config, script: { answers } })]);
});
afterAll(async () => {
	await browser?.close();
	await gateway?.close();
});

const wrote = (name: string) => existsSync(join(gateway.home, 'workspace', name));

describe('plan mode', () => {
	it('is turned on for a conversation, holds there alone, and is left', async () => {
		const v = await Visit.open(browser, gateway);
		const { page } = v;
		const note = page.getByRole('region', { name: 'Plan mode' });
		const say = async (words: string) => {
			await page.getByRole('textbox', { name: 'Message' }).fill(words);
			await page.keyboard.press('Enter');
		};
		await say('/plan on');
		await note.waitFor();
		await say('Plan it');
		await page.getByText('About planned.txt.').waitFor();
		await gateway.say('Write it', 'other');
		expect([wrote('planned.txt'), wrote('other.txt')]).toEqual([false, true]);
		await page.reload();
		await note.waitFor();
		await page.getByText('About planned.txt.').waitFor();
		await v.look('plan');
		for (const { name, look } of looks.slice(1)) {
			const other = await Visit.open(browser, gateway, new URL(page.url()).pathname, look);
			await other.page.getByRole('region', { name: 'Plan mode' }).waitFor();
			await other.page.getByText('About planned.txt.').waitFor();
			await other.look(`plan-${name}`);
			await other.close();
		}

		await note.getByRole('button', { name: 'Leave it' }).click();
		await note.waitFor({ state: 'hidden' });
		await say('Now do it');
		await page.getByText('About done.txt.').waitFor();
		expect(wrote('done.txt')).toBe(true);
		await say('/plan');
		await note.waitFor();
		await v.close();
	});
});

describe('what rules told', () => {
	it('is seen on every page, read, and marked', async () => {
		const v = await Visit.open(browser, gateway);
		const { page } = v;
		await page.getByTitle('2 notices of rules to read').click();
		const told = page.getByRole('region', { name: 'What rules told' });
		await told.getByText('Somebody wrote a file.').first().waitFor();
		expect(await told.getByRole('listitem').count()).toBe(2);
		await v.look('notices');
		for (const { name, look } of looks.slice(1)) {
			const other = await Visit.open(browser, gateway, '/hook?see=notices', look);
			await other.page.getByRole('region', { name: 'What rules told' }).waitFor();
			await other.look(`notices-${name}`);
			await other.close();
		}
		await told.getByRole('button', { name: 'Mark all as read' }).click();
		await told.getByText('all read', { exact: false }).waitFor();
		expect(await page.getByTitle('notices of rules to read').count()).toBe(0);
		await v.close();
	});
});
