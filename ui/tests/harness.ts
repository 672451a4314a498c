// What the browser tests share: a real gateway on a home folder of its own, a
// model server that answers by a script, a browser, and what holds for every
// page: no request to anywhere else, no error, no finding of axe.
//
// bin/goclaw and .cache/bin/fakellm are built by scripts/ui browser, which also
// says which browser.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core';
import { expect } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const out = join(root, 'ui/tests/out');

// Script is what the model answers: see Script in internal/fakellm.
export interface Script {
	answers: Answer[];
	loop?: boolean;
}

export interface Answer {
	when?: string;
	text?: string;
	reasoning?: string;
	calls?: { name: string; args: unknown }[];
	usage?: { input?: number; cached?: number; output?: number };
	pieces?: number;
	delay?: number;
	hang?: 'before' | 'header' | 'middle';
	status?: number;
	body?: string;
	fault?: string;
	break?: 'before' | 'middle';
	deltas?: unknown[];
}

// Children are ended when this process ends, however that comes.
const children = new Set<ChildProcess>();
process.on('exit', () => {
	for (const c of children) c.kill('SIGKILL');
});

class Program {
	readonly #child: ChildProcess;
	readonly #gone: Promise<number>;
	#output = '';

	constructor(
		readonly name: string,
		args: string[],
		env: Record<string, string>,
		cwd: string,
	) {
		const child = spawn(name, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
		this.#child = child;
		children.add(child);
		child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
		child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.log += text));
		this.#gone = new Promise((done, fail) => {
			child.on('error', fail);
			child.on('exit', (code, signal) => {
				children.delete(child);
				done(code ?? (signal ? 128 : 0));
			});
		});
	}

	log = '';

	// line waits for the first line of the program's output.
	async line(): Promise<string> {
		const ended = this.#gone.then((code) => {
			if (!this.#output.includes('\n')) throw new Error(`${this.name} ended with ${code}:\n${this.log}`);
		});
		const came = new Promise<void>((done) => {
			const look = () => {
				if (this.#output.includes('\n')) done();
				else this.#child.stdout!.once('data', look);
			};
			look();
		});
		await Promise.race([ended, came]);
		return this.#output.slice(0, this.#output.indexOf('\n'));
	}

	async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number> {
		this.#child.kill(signal);
		return this.#gone;
	}
}

function program(path: string): string {
	const file = join(root, path);
	if (!existsSync(file)) throw new Error(`${path} is missing; run scripts/ui browser`);
	return file;
}

export interface GatewayOptions {
	script?: Script;
	// config is added to config.yaml.
	config?: string;
	// ai is that section of it, with MODEL for the address of the model; else one provider with one model.
	ai?: string;
	// modelless has no model set up.
	modelless?: boolean;
	// files are put into the agent's workspace.
	files?: Record<string, string>;
}

// Gateway is a running goclaw with its model. Its folder goes with close.
export class Gateway {
	readonly home: string;
	url = '';
	readonly token = 'browser-tests-0123456789abcdef';
	#dir: string;
	#program: Program | undefined;
	#model: Program | undefined;
	#options: GatewayOptions;
	// link signs in once.
	link = '';
	#cookies: Awaited<ReturnType<BrowserContext['cookies']>> = [];

	private constructor(options: GatewayOptions) {
		this.#options = options;
		this.#dir = mkdtempSync(join(tmpdir(), 'goclaw-ui-'));
		this.home = join(this.#dir, 'home');
	}

	static async start(options: GatewayOptions = {}): Promise<Gateway> {
		const g = new Gateway(options);
		try {
			await g.#begin();
		} catch (err) {
			await g.close();
			throw err;
		}
		return g;
	}

	async #begin(): Promise<void> {
		mkdirSync(join(this.home, 'workspace'), { recursive: true, mode: 0o700 });
		for (const [name, text] of Object.entries(this.#options.files ?? {})) {
			mkdirSync(dirname(join(this.home, 'workspace', name)), { recursive: true });
			writeFileSync(join(this.home, 'workspace', name), text);
		}
		const script = join(this.#dir, 'script.json');
		writeFileSync(script, JSON.stringify(this.#options.script ?? { loop: true, answers: [{ text: 'Done.' }] }));
		this.#model = new Program(program('.cache/bin/fakellm'), [script], { PATH: process.env.PATH ?? '' }, this.#dir);
		const model = await this.#model.line();
		const ai = this.#options.ai ?? '{provider: openai, providers: {openai: {api_key: k, model: test-model, base_url: MODEL}}}';
		const provider = this.#options.modelless ? '' : `ai: ${ai.replaceAll('MODEL', `"${model}/v1"`)}\n`;
		writeFileSync(join(this.home, 'config.yaml'), provider + (this.#options.config ?? ''), { mode: 0o600 });
		await this.run();
	}

	// run starts the gateway, again at the address that it had.
	async run(): Promise<void> {
		const listen = this.url ? new URL(this.url).host : '127.0.0.1:0';
		const env = { PATH: process.env.PATH ?? '', HOME: this.#dir, TMPDIR: tmpdir(), GOCLAW_HOME: this.home, GOCLAW_TOKEN: this.token };
		this.#program = new Program(program('bin/goclaw'), ['start', '--listen', listen, '--json', '--drain', '1s'], env, this.#dir);
		const ready = JSON.parse(await this.#program.line()) as { url: string; link?: string };
		this.url = ready.url;
		this.link = ready.link ?? '';
	}

	// stop ends the gateway; the model goes on.
	async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
		await this.#program?.stop(signal);
		this.#program = undefined;
	}

	// log is what the gateway has logged.
	get log(): string {
		return this.#program?.log ?? '';
	}

	// signIn gives a context the sign-in of the first link, which is redeemed
	// once. A fresh one is the context's own, by the form: ending it ends no other.
	async signIn(context: BrowserContext, fresh = false): Promise<void> {
		const page = await context.newPage();
		if (fresh) {
			await page.goto(`${this.url}/signin`);
			await page.locator('input[name=token]').fill(this.token);
			await page.locator('button').first().click();
			await page.waitForURL((u) => u.pathname !== '/signin');
		} else if (this.#cookies.length > 0) {
			await context.addCookies(this.#cookies);
		} else {
			await page.goto(this.link);
			if (new URL(page.url()).pathname === '/signin') throw new Error(`not signed in: ${await page.locator('body').innerText()}`);
			this.#cookies = await context.cookies();
		}
		await page.close();
	}

	// api asks the gateway as a program does.
	async api<T = unknown>(path: string, init: { method?: string; body?: unknown } = {}): Promise<T> {
		const response = await fetch(this.url + path, {
			method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
			headers: { Authorization: `Bearer ${this.token}`, ...(init.body === undefined ? {} : { 'Content-Type': 'application/json' }) },
			...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${init.method ?? ''} ${path}: ${response.status} ${text}`);
		return (text ? JSON.parse(text) : undefined) as T;
	}

	// say has a message answered and gives the session.
	async say(message: string, session?: string): Promise<string> {
		type Run = { id: string; session: string; state: string };
		let run = await this.api<Run>('/api/runs', { body: { message, session, stream: false } });
		while (run.state !== 'ended') run = await this.api<Run>(`/api/runs/${run.id}`);
		return run.session;
	}

	async close(): Promise<void> {
		await this.stop();
		await this.#model?.stop();
		rmSync(this.#dir, { recursive: true, force: true });
	}
}

const flags = [
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-quic',
	'--disable-sync',
	'--disable-gpu',
	'--disable-dev-shm-usage',
];

export function browse(): Promise<Browser> {
	const executablePath = process.env.CHROMIUM;
	if (!executablePath) throw new Error('CHROMIUM is not set; run scripts/ui browser');
	return chromium.launch({ executablePath, args: flags });
}

export interface Look {
	dark?: boolean;
	phone?: boolean;
	// fresh signs in anew instead of using the sign-in of the other tests.
	fresh?: boolean;
}

export const looks: { name: string; look: Look }[] = [
	{ name: 'light', look: {} },
	{ name: 'dark', look: { dark: true } },
	{ name: 'phone', look: { phone: true } },
	{ name: 'phone-dark', look: { phone: true, dark: true } },
];

// Visit is a browser window on a gateway, with everything that went wrong in it.
export class Visit {
	readonly faults: string[] = [];
	#allowed: RegExp[] = [];
	#asked: string[] = []; // what the page asked the gateway, and what came of it
	readonly #begun = Date.now();

	private constructor(
		readonly gateway: Gateway,
		readonly context: BrowserContext,
		readonly page: Page,
	) {}

	// open signs in and opens a path.
	static async open(browser: Browser, gateway: Gateway, path = '/', look: Look = {}): Promise<Visit> {
		const context = await browser.newContext({
			viewport: look.phone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
			hasTouch: look.phone ?? false,
			isMobile: look.phone ?? false,
			deviceScaleFactor: look.phone ? 2 : 1,
			colorScheme: look.dark ? 'dark' : 'light',
			reducedMotion: 'reduce',
			locale: 'en-GB',
			baseURL: gateway.url,
		});
		await gateway.signIn(context, look.fresh);
		const page = await context.newPage();
		const v = new Visit(gateway, context, page);
		v.#watch(page);
		await page.goto(path);
		return v;
	}

	#watch(page: Page): void {
		const home = new URL(this.gateway.url).origin;
		page.on('request', (r) => {
			const u = new URL(r.url());
			if (u.origin !== home && u.protocol !== 'data:' && u.protocol !== 'blob:') this.#fault(`a request to ${r.url()}`);
		});
		const note = (what: string, r: Request) => r.url().includes('/api/') && this.#asked.push(`${((Date.now() - this.#begun) / 1000).toFixed(2)} ${what} ${r.method()} ${r.url().slice(home.length)}`);
		page.on('request', (r) => note('asks', r));
		page.on('response', (r) => note(String(r.status()), r.request()));
		page.on('requestfailed', (r) => note(r.failure()?.errorText ?? 'failed', r));
		page.on('console', (m) => {
			if (m.type() === 'error' || m.type() === 'warning') this.#fault(`console: ${m.text()}`);
		});
		page.on('pageerror', (e) => this.#fault(`error: ${e.stack ?? e.message}`));
	}

	#fault(text: string): void {
		if (!this.#allowed.some((a) => a.test(text))) this.faults.push(text);
	}

	// allow says which fault a test makes on purpose.
	allow(...faults: RegExp[]): void {
		this.#allowed.push(...faults);
	}

	// another opens a further window of the same person.
	async another(path: string): Promise<Page> {
		const page = await this.context.newPage();
		this.#watch(page);
		await page.goto(path);
		return page;
	}

	// accessible fails when axe finds something.
	async accessible(what: string, page = this.page): Promise<void> {
		await page.evaluate(axeSource);
		const found = await page.evaluate(async () => {
			const { axe } = window as unknown as { axe: { run: (d: Document, o: object) => Promise<AxeResults> } };
			return (await axe.run(document, { resultTypes: ['violations'] })).violations.map(
				(v) => `${v.id}: ${v.help}\n${v.nodes.map((n) => `    ${n.html.slice(0, 200)}\n      ${(n.failureSummary ?? '').replace(/\s+/g, ' ')}`).join('\n')}`,
			);
		});
		expect(found, `axe on ${what}`).toEqual([]);
	}

	// fits fails when the page is wider than the window.
	async fits(what: string, page = this.page): Promise<void> {
		const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
		expect(over, `${what} is wider than the window by`).toBe(0);
		// Nothing may hang out of the frame: whatever leads there, as a reading cursor does, would move the whole page.
		const below = await page.evaluate(() => Math.max(0, ...[...document.querySelectorAll('body > * *')].filter((e) => /hidden|clip/.test(getComputedStyle(e).overflowY) && e.clientHeight >= innerHeight).map((e) => e.scrollHeight - e.clientHeight)));
		expect(below, `${what} hangs out of the window by`).toBe(0);
	}

	// shot keeps a picture for a person to look at.
	async shot(name: string, page = this.page): Promise<void> {
		mkdirSync(out, { recursive: true });
		await page.screenshot({ path: join(out, `${name}.png`), animations: 'disabled' });
	}

	// tell says what there is to know of a test that failed: a picture, and in
	// words what the page shows, asked for and complained about.
	async tell(test: string): Promise<void> {
		await this.shot(`failed-${test.replace(/\W+/g, '-')}`);
		const shown = await this.page.locator('body').innerText();
		console.error([`${test} failed at ${this.page.url()}`, shown, ...this.#asked.slice(-60), ...this.faults, this.gateway.log].join('\n'));
	}

	// look is accessible, fits and shot.
	async look(name: string, page = this.page): Promise<void> {
		await this.shot(name, page);
		await this.accessible(name, page);
		await this.fits(name, page);
	}

	// close fails when anything went wrong meanwhile.
	async close(): Promise<void> {
		await this.context.close();
		expect(this.faults).toEqual([]);
	}
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') + ';0';
