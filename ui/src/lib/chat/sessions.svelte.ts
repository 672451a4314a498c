// The sessions of one agent as the chat lists them: the last updated first, kept
// up by the stream of changes.
import { aborted, api } from '../api/client';
import type { Session, SessionChanged } from './types';

const page = 40; // sessions asked for at once
const most = 200;

export class AgentSessions {
	readonly agent: string;
	items = $state.raw<Session[]>([]);
	next = $state('');
	loading = $state(true);
	more = $state(false);
	error = $state.raw<unknown>();
	words = $state('');
	#abort = new AbortController();
	#told: SessionChanged[] = []; // by the stream while an answer, which may be of before, was under way
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(agent: string) {
		this.agent = agent;
	}

	/** load asks anew; the list that is there stays until the answer comes. */
	async load(): Promise<void> {
		clearTimeout(this.#timer);
		this.#abort.abort();
		const abort = (this.#abort = new AbortController());
		this.loading = true;
		this.#told = [];
		// As many as are there, so that nothing goes from under a reader's eyes.
		const limit = Math.min(most, Math.max(page, this.items.length));
		try {
			const answer = await api.get('/api/sessions', { query: { agent: this.agent, title: this.words.trim(), limit }, signal: abort.signal });
			this.items = answer.sessions;
			this.next = answer.next ?? '';
			this.error = undefined;
		} catch (err) {
			if (aborted(err)) return;
			this.error = err;
		}
		this.loading = false;
		for (const s of this.#told.splice(0)) this.change(s);
	}

	/** filter looks for words of a title, after a moment of rest. */
	filter(words: string): void {
		this.words = words;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.load(), 200);
	}

	async further(): Promise<void> {
		if (!this.next || this.more || this.loading) return;
		const abort = this.#abort;
		this.more = true;
		try {
			const answer = await api.get('/api/sessions', { query: { agent: this.agent, title: this.words.trim(), limit: page, after: this.next }, signal: abort.signal });
			const known = new Set(this.items.map((s) => s.id));
			this.items = [...this.items, ...answer.sessions.filter((s) => !known.has(s.id))];
			this.next = answer.next ?? '';
			this.error = undefined;
		} catch (err) {
			if (!aborted(err)) this.error = err;
		}
		this.more = false;
	}

	/** change takes in what the stream tells of a session. One that was worked on moves to the front. */
	change(s: SessionChanged): void {
		if (s.agent !== this.agent) return;
		if (this.loading) this.#told.push(s);
		const at = this.items.findIndex((i) => i.id === s.id);
		if (s.deleted) {
			if (at >= 0) this.items = this.items.filter((i) => i.id !== s.id);
			return;
		}
		if (at < 0 && this.words.trim()) return;
		if (at >= 0 && this.items[at]!.updated === s.updated) {
			this.items = this.items.with(at, s);
			return;
		}
		this.items = [s, ...this.items.filter((i) => i.id !== s.id)].sort((a, b) => b.updated.localeCompare(a.updated));
	}

	put(s: Session): void {
		this.items = this.items.map((i) => (i.id === s.id ? s : i));
	}

	stop(): void {
		clearTimeout(this.#timer);
		this.#abort.abort();
	}
}
