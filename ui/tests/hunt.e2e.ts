import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { browse, Gateway, Visit, type Answer } from './harness';

// Whatever a person does, in whichever order, while the gateway dies and comes
// back: in the end both of their windows show what the records say, nothing is
// lost or doubled, and nothing goes on that has ended. HUNT is how many walks
// are made, SEED the first of them.

let browser: Browser;

beforeAll(async () => {
	browser = await browse();
});
afterAll(async () => {
	await browser?.close();
});

const calls = [{ name: 'calc', args: { expression: '6*7' } }, { name: 'file_list', args: {} }];
const answers: Answer[] = [
	{ text: 'A quick answer.' },
	{ text: 'It comes late. '.repeat(20), pieces: 8, delay: 700 },
	{ text: 'I look.', calls, delay: 200 },
	{ text: 'That is what I found.', delay: 300 },
	{ reasoning: 'Hm, let me see.', text: 'I have thought of it.', pieces: 3, delay: 150 },
	{ status: 400, body: '{"error":{"message":"the model says no","type":"invalid_request_error"}}' },
];

/** mulberry32 */
function random(seed: number): () => number {
	let a = seed;
	return () => {
		a = (a + 0x6d2b79f5) | 0;
		let t = Math.imul(a ^ (a >>> 15), 1 | a);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

interface Turn {
	status: string;
	message: { parts: { text?: string }[] };
	rounds: { text: string; joined?: string[] }[];
}
interface Session {
	id: string;
	title: string;
	running?: string;
	queued?: number;
}

const field = (p: Page) => p.getByRole('textbox', { name: 'Message' });
const plain = (s: string) => s.replace(/\s+/g, ' ').trim();
const saidIn = (t: Turn) => t.message.parts.map((x) => x.text ?? '').join('');

class Walk {
	readonly steps: string[] = [];
	readonly #said = new Set<string>();
	readonly #lost = new Set<string>(); // written over by this test itself
	#n = 0;

	constructor(
		readonly seed: number,
		readonly r: () => number,
		readonly gateway: Gateway,
		readonly pages: Page[],
	) {}

	#pick<T>(of: readonly T[]): T {
		return of[Math.floor(this.r() * of.length)]!;
	}

	async step(): Promise<void> {
		const i = Math.floor(this.r() * this.pages.length);
		const p = this.pages[i]!;
		const act = this.#pick(['say', 'say', 'say', 'steer', 'stop', 'escape', 'reload', 'go', 'go', 'new', 'rename', 'kill', 'back', 'withdraw', 'rest', 'rest'] as const);
		this.steps.push(`${i} ${act}`);
		const quick = { timeout: 1000 };
		const maybe = (done: Promise<unknown>) => done.catch(() => undefined); // what is not there can't be pressed
		switch (act) {
			case 'say':
			case 'steer': {
				if (!(await field(p).isVisible())) break;
				if (act === 'steer') await maybe(p.getByText('Steer', { exact: true }).click({ timeout: 100 }));
				const words = `walk ${this.seed} message ${++this.#n}.`;
				for (const m of (await field(p).inputValue()).matchAll(/walk \d+ message \d+\./g)) this.#lost.add(m[0]);
				await field(p).fill(words);
				await field(p).press('Enter');
				this.#said.add(words);
				this.steps[this.steps.length - 1] += ` ${this.#n}`;
				break;
			}
			case 'stop':
				await maybe(p.getByRole('button', { name: 'Stop', exact: true }).click({ timeout: 100 }));
				break;
			case 'escape':
				await maybe(field(p).press('Escape', quick));
				break;
			case 'reload':
				await maybe(p.reload({ waitUntil: this.#pick(['commit', 'load']) }));
				break;
			case 'go': {
				const links = p.locator('a[data-session]');
				const n = await links.count();
				if (n > 0) await maybe(links.nth(Math.floor(this.r() * n)).click(quick));
				break;
			}
			case 'new':
				await maybe(p.getByRole('link', { name: 'New chat' }).first().click(quick));
				break;
			case 'rename':
				if ((await field(p).isVisible()) && (await field(p).inputValue()) === '') {
					await field(p).fill(`/rename Title ${this.steps.length}`);
					await field(p).press('Enter');
					await maybe(field(p).fill('', quick)); // there may be nothing to rename yet
				}
				break;
			case 'kill':
				await this.gateway.stop('SIGKILL');
				if (this.r() < 0.5) await maybe(p.getByText('The gateway does not answer.').first().waitFor({ timeout: 2500 }));
				await this.gateway.run();
				break;
			case 'back':
				await maybe(this.r() < 0.5 ? p.goBack(quick) : p.goForward(quick));
				break;
			case 'withdraw':
				await maybe(p.getByRole('button', { name: 'Withdraw' }).first().click({ timeout: 100 }));
				break;
			case 'rest':
				await maybe(p.locator('article[aria-busy=true]').first().waitFor({ state: 'detached', timeout: 1 + this.r() * 1200 }));
		}
		if (!(await p.locator('main').count())) await p.goto('/'); // behind the first page, or loaded while nobody answered
	}

	/** idle says whether nothing is answered any more. */
	async idle(): Promise<boolean> {
		const { sessions } = await this.gateway.api<{ sessions: Session[] }>('/api/sessions?limit=100');
		return sessions.every((s) => !s.running && !s.queued);
	}

	/** amiss lists what is not as it should be at the end. */
	async amiss(): Promise<string[]> {
		const found: string[] = [];
		const { sessions } = await this.gateway.api<{ sessions: Session[] }>('/api/sessions?limit=100');
		const records = new Map<string, Turn[]>();
		for (const s of sessions) records.set(s.id, (await this.gateway.api<{ turns: Turn[] }>(`/api/sessions/main/${s.id}/turns`)).turns);
		const stored = [...records.values()].flat().flatMap((t) => [saidIn(t), ...t.rounds.flatMap((x) => x.joined ?? [])]);
		const kept: string[] = [];
		for (const [i, p] of this.pages.entries()) {
			const page = await p.evaluate(() => ({
				session: location.pathname.split('/')[3],
				title: document.querySelector('h1')?.textContent ?? '',
				turns: [...document.querySelectorAll<HTMLElement>('article.turn')].map((t) => t.innerText),
				going: document.querySelectorAll('[aria-busy=true], article [role=status], .animate-spin, button[aria-label^=Stop]').length,
				alerts: [...document.querySelectorAll<HTMLElement>('[role=alert]')].map((e) => e.innerText),
				listed: [...document.querySelectorAll<HTMLElement>('a[data-session]')].map((e) => `${e.dataset['session']} ${e.firstElementChild?.textContent} ${/running|waiting/.test(e.innerText)}`),
				kept: [document.querySelector('textarea')?.value ?? '', ...Object.values(localStorage), ...Object.values(sessionStorage)].join('\n'),
			}));
			const unsent = page.turns.filter((t) => t.includes('Not sent.'));
			// They stand behind the turns until somebody puts them back or discards them.
			const withdrawn = page.turns.filter((t) => t.includes('Withdrawn before the agent read it'));
			kept.push(page.kept, ...unsent, ...withdrawn);
			if (page.going > 0) found.push(`page ${i}: something goes on`);
			for (const a of page.alerts) if (!a.includes('Not sent.')) found.push(`page ${i} says ${plain(a)}`);
			expect(sessions.length).toBeLessThan(40);
			if (page.listed.join('\n') !== sessions.map((s) => `${s.id} ${s.title} false`).join('\n')) found.push(`page ${i} lists ${page.listed.join(', ')}`);
			const want = page.session ? records.get(page.session) : [];
			const shown = page.turns.filter((t) => !unsent.includes(t) && !withdrawn.includes(t)).map(plain);
			if (!want || shown.length !== want.length) {
				found.push(`page ${i} shows ${shown.length} turns, ${want?.length} are stored`);
				continue;
			}
			if (page.session && page.title !== sessions.find((s) => s.id === page.session)?.title) found.push(`page ${i} has the title ${page.title}`);
			const marks: Record<string, string> = { stopped: 'Stopped. What', interrupted: 'Interrupted: the', failed: 'The run failed.', limited: 'A limit ended' };
			for (const [n, t] of want.entries()) {
				for (const words of [saidIn(t), ...t.rounds.flatMap((x) => [x.text, ...(x.joined ?? [])])]) {
					if (!shown[n]!.includes(plain(words))) found.push(`page ${i}, turn ${n + 1} lacks ${words}`);
				}
				for (const [status, mark] of Object.entries(marks)) {
					if (shown[n]!.includes(mark) !== (t.status === status)) found.push(`page ${i}, turn ${n + 1} is ${t.status}, and shows ${shown[n]}`);
				}
			}
		}
		for (const words of this.#said) {
			const times = stored.filter((s) => s.includes(words)).length;
			if (times > 1) found.push(`${words} is stored ${times} times`);
			if (times === 0 && !this.#lost.has(words) && !kept.some((k) => k.includes(words))) found.push(`${words} is lost`);
		}
		return found;
	}
}

const first = Number(process.env['SEED'] ?? 1);
const seeds = Array.from({ length: Number(process.env['HUNT'] ?? 2) }, (_, i) => first + i);

it.each(seeds)('a walk ends as the records say: %i', { timeout: 120_000 }, async (seed) => {
	const gateway = await Gateway.start({ script: { answers, loop: true } });
	try {
		const v = await Visit.open(browser, gateway);
		v.allow(/ERR_|Failed to (load|fetch)/);
		const walk = new Walk(seed, random(seed), gateway, [v.page, await v.another('/')]);
		for (let n = 0; n < 24; n++) await walk.step();
		await expect.poll(() => walk.idle(), { timeout: 30_000 }).toBe(true);
		await expect.poll(() => walk.amiss(), { timeout: 40_000, message: walk.steps.join(', ') }).toEqual([]);
		await v.close();
	} finally {
		await gateway.close();
	}
});
