// The router: the address is the state. A plain <a href> to a page of the UI is
// followed without loading; anything else stays the browser's. What a page's
// code needs is loaded first: path, parameters and page change in one step, so
// a page never sees the parameters of another.
import type { Component } from 'svelte';

export interface Page {
	// name is unique among the pages.
	name: string;
	// path has segments, :name for one that varies and :name? for one that may be absent.
	path: string;
	title: string;
	load: () => Promise<{ default: Component }>;
}

export type Params = Record<string, string>;

// Pattern is a path of a page, taken apart.
interface Pattern {
	segments: { name: string; kind: 'fixed' | 'param' | 'optional' }[];
}

function parse(path: string): Pattern {
	const segments = split(path).map((s) => {
		if (!s.startsWith(':')) return { name: s, kind: 'fixed' as const };
		if (s.endsWith('?')) return { name: s.slice(1, -1), kind: 'optional' as const };
		return { name: s.slice(1), kind: 'param' as const };
	});
	return { segments };
}

function split(path: string): string[] {
	return path.split('/').filter((s) => s !== '');
}

function decode(segment: string): string | undefined {
	try {
		return decodeURIComponent(segment);
	} catch {
		return undefined; // a lone % is no address of ours
	}
}

// match gives the parameters of an address that a page's path fits.
export function match(path: string, address: string): Params | undefined {
	const { segments } = parse(path);
	const given = split(address);
	if (given.length > segments.length) return undefined;
	const params: Params = {};
	for (const [i, segment] of segments.entries()) {
		const raw = given[i];
		if (raw === undefined) {
			if (segment.kind === 'optional') continue;
			return undefined;
		}
		const value = decode(raw);
		if (value === undefined) return undefined;
		if (segment.kind === 'fixed') {
			if (value !== segment.name) return undefined;
		} else {
			params[segment.name] = value;
		}
	}
	return params;
}

// build gives the address of a path with its parameters; what is absent at the
// end is left out.
export function build(path: string, params: Record<string, string | undefined> = {}): string {
	const parts: string[] = [];
	for (const segment of parse(path).segments) {
		if (segment.kind === 'fixed') {
			parts.push(segment.name);
			continue;
		}
		const value = params[segment.name];
		if (!value) {
			if (segment.kind === 'param') throw new Error(`${path} needs ${segment.name}`);
			break;
		}
		parts.push(encodeURIComponent(value));
	}
	return `/${parts.join('/')}`;
}

// chatPath is the address of a session, or of a new one.
export function chatPath(agent?: string, session?: string): string {
	return build('/chat/:agent?/:session?', { agent, session });
}

interface Entry {
	// key tells entries of the history apart.
	key: string;
	// kept is what pages keep with their entry, such as where they were scrolled to.
	kept: Record<string, unknown>;
}

export interface NavigateOptions {
	replace?: boolean;
	// quiet navigation is a change of state within a page: focus and scroll stay.
	quiet?: boolean;
}

class Router {
	pages: Page[] = [];
	path = $state('/');
	query = $state.raw(new URLSearchParams());
	hash = $state('');
	// page is undefined for an address that no page has.
	page = $state.raw<Page>();
	// component draws page; undefined when its code could not be loaded, as error says.
	component = $state.raw<Component>();
	error = $state.raw<unknown>();
	params = $state.raw<Params>({});
	// loading tells that the code of the next page is on its way.
	loading = $state(false);
	// moves counts navigations that are not quiet, so that focus can follow them.
	moves = $state(0);
	#entry: Entry = { key: '', kept: {} };
	#components = new Map<string, Component>();
	#reads = 0;

	// start takes over the address bar until the returned function is called.
	start(pages: Page[]): () => void {
		this.pages = pages;
		const entry = history.state as Partial<Entry> | null;
		this.#entry = { key: entry?.key ?? newKey(), kept: entry?.kept ?? {} };
		this.#store();
		void this.#read(() => false);
		const pop = (e: PopStateEvent) => {
			const state = e.state as Partial<Entry> | null;
			this.#entry = { key: state?.key ?? newKey(), kept: state?.kept ?? {} };
			void this.#read((before) => before !== this.path);
		};
		const click = (e: MouseEvent) => {
			const to = ours(e, (path) => this.find(path) !== undefined);
			if (to === undefined) return;
			e.preventDefault();
			this.navigate(to);
		};
		window.addEventListener('popstate', pop);
		document.addEventListener('click', click);
		return () => {
			window.removeEventListener('popstate', pop);
			document.removeEventListener('click', click);
		};
	}

	find(path: string): Page | undefined {
		return path === '/' ? this.pages[0] : this.pages.find((p) => match(p.path, path));
	}

	navigate(to: string, options: NavigateOptions = {}): void {
		const target = new URL(to, location.href);
		const same = target.href === location.href;
		this.#entry = { key: newKey(), kept: options.replace && options.quiet ? this.#entry.kept : {} };
		if (options.replace || same) history.replaceState(this.#entry, '', target);
		else history.pushState(this.#entry, '', target);
		void this.#read(() => !options.quiet);
	}

	// reload tries to load the code of the page again.
	reload(): void {
		void this.#read(() => true);
	}

	// setQuery changes parts of the query; undefined and '' remove one. It
	// replaces the entry of the history unless push is set.
	setQuery(changes: Record<string, string | undefined>, { push = false } = {}): void {
		const query = new URLSearchParams(location.search);
		for (const [name, value] of Object.entries(changes)) {
			if (value === undefined || value === '') query.delete(name);
			else query.set(name, value);
		}
		const text = query.toString();
		const to = location.pathname + (text ? `?${text}` : '') + location.hash;
		if (to === location.pathname + location.search + location.hash) return;
		this.navigate(to, { replace: !push, quiet: true });
	}

	// keep stores a value with the entry of the history that is shown: kept gives
	// it again when Back comes to it. It must be plain data.
	keep(name: string, value: unknown): void {
		this.#entry = { ...this.#entry, kept: { ...this.#entry.kept, [name]: value } };
		this.#store();
	}

	kept(name: string): unknown {
		return this.#entry.kept[name];
	}

	#store(): void {
		history.replaceState(this.#entry, '');
	}

	// read takes the address over, at once when the page's code is there. moved
	// is given the path that was shown before and tells whether that is a move.
	async #read(moved: (before: string) => boolean): Promise<void> {
		const read = ++this.#reads;
		if (location.pathname === '/' && this.pages[0]) {
			history.replaceState(this.#entry, '', build(this.pages[0].path) + location.search + location.hash);
		}
		const { pathname, search, hash } = location;
		const page = this.find(pathname);
		let component = page && this.#components.get(page.name);
		let error: unknown;
		this.loading = page !== undefined && component === undefined;
		if (page && !component) {
			try {
				component = (await page.load()).default;
				this.#components.set(page.name, component);
			} catch (err) {
				error = err;
			}
			// Somebody has gone on meanwhile.
			if (read !== this.#reads) return;
			this.loading = false;
		}
		const before = this.path;
		this.path = pathname;
		this.query = new URLSearchParams(search);
		this.hash = hash;
		this.page = page;
		this.params = page ? (match(page.path, pathname) ?? {}) : {};
		this.component = component;
		this.error = error;
		if (moved(before)) this.moves++;
	}
}

let keys = 0;

function newKey(): string {
	keys++;
	return `${Date.now().toString(36)}.${keys}`;
}

// ours gives the address of a click that a page of ours answers.
function ours(e: MouseEvent, known: (path: string) => boolean): string | undefined {
	if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return undefined;
	const link = e.composedPath().find((n): n is HTMLAnchorElement => n instanceof HTMLAnchorElement);
	if (!link?.href || (link.target && link.target !== '_self') || link.hasAttribute('download')) return undefined;
	const target = new URL(link.href);
	if (target.origin !== location.origin || !known(target.pathname)) return undefined;
	// A jump within what is shown (the skip link, a heading) is the browser's.
	if (target.hash && target.pathname === location.pathname && target.search === location.search) return undefined;
	return target.pathname + target.search + target.hash;
}

export const router = new Router();
export const navigate = router.navigate.bind(router);
