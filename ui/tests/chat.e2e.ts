import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { browse, Gateway, looks, Visit, type Answer } from './harness';

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const report = `# The report

It holds **one** program and a table.

| Region | Total |
|---|--:|
| North | 56,500 |

\`\`\`go
package main

func main() { println("hello") }
\`\`\`

![chart](https://tracker.example/chart.png) and [the docs](https://docs.example/x).
`;

let browser: Browser;
let gateway: Gateway;
let v: Visit;
let page: Page;

const sales = `id,region,amount\n${Array.from({ length: 4000 }, (_, i) => `${i},${['North', 'South'][i % 2]},${(i * 37) % 1000}`).join('\n')}\n`;

async function start(script: Answer[], config = ''): Promise<Gateway> {
	return Gateway.start({ script: { answers: script }, config, files: { 'main.go': 'package main\n\nfunc main() {}\n', 'sales.csv': sales } });
}

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
const call = (name: string, p = page) => p.locator('.call > button', { hasText: name });

async function say(words: string, p = page): Promise<void> {
	await field(p).fill(words);
	await p.keyboard.press('Enter');
}

async function open(script: Answer[], path = '/', look = {}): Promise<void> {
	gateway = await start(script);
	v = await Visit.open(browser, gateway, path, look);
	page = v.page;
	await field().waitFor();
}

describe('a first message', () => {
	const script: Answer[] = [
		{
			text: 'I look at several things at once.', reasoning: 'They want an overview.',
			calls: [
				{ name: 'file_list', args: {} }, { name: 'calc', args: { expression: '52*40' } }, { name: 'file_read', args: { path: 'sales.csv' } },
				{ name: 'file_read', args: { path: '../secret.txt' } }, { name: 'file_read', args: { path: 'missing.txt' } }, { name: 'calc', args: { expresion: '1' } },
			],
			usage: { input: 4000, cached: 3000, output: 100 },
		},
		{ calls: [{ name: 'file_edit', args: { path: 'main.go', old: 'func main() {}', new: 'func main() { println("hi") }' } }] },
		{ text: report, usage: { input: 5000, cached: 4000, output: 200 } },
	];

	it('begins a session and shows calls, refusals, kept results and changes', async () => {
		await open(script);
		await v.look('chat-new');
		expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
		await say('Give me an overview');
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
		await page.getByRole('link', { name: /Give me an overview/ }).waitFor(); // in the list of sessions
		await page.getByText('6 calls, 1 refused, 1 failed, 1 bad arguments').waitFor();
		await expect.poll(() => page.getByRole('navigation', { name: 'Sessions' }).innerText()).not.toContain('running');
		await v.look('chat-answer');

		await call('secret.txt').click();
		await page.getByText('leads out of the workspace').first().waitFor();
		for (const word of ['Guard', 'Rule', 'Who can change it']) expect(await page.getByText(word, { exact: true }).count()).toBe(1);
		await v.look('chat-refused');
		await call('secret.txt').click();

		await call('file_list').click();
		await page.getByRole('cell', { name: 'sales.csv' }).waitFor();
		await call('file_edit').click();
		await page.getByRole('group', { name: 'Change' }).waitFor();
		await page.getByText('Steps ·').last().click();
		await page.getByRole('button', { name: 'Explain file_edit' }).click();
		await expect.poll(() => page.getByRole('list', { name: 'States of file_edit' }).getByRole('listitem').count()).toBe(6);
		await v.look('chat-change');
		await call('file_edit').click();
		await call('file_list').click();

		await call('sales.csv').click();
		await page.getByRole('button', { name: 'Read it' }).click();
		await page.getByRole('dialog').getByRole('cell', { name: '37', exact: true }).first().waitFor();
		await v.look('chat-ref');
		await page.getByRole('dialog').getByText('Search', { exact: true }).click();
		await page.getByLabel('Text to find').fill('3999,');
		await page.keyboard.press('Enter');
		await page.getByText('1 match in 1 of').waitFor();
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
	});

	it('has a receipt, and can be sent again', async () => {
		await open([...script, { text: 'Once more.' }]);
		await say('Give me an overview');
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		await page.getByRole('button', { name: /^Receipt/ }).click();
		await page.getByText('openai/test-model').waitFor();
		await page.getByText('78 % cached').waitFor();
		await v.look('chat-receipt');
		await page.keyboard.press('Escape');
		await page.getByRole('button', { name: 'Send the same message again' }).click();
		await page.getByText('Once more.').waitFor();
		await expect.poll(() => turns().count()).toBe(2);
	});

	it('is the same after a reload, and leads nowhere else', async () => {
		await open(script);
		await say('Give me an overview');
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		await page.getByRole('button', { name: /^Receipt/ }).waitFor();
		const before = await turns().first().innerText();
		await page.reload();
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		// How long a thing took is told by two clocks.
		const timeless = (text: string): string => text.replaceAll(/\d+ ms/g, 'ms');
		expect(timeless(await turns().first().innerText())).toBe(timeless(before));
		const link = page.getByRole('link', { name: /the docs/ });
		expect(await link.getAttribute('rel')).toContain('noopener');
		expect(await link.innerText()).toContain('docs.example');
		expect(await page.locator('.md img').count()).toBe(0);
	});
});

describe('while an answer is being written', () => {
	const script: Answer[] = [{ text: 'This answer never ends', hang: 'middle' }, { text: 'The second answer.' }, { text: 'The third answer.' }];

	it('a reload shows it again, and another window too', async () => {
		await open(script);
		await say('Begin');
		await page.getByText('This answer never ends').waitFor();
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		const other = await v.another(page.url());
		await other.getByText('This answer never ends').waitFor();
		await page.reload();
		await page.getByText('This answer never ends').waitFor();
		expect(await page.getByText('This answer never ends').count()).toBe(1);
		await v.look('chat-writing');
		await page.getByRole('button', { name: 'Stop', exact: true }).click();
		await page.getByText('Stopped. What was done').waitFor();
		await other.getByText('Stopped. What was done').waitFor();
		// What is said in one window is in the other.
		await say('And now?', other);
		await page.getByText('The second answer.').waitFor();
		await page.getByText('And now?').waitFor();
		await page.getByRole('button', { name: /^Receipt/ }).nth(1).waitFor();
		await other.getByRole('button', { name: /^Receipt/ }).nth(1).waitFor();
		expect(await turns(other).allInnerTexts()).toEqual(await turns().allInnerTexts());
	});

	it('Escape stops it, and what waits can be withdrawn or goes next', async () => {
		await open(script);
		await say('Begin');
		await page.getByText('This answer never ends').waitFor();
		await say('Waits a little');
		await page.getByText('Waits for the answer before it').waitFor();
		await v.look('chat-waiting');
		await page.getByRole('button', { name: 'Withdraw' }).click();
		await page.getByText('Waits for the answer before it').waitFor({ state: 'detached' });
		await expect.poll(() => field().inputValue()).toBe('Waits a little');
		await field().fill('');
		await page.keyboard.press('Escape');
		await page.getByText('Stopped. What was done').waitFor();
		await say('Next');
		await page.getByText('The second answer.').waitFor();
	});

	it('what another window had waiting stays in sight when Escape withdraws it', async () => {
		await open([{ text: 'This answer never ends', hang: 'middle' }, { text: 'The second answer.' }]);
		await say('Begin');
		await page.getByText('This answer never ends').waitFor();
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		const other = await v.another(page.url());
		await other.getByText('This answer never ends').waitFor();
		await say('From the first window');
		await say('From the other window', other);
		for (const p of [page, other]) await expect.poll(() => p.getByText('Waits for the answer before it').count()).toBe(2);
		await field().fill('begun here');
		await page.keyboard.press('Escape');
		await page.getByText('Stopped. What was done').waitFor();
		// The words of each window are where they were written, and none is lost.
		await expect.poll(() => field().inputValue()).toBe('From the first window\n\nbegun here');
		await page.getByText('Withdrawn before the agent read it').waitFor();
		expect(await turns().filter({ hasText: 'Withdrawn' }).innerText()).toContain('From the other window');
		await other.getByText('Withdrawn before the agent read it').waitFor();
		expect(await turns(other).filter({ hasText: 'Withdrawn' }).innerText()).toContain('From the other window');
		await expect.poll(() => field(other).inputValue()).toBe('');
		await v.look('chat-withdrawn', other);
		await other.reload();
		await other.getByText('From the other window').waitFor();
		await other.getByRole('button', { name: 'Put back' }).click();
		await expect.poll(() => field(other).inputValue()).toMatch(/^From the other window/); // before the draft of the session
		await other.getByText('Withdrawn').waitFor({ state: 'detached' });
		await page.getByRole('button', { name: 'Discard' }).click();
		await page.getByText('Withdrawn').waitFor({ state: 'detached' });
		await field(other).press('Enter');
		await page.getByText('The second answer.').waitFor();
	});

	it('words that steer are read before the next step', async () => {
		const calc = (expression: string) => [{ name: 'calc', args: { expression } }];
		await open([{ calls: calc('1+1') }, { calls: calc('2+2'), delay: 2500 }, { when: 'rather in French', text: 'Voilà.' }]);
		await say('Begin');
		await call('1+1').waitFor();
		await page.getByText('Steer', { exact: true }).click();
		await say('rather in French');
		await page.getByText('Read before the agent’s next step').waitFor();
		await v.look('chat-steering');
		await page.getByText('Voilà.').waitFor();
		await page.getByText('said meanwhile').waitFor();
		await expect.poll(() => turns().count()).toBe(1);
		const shown = await turns().first().innerText();
		expect(shown.indexOf('2+2')).toBeLessThan(shown.indexOf('rather in French'));
		expect(shown.indexOf('rather in French')).toBeLessThan(shown.indexOf('Voilà.'));
		await page.getByRole('button', { name: /^Receipt/ }).waitFor();
		await page.reload();
		await page.getByText('Voilà.').waitFor();
		expect(await turns().first().innerText()).toBe(await page.locator('article.turn').first().innerText());
		expect(await page.getByText('rather in French').count()).toBe(1);
	});

	it('survives the death of the gateway', async () => {
		await open(script);
		v.allow(/ERR_|Failed to load|503|interrupted/);
		await say('Begin');
		await page.getByText('This answer never ends').waitFor();
		await gateway.stop('SIGKILL');
		await gateway.run();
		await page.getByText('Interrupted: the gateway went down').waitFor({ timeout: 30_000 });
		await say('Go on');
		await page.getByText('The second answer.').waitFor();
		await expect.poll(() => turns().count()).toBe(2);
	});
});

describe('sending', () => {
	it('loses and doubles nothing when the connection breaks', async () => {
		await open([{ text: 'The first.' }, { text: 'The second.' }]);
		v.allow(/ERR_|Failed to load/);
		await say('One');
		await page.getByText('The first.').waitFor();
		// The answer to the request is lost on its way; the message itself arrived.
		let cut = 0;
		await page.route('**/api/runs', async (route) => {
			if (cut++ > 0) return route.continue();
			await route.fetch();
			return route.abort();
		});
		await say('Two');
		await page.getByText('The second.').waitFor();
		await page.getByText('Sending', { exact: true }).waitFor({ state: 'detached' });
		expect(cut).toBeGreaterThan(1);
		await expect.poll(() => turns().count()).toBe(2);
	});

	it('asks again when a connection dies without a word', async () => {
		await open([{ text: 'The first.' }]);
		await page.clock.install();
		let asked = 0;
		await page.route('**/api/runs', async (route) => {
			if (asked++ > 0) return route.continue();
			await route.fetch(); // the message arrived, and no answer ever comes
		});
		await say('One');
		await page.getByText('Sending', { exact: true }).waitFor();
		await expect.poll(() => asked).toBe(1);
		await page.clock.fastForward(20_000);
		await page.getByText('The first.').waitFor();
		expect(await page.getByText('Sending', { exact: true }).count()).toBe(0);
		expect(asked).toBe(2);
		await expect.poll(() => turns().count()).toBe(1);
	});

	it('keeps the words of what could not be sent', async () => {
		await open([{ text: 'Arrived.' }]);
		v.allow(/ERR_|Failed to load/);
		await page.route('**/api/runs', (route) => route.abort());
		await say('Important words');
		await page.getByText('Not sent.').waitFor({ timeout: 30_000 });
		await v.look('chat-not-sent');
		await page.unroute('**/api/runs');
		await page.getByRole('button', { name: 'Retry' }).click();
		await page.getByText('Arrived.').waitFor();
		await expect.poll(() => turns().count()).toBe(1);
	});

	it('takes files that are chosen, pasted or dropped', async () => {
		await open([{ text: 'I see two files.' }]);
		await page.locator('input[type=file]').setInputFiles([
			{ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(picture, 'base64') },
			{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
		]);
		await page.getByText('5 B', { exact: true }).waitFor();
		await v.look('chat-files');
		await say('What is this?');
		await page.getByText('I see two files.').waitFor();
		const image = page.locator('article.turn img');
		await expect.poll(() => image.evaluate((i: HTMLImageElement) => i.naturalWidth)).toBe(1);
		await page.reload();
		await expect.poll(() => image.evaluate((i: HTMLImageElement) => i.naturalWidth)).toBe(1);
		expect(await page.getByRole('list', { name: 'Files', exact: true }).innerText()).toContain('notes.txt');
	});
});

describe('a file that is named with @', () => {
	const files: Record<string, string> = { 'main.go': 'package main\n', 'src/deep/plan of may.md': 'a plan', 'node_modules/x/plan.js': '', '.hidden/plan.txt': '' };
	for (let i = 0; i < 40; i++) files[`reports/2025/report-${String(i).padStart(2, '0')}-with-a-rather-long-name-for-a-file.csv`] = 'a,b\n';
	const begin = async (look = {}) => {
		gateway = await Gateway.start({ script: { answers: [{ calls: [{ name: 'file_read', args: { path: 'src/deep/plan of may.md' } }] }, { when: '\\"src/deep/plan of may.md\\" again', text: 'I read it.' }] }, files });
		v = await Visit.open(browser, gateway, '/', look);
		page = v.page;
		await field().waitFor();
	};
	const list = () => page.getByRole('listbox', { name: 'Files' });
	const offered = async () => (await list().getByRole('option').all()).length;

	it('is found by a part of its path, and the model gets the path', async () => {
		await begin();
		await page.keyboard.type('Read @plan');
		await list().getByRole('option', { name: 'src/deep/plan of may.md' }).waitFor();
		expect(await offered()).toBe(1); // hidden folders and those of dependencies are left out
		await page.keyboard.press('Tab');
		await expect.poll(() => field().inputValue()).toBe('Read "src/deep/plan of may.md" ');
		await page.keyboard.type('again');
		await page.keyboard.press('Enter');
		await page.getByText('I read it.').waitFor();
		await call('plan of may.md').waitFor();
	});

	it('is browsed to by its folders', async () => {
		await begin();
		await page.keyboard.type('@');
		await list().getByRole('option', { name: 'reports/', exact: true }).waitFor();
		await page.keyboard.type('repo');
		await expect.poll(() => field().getAttribute('aria-activedescendant')).toMatch(/file-0$/);
		await page.getByText(/more: write more of the name/).waitFor();
		await v.look('chat-at');
		await page.keyboard.press('Enter');
		await expect.poll(() => field().inputValue()).toBe('@reports/');
		await list().getByRole('option', { name: 'reports/2025/', exact: true }).waitFor();
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('Enter');
		await list().getByRole('option', { name: 'report-39' }).waitFor();
		await page.keyboard.press('Escape');
		await list().waitFor({ state: 'detached' });
		await expect.poll(() => field().inputValue()).toBe('@reports/2025/');
		await page.keyboard.press('Control+a');
		await page.keyboard.type('@node_modules/x/pl');
		await list().getByRole('option', { name: 'node_modules/x/plan.js' }).waitFor();
		// A click elsewhere ends it.
		await page.locator('.thread').click({ position: { x: 5, y: 5 } });
		await list().waitFor({ state: 'detached' });
	});

	it.each(looks)('looks well in $name', async ({ name, look }) => {
		await begin(look);
		await field().click();
		await page.keyboard.type('Compare @rep');
		const first = list().getByRole('option').first();
		await page.getByText(/more: write more of the name/).waitFor();
		await v.look(`chat-at-${name}`);
		await (look.phone ? first.tap() : first.click());
		await expect.poll(() => field().inputValue()).toBe('Compare @reports/');
		await list().getByRole('option', { name: 'reports/2025/', exact: true }).waitFor();
		expect(await field().evaluate((e) => e === document.activeElement)).toBe(true);
	});
});

describe('by keyboard alone', () => {
	it('goes everywhere', async () => {
		await open([{ text: 'First.' }, { text: 'Second.' }]);
		await page.keyboard.type('One');
		await page.keyboard.press('Enter');
		await page.getByText('First.').waitFor();
		await page.keyboard.type('line 1');
		await page.keyboard.press('Shift+Enter');
		await page.keyboard.type('line 2');
		await expect.poll(() => field().inputValue()).toBe('line 1\nline 2');
		await page.keyboard.press('Enter');
		await page.getByText('Second.').waitFor();

		await page.keyboard.type('/con');
		await page.getByRole('option', { name: /context/ }).waitFor();
		await v.look('chat-commands');
		await page.keyboard.press('Enter');
		await page.getByRole('complementary', { name: 'Context' }).waitFor();
		await page.getByText('of the window').or(page.getByText('window is not known')).waitFor();
		await v.look('chat-context');
		await page.keyboard.type('/tools');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { name: /^Offered/ }).waitFor();
		await v.look('chat-tools');
		await page.keyboard.press('Alt+t');
		await page.getByRole('complementary', { name: 'Tools' }).waitFor({ state: 'detached' });

		await field().focus();
		await page.keyboard.type('/rename Another title');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { level: 1, name: 'Another title' }).waitFor();
		await page.keyboard.press('Control+k');
		await page.getByRole('combobox', { name: 'Find' }).waitFor();
		await page.keyboard.type('rename this');
		await page.getByRole('option', { name: 'Rename this conversation' }).waitFor();
		await page.keyboard.press('Enter');
		await page.getByRole('dialog', { name: 'Rename this conversation' }).waitFor();
		await expect.poll(() => page.evaluate(() => (document.activeElement as HTMLInputElement).value)).toBe('Another title');
		await page.keyboard.type('A third title');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { level: 1, name: 'A third title' }).waitFor();
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		await field().focus();
		await page.keyboard.type('/nonsense');
		await page.keyboard.press('Enter');
		await page.getByText('There is no command /nonsense').waitFor();
		await page.keyboard.press('Control+a');
		await page.keyboard.type('/help');
		await page.keyboard.press('Enter');
		await page.getByRole('dialog', { name: /Commands and shortcuts/ }).waitFor();
		await v.look('chat-help');
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		await page.keyboard.press('Control+Shift+O');
		await page.waitForURL(/\/chat\/main$/);
	});

	it('keeps a draft for each session', async () => {
		await open([{ text: 'First.' }]);
		await say('One');
		await page.getByText('First.').waitFor();
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		await page.keyboard.type('half a thought');
		const url = page.url();
		await page.getByRole('link', { name: 'New chat' }).first().click();
		await page.waitForURL(/\/chat\/main$/);
		await expect.poll(() => field().inputValue()).toBe('');
		await page.goto(url);
		await expect.poll(() => field().inputValue()).toBe('half a thought');
	});
});

describe('a fork', () => {
	const script: Answer[] = [{ text: 'The first answer.' }, { text: 'The second answer.' }, { text: 'The third answer.' }, { text: 'The fourth answer.' }];
	const session = () => new URL(page.url()).pathname.split('/')[3]!;
	const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });
	const focused = () => page.evaluate(() => document.activeElement?.tagName);
	// talk says things, each when the one before is answered, and gives the session.
	const talk = async (...words: string[]): Promise<string> => {
		for (const [i, w] of words.entries()) {
			await say(w);
			await page.getByRole('button', { name: /^Receipt/ }).nth(i).waitFor();
		}
		await page.waitForURL(/\/chat\/main\/[^/?]+$/);
		return session();
	};
	const left = async (id: string) => {
		await expect.poll(session).not.toBe(id);
		return session();
	};
	const told = async (id: string) => (await gateway.api<{ turns: { message: { parts: { text?: string }[] } }[] }>(`/api/sessions/main/${id}/turns`)).turns.map((t) => t.message.parts[0]?.text);

	it('goes on from behind an answer, at its end', async () => {
		await open(script);
		const first = await talk('One', 'Two');
		await turns().first().hover();
		await turns().first().getByRole('button', { name: /^Fork/ }).click();
		const fork = await left(first);
		await title('One (fork)').waitFor();
		await expect.poll(() => turns().count()).toBe(1);
		await expect.poll(focused).toBe('TEXTAREA');
		await page.getByText('Forked here from').waitFor();
		await page.getByRole('navigation', { name: 'Sessions' }).getByRole('link', { name: /One \(fork\)/ }).waitFor();
		await page.keyboard.type('Other');
		await page.keyboard.press('Enter');
		await page.getByText('The third answer.').waitFor();
		await page.getByRole('button', { name: /^Receipt/ }).nth(1).waitFor();
		await v.look('chat-fork');
		const before = await turns().allInnerTexts();
		await page.reload();
		await page.getByText('The third answer.').waitFor();
		expect(await turns().allInnerTexts()).toEqual(before);
		await page.keyboard.type('/usage');
		await page.keyboard.press('Enter');
		await page.getByText('1 and 1 of before the fork, which count where they ran').waitFor();
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'detached' });
		// Back goes to where it was left, and so does the line.
		await page.getByRole('link', { name: 'another conversation' }).click();
		await page.waitForURL(new RegExp(`${first}$`));
		await page.getByText('The second answer.').waitFor();
		expect(await told(first)).toEqual(['One', 'Two']);
		expect(await told(fork)).toEqual(['One', 'Other']);
		await page.keyboard.type('/fork');
		await page.keyboard.press('Enter');
		const whole = await left(first);
		await expect.poll(() => turns().count()).toBe(2);
		expect(await told(whole)).toEqual(['One', 'Two']);
	});

	it('is made of the last message when that is edited', async () => {
		await open(script);
		const first = await talk('One', 'Two');
		await page.keyboard.press('ArrowUp');
		await page.getByText('Editing your last message; sending makes a fork.').waitFor();
		await expect.poll(() => field().inputValue()).toBe('Two');
		await page.keyboard.press('Escape');
		await page.getByText('sending makes a fork').waitFor({ state: 'detached' });
		await expect.poll(() => field().inputValue()).toBe('');
		await page.keyboard.press('ArrowUp');
		await page.keyboard.type(', but better');
		await v.look('chat-edit');
		await page.reload();
		await page.getByText('Editing your last message; sending makes a fork.').waitFor();
		await expect.poll(() => field().inputValue()).toBe('Two, but better');
		await page.keyboard.press('Enter');
		const second = await left(first);
		await page.getByText('The third answer.').waitFor();
		expect(await told(second)).toEqual(['One', 'Two, but better']);
		expect(await told(first)).toEqual(['One', 'Two']);
		await expect.poll(() => field().inputValue()).toBe('');
		await expect.poll(focused).toBe('TEXTAREA');
		// Before the first message there is nothing.
		await page.keyboard.press('ArrowUp');
		await page.keyboard.press('ArrowUp');
		await page.getByText('Editing an earlier message of yours; sending makes a fork.').waitFor();
		await page.keyboard.type(' again');
		await page.keyboard.press('Enter');
		const third = await left(second);
		await page.getByText('The fourth answer.').waitFor();
		expect(await told(third)).toEqual(['One again']);
		await page.getByText('Begun anew from the first message of').waitFor();
		await page.goBack();
		await page.getByText('The third answer.').waitFor();
		await expect.poll(() => field().inputValue()).toBe('');
	});

	it('takes the files of an edited message along', async () => {
		await open(script);
		await page.locator('input[type=file]').setInputFiles([
			{ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(picture, 'base64') },
			{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
			{ name: 'other.txt', mimeType: 'text/plain', buffer: Buffer.from('other') },
		]);
		await expect.poll(() => page.getByText('5 B', { exact: true }).count()).toBe(2);
		const first = await talk('What is this?');
		await page.keyboard.press('ArrowUp');
		await page.getByRole('list', { name: 'Files of this message' }).getByText('70 B').waitFor();
		await page.getByRole('button', { name: 'Leave out other.txt' }).click();
		await v.look('chat-edit-files');
		await field().fill('What are these?');
		await page.keyboard.press('Enter');
		await left(first);
		await page.getByText('The second answer.').waitFor();
		const files = page.getByRole('list', { name: 'Files', exact: true });
		await expect.poll(() => files.locator('img').evaluate((i: HTMLImageElement) => i.naturalWidth)).toBe(1);
		expect(await files.innerText()).toContain('notes.txt');
		expect(await files.innerText()).not.toContain('other.txt');
		// The picture of a turn that was copied is there as well.
		await page.getByRole('button', { name: /^Fork/ }).click();
		await page.getByText('Forked here from').waitFor();
		await expect.poll(() => files.locator('img').evaluate((i: HTMLImageElement) => i.naturalWidth)).toBe(1);
	});

	it('leaves an answer alone that is being written', async () => {
		await open([{ text: 'The first answer.' }, { text: 'This answer never ends', hang: 'middle' }, { text: 'Meanwhile.' }]);
		const first = await talk('One');
		await say('Two');
		await page.getByText('This answer never ends').waitFor();
		await page.keyboard.press('ArrowUp');
		await page.getByText('Editing your last message').waitFor();
		await field().fill('Rather this');
		await page.keyboard.press('Enter');
		await left(first);
		await page.getByText('Meanwhile.').waitFor();
		await page.getByRole('navigation', { name: 'Sessions' }).locator(`a[data-session="${first}"]`).getByText('running').waitFor();
		await page.goBack();
		await page.getByText('This answer never ends').waitFor();
		await page.getByRole('button', { name: 'Stop', exact: true }).click();
		await page.getByText('Stopped. What was done').waitFor();
	});

	it('keeps the words when it can’t be made', async () => {
		await open(script);
		v.allow(/Failed to load|409/);
		const first = await talk('One');
		await page.route('**/fork', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Conflict', status: 409, code: 'busy', detail: 'Not now.' }) }));
		await page.keyboard.press('ArrowUp');
		await page.keyboard.type(', better');
		await page.keyboard.press('Enter');
		await page.getByText('Not now.').waitFor();
		await expect.poll(() => field().inputValue()).toBe('One, better');
		await page.unroute('**/fork');
		await page.keyboard.press('Enter');
		await left(first);
		await page.getByText('The second answer.').waitFor();
		await expect.poll(() => turns().count()).toBe(1);
	});

	it('reads what was kept aside', async () => {
		await open([{ calls: [{ name: 'file_read', args: { path: 'sales.csv' } }] }, { text: 'A long list.' }]);
		const first = await talk('Look into the sales');
		await page.getByRole('button', { name: /^Fork/ }).click();
		await left(first);
		await call('sales.csv').click();
		await page.getByRole('button', { name: 'Read it' }).click();
		await page.getByRole('dialog').getByRole('cell', { name: '37', exact: true }).first().waitFor();
	});

	it.each([...looks, { name: 'very narrow', look: { phone: true } }])('looks well in $name', async ({ name, look }) => {
		await open(script, '/', look);
		const at = name.replace(' ', '-');
		if (name === 'very narrow') await page.setViewportSize({ width: 320, height: 640 });
		await page.locator('input[type=file]').setInputFiles([
			{ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(picture, 'base64') },
			{ name: 'notes of a meeting that was long.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
		]);
		await page.getByText('5 B', { exact: true }).waitFor();
		const first = await talk('One, with files');
		await page.getByRole('button', { name: /^Fork/ }).click();
		const fork = await left(first);
		await page.getByText('Forked here from').waitFor();
		await say('Two');
		await page.getByText('The second answer.').waitFor();
		await page.getByRole('button', { name: /^Receipt/ }).nth(1).waitFor();
		await page.getByRole('button', { name: 'More for this conversation' }).click();
		await page.getByRole('menuitem', { name: 'Edit the last message' }).click();
		await page.getByText('Editing your last message').waitFor();
		await field().press('ArrowUp');
		await page.getByText('70 B').waitFor();
		await v.look(`chat-fork-${at}`);
		await page.getByRole('button', { name: 'Don’t edit' }).click();
		await page.getByRole('button', { name: 'More for this conversation' }).click();
		await page.getByRole('menuitem', { name: 'Rename' }).click();
		await page.getByRole('dialog', { name: 'Rename this conversation' }).waitFor();
		await v.look(`chat-rename-${at}`);
		await page.getByRole('textbox', { name: 'Title' }).fill('Mine');
		await page.keyboard.press('Enter');
		await title('Mine').waitFor();
		expect((await gateway.api<{ title: string }>(`/api/sessions/main/${fork}`)).title).toBe('Mine');
	});
});

describe('what is being read', () => {
	const long = (n: number) => Array.from({ length: n }, (_, i) => `Paragraph ${i + 1} of a long answer that fills the window.`).join('\n\n');

	it('does not move, and a pill tells what is new', async () => {
		await open([{ text: long(60) }, { text: long(40), hang: 'middle' }]);
		await say('One');
		await page.getByText('Paragraph 60').waitFor();
		await expect.poll(() => page.locator('.thread').evaluate((e) => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight))).toBeLessThan(40);
		await say('Two');
		await page.getByText('Paragraph 40').nth(1).waitFor();
		await page.locator('.thread').hover();
		await page.mouse.wheel(0, -1500);
		await page.getByRole('button', { name: 'New below' }).waitFor();
		const top = () => page.locator('.thread').evaluate((e) => e.scrollTop);
		let at = -1;
		await expect.poll(async () => at === (at = await top())).toBe(true); // the wheel has come to rest
		await gateway.api('/api/runs', { body: { session: new URL(page.url()).pathname.split('/')[3], message: 'Three', stream: false } });
		await page.getByRole('button', { name: '1 new below' }).waitFor();
		expect(Math.abs((await top()) - at)).toBeLessThan(2);
		await v.look('chat-below');
		await page.getByRole('button', { name: '1 new below' }).click();
		await expect.poll(() => page.locator('.thread').evaluate((e) => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight))).toBeLessThan(40);
	});

	it('stays where it is when what is out of sight is drawn no more', async () => {
		const much = `${'Many words that fill a line of the window. '.repeat(20)}\n\n`;
		gateway = await Gateway.start({ script: { answers: [{ text: much.repeat(25) }, { text: much.repeat(25) }, { text: much.repeat(25) }] } });
		const session = await gateway.say('Two', await gateway.say('One'));
		v = await Visit.open(browser, gateway, `/chat/main/${session}`);
		page = v.page;
		await page.getByText('Two', { exact: true }).waitFor();
		const thread = page.locator('.thread');
		const sizes = () => thread.evaluate((e) => [e.querySelectorAll('.turn.lazy').length, e.querySelector('.turn')!.getBoundingClientRect().height]);
		await expect.poll(async () => (await sizes())[1]).toBeGreaterThan(2000);
		const [lazy, height] = await sizes();
		expect(lazy).toBe(0);
		await gateway.say('Three', session);
		await expect.poll(async () => (await sizes())[0]).toBe(2);
		expect(Math.abs((await sizes())[1]! - height!)).toBeLessThan(1);
	});

	it('stays where it is when earlier turns come above it', async () => {
		gateway = await Gateway.start({ script: { loop: true, answers: [{ text: 'An answer.\n\nOf two paragraphs.' }] } });
		let session: string | undefined;
		for (let i = 1; i <= 26; i++) session = await gateway.say(`Question ${i}`, session);
		v = await Visit.open(browser, gateway, `/chat/main/${session}`);
		page = v.page;
		await page.getByText('Question 26', { exact: true }).first().waitFor();
		await expect.poll(() => turns().count()).toBe(20);
		await page.locator('.thread').evaluate((e) => e.scrollTo(0, 0));
		const first = turns().filter({ hasText: 'Question 7' });
		const before = (await first.boundingBox())!.y;
		await page.getByRole('button', { name: 'Show earlier' }).click();
		await page.getByText('Question 2', { exact: true }).first().waitFor({ state: 'attached' });
		await expect.poll(async () => Math.abs((await first.boundingBox())!.y - before)).toBeLessThan(60);
		// A search leads to a turn that is not read yet.
		await page.goto(`/chat/main/${session}?turn=3`);
		await expect.poll(async () => (await turns().filter({ has: page.getByText('Question 3', { exact: true }) }).boundingBox())?.y ?? -1).toBeGreaterThan(0);
	});
});

describe('without a model', () => {
	it.each(looks)('it is said once, in $name', async ({ name, look }) => {
		gateway = await Gateway.start({ modelless: true });
		v = await Visit.open(browser, gateway, '/', look);
		page = v.page;
		await page.getByText('Nothing can answer yet.').waitFor();
		expect((await page.getByRole('main').innerText()).match(/no model/gi)).toHaveLength(1);
		await v.look(`chat-modelless-${name}`);
		await field().fill('hello');
		await page.keyboard.press('Enter');
		await expect.poll(() => field().inputValue()).toBe('hello');
		await expect.poll(() => turns().count()).toBe(0);
	});
});

describe('how it looks', () => {
	it.each(looks)('in $name', async ({ name, look }) => {
		await open(
			[
				{ text: 'I look.', calls: [{ name: 'file_list', args: {} }, { name: 'calc', args: { expression: '52*40' } }, { name: 'file_read', args: { path: '../secret.txt' } }] },
				{ text: report },
			],
			'/',
			look,
		);
		await say('Give me an overview');
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		await call('secret.txt').click();
		await page.getByText('leads out of the workspace').first().waitFor();
		await page.locator('.thread').evaluate((e) => e.scrollTo(0, 0));
		await v.look(`chat-${name}`);
		await page.goto(`${page.url()}?panel=context`);
		await page.getByText('of the window').or(page.getByText('window is not known')).waitFor();
		await v.look(`chat-${name}-context`);
	});

	it('on a very narrow window', async () => {
		await open([{ calls: [{ name: 'file_read', args: { path: '../secret.txt' } }] }, { text: report }]);
		await page.setViewportSize({ width: 320, height: 640 });
		await v.look('chat-narrow-welcome');
		await say('Give me an overview');
		await page.getByRole('heading', { name: 'The report' }).waitFor();
		await call('secret.txt').click();
		await page.getByText('Who can change it').scrollIntoViewIfNeeded();
		await v.look('chat-narrow-refused');
		await call('secret.txt').click();
		await v.look('chat-narrow');
		await page.getByRole('button', { name: 'Show the sessions' }).click();
		await page.getByRole('dialog', { name: 'Sessions' }).waitFor();
		await v.look('chat-narrow-sessions');
	});
});
