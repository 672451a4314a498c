// The list of sessions as the page shows it: pages of the server's list, kept
// up by the stream of changes.
import { aborted, api, type Schemas } from '../../lib/api/client';

export type Session = Schemas['Session'];

export interface Filter {
	title: string;
	agent: string;
}

const page = 50; // sessions asked for at once
const most = 200; // asked for at once when Back comes to a long list

export class SessionList {
	items = $state.raw<Session[]>([]);
	// fresh counts sessions that began since; they are shown when asked for, as nothing may move under a pointer.
	fresh = $state(0);
	loading = $state(true);
	more = $state(false); // further ones are being asked for
	error = $state.raw<unknown>();
	next = $state('');

	#filter: Filter = { title: '', agent: '' };
	#abort = new AbortController();
	#known = new Set<string>();
	#behind = false; // the stream opened while an answer was under way
	#asking = 0;
	#told: Schemas['SessionChanged'][] = []; // by the stream while an answer, which may be of before, was under way

	// load asks anew. The list that is there stays until the answer comes.
	async load(filter: Filter, count = page): Promise<void> {
		this.#abort.abort();
		const abort = (this.#abort = new AbortController());
		this.#filter = filter;
		this.loading = true;
		this.more = false;
		this.#told = [];
		try {
			let found: Session[] = [];
			let next = '';
			do {
				const limit = Math.min(most, Math.max(page, count - found.length));
				const answer = await this.#ask(limit, next, abort.signal);
				found = found.concat(answer.sessions);
				next = answer.next ?? '';
			} while (next && found.length < count);
			this.items = found;
			this.next = next;
			this.fresh = 0;
			this.error = undefined;
			this.#known = new Set(found.map(key));
		} catch (err) {
			if (aborted(err)) return;
			this.error = err;
		}
		this.loading = false;
		for (const s of this.#told.splice(0)) this.change(s);
		if (this.#behind) void this.catchUp();
	}

	// catchUp asks for what a stream that has just opened did not tell: what happened before. Nothing moves by it.
	async catchUp(): Promise<void> {
		this.#behind = this.loading;
		if (this.loading) return; // the answer may be of before
		if (this.error) return this.load(this.#filter, this.items.length); // there may be no list to add to
		this.#told = [];
		this.#asking++;
		let found: Session[] = [];
		try {
			found = (await this.#ask(Math.min(most, Math.max(page, this.items.length)), '', this.#abort.signal)).sessions;
		} catch (err) {
			if (!aborted(err)) this.error = err;
		}
		this.#asking--;
		for (const s of found.concat(this.#told.splice(0))) this.change(s);
	}

	// further asks for the next page.
	async further(): Promise<void> {
		if (!this.next || this.more || this.loading) return;
		const abort = this.#abort;
		this.more = true;
		try {
			const answer = await this.#ask(page, this.next, abort.signal);
			// A session that was worked on meanwhile has moved to the front and may come twice.
			const added = answer.sessions.filter((s) => !this.#known.has(key(s)));
			for (const s of added) this.#known.add(key(s));
			this.items = this.items.concat(added);
			this.next = answer.next ?? '';
			this.error = undefined;
		} catch (err) {
			if (aborted(err)) return;
			this.error = err;
		}
		this.more = false;
	}

	#ask(limit: number, after: string, signal: AbortSignal): Promise<Schemas['Sessions']> {
		const { title, agent } = this.#filter;
		return api.get('/api/sessions', { query: { title, agent, limit, after }, signal });
	}

	// change takes an event of the stream in. Rows change where they stand.
	change(s: Schemas['SessionChanged']): void {
		if (this.loading || this.#asking) this.#told.push(s);
		const at = this.items.findIndex((i) => key(i) === key(s));
		if (s.deleted) {
			if (at >= 0) this.items = this.items.filter((_, i) => i !== at);
			return;
		}
		if (at >= 0) {
			this.items = this.items.with(at, s);
			return;
		}
		if (this.#known.has(key(s)) || this.#filter.title || (this.#filter.agent && this.#filter.agent !== s.agent)) return;
		this.#known.add(key(s));
		if (this.items.length === 0) this.items = [s];
		else this.fresh++;
	}

	// put replaces a session with what the server answered.
	put(s: Session): void {
		this.items = this.items.map((i) => (key(i) === key(s) ? s : i));
	}

	stop(): void {
		this.#abort.abort();
	}
}

export function key(s: { agent: string; id: string }): string {
	return `${s.agent}/${s.id}`;
}
