// The list of known tools as the page shows it: pages of the server's list.
import { aborted, api, type Schemas } from '../../lib/api/client';

export type KnownTool = Schemas['KnownTool'];

// View is for whom and what the states are told: what the address says of it.
export interface View {
	agent: string;
	role: string;
	origin: string;
	message: string;
}

export interface Filter extends View {
	q: string;
	category: string;
	owner: string;
	state: string;
}

const page = 50; // tools asked for at once

export class Catalog {
	items = $state.raw<KnownTool[]>([]);
	// states counts the tools by where they stop, whatever state is filtered.
	states = $state.raw<Record<string, number>>({});
	total = $state(0);
	loading = $state(true);
	loaded = $state(false);
	more = $state(false); // further ones are being asked for
	error = $state.raw<unknown>();
	next = $state('');

	#filter: Filter | undefined;
	#abort = new AbortController();

	// load asks anew. The list that is there stays until the answer comes.
	async load(filter: Filter, count = page): Promise<void> {
		this.#abort.abort();
		const { signal } = (this.#abort = new AbortController());
		this.#filter = filter;
		this.loading = true;
		this.more = false;
		try {
			const found = await api.get('/api/catalog', { query: { ...filter, limit: Math.min(200, Math.max(page, count)) }, signal });
			this.items = found.tools;
			this.next = found.next ?? '';
			this.states = found.states;
			this.total = found.total;
			this.error = undefined;
			this.loaded = true;
		} catch (err) {
			if (aborted(err)) return;
			this.error = err;
		}
		this.loading = false;
	}

	// further asks for the next page.
	async further(): Promise<void> {
		if (!this.next || this.more || this.loading || !this.#filter) return;
		const { signal } = this.#abort;
		this.more = true;
		try {
			const found = await api.get('/api/catalog', { query: { ...this.#filter, limit: page, after: this.next }, signal });
			// The tools may have changed since; none is listed twice.
			const known = new Set(this.items.map((t) => t.name));
			this.items = this.items.concat(found.tools.filter((t) => !known.has(t.name)));
			this.next = found.next ?? '';
			this.error = undefined;
		} catch (err) {
			if (aborted(err)) return;
			this.error = err;
		}
		this.more = false;
	}

	stop(): void {
		this.#abort.abort();
	}
}
