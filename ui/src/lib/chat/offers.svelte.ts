// The files that are offered while a person names one. The gateway is asked with
// each letter; until it answers, what was offered before stays as far as it fits.
import { aborted, api, ApiError } from '../api/client';
import { count, plural } from '../format';
import { live } from '../state/toasts.svelte';
import { fits, type Mention } from './mention';
import type { WorkspaceFile } from './types';

const most = 8; // files that are offered: more are read by nobody, who rather writes on

export class Offers {
	list = $state.raw<readonly WorkspaceFile[]>([]);
	choice = $state(0);
	/** note says that there is more; empty when that is all. */
	note = $state('');
	mention = $state.raw<Mention>();
	#closed: Mention | undefined; // by Escape: until it ends, or less is written of it
	#abort = new AbortController();
	#asking: Promise<void> | undefined;
	#refused = ''; // the agent whose files can't be listed

	/** follow offers what a mention may mean; undefined ends that. */
	follow(agent: string, session: string | undefined, m: Mention | undefined): void {
		if (m?.from !== this.#closed?.from || !m?.query.startsWith(this.#closed?.query ?? '')) this.#closed = undefined;
		if (!m || this.#closed || agent === this.#refused) {
			this.#end();
			return;
		}
		if (this.mention?.from === m.from && this.mention.query === m.query) {
			this.mention = m;
			return;
		}
		const within = folderOf(m.query) === folderOf(this.mention?.query ?? '');
		this.mention = m;
		this.choice = 0;
		// Of a folder that is gone into only itself is known.
		this.list = this.list.filter((f) => (within ? fits(m.query, f.path) : f.folder && `${f.path}/` === m.query));
		this.#abort.abort();
		const abort = (this.#abort = new AbortController());
		this.#asking = this.#ask(agent, session, m, abort.signal).finally(() => {
			if (abort === this.#abort) this.#asking = undefined;
		});
	}

	async #ask(agent: string, session: string | undefined, m: Mention, signal: AbortSignal): Promise<void> {
		try {
			const found = await api.get('/api/files', { query: { agent, session, q: m.query, limit: String(most) }, signal });
			const chosen = this.choice > 0 ? this.list[this.choice]?.path : undefined;
			this.list = found.files;
			this.choice = Math.max(0, found.files.findIndex((f) => f.path === chosen));
			this.note = noteOf(found.left_out ?? 0, found.partial ?? false);
			if (this.list.length > 0) live.say(`${plural(this.list.length, 'file')}. ${this.#name()}`);
		} catch (err) {
			if (aborted(err)) return;
			// Where nothing is known, @ is a letter as any other; that the gateway is away is told by the page.
			if (err instanceof ApiError && err.status === 403) this.#refused = agent;
			this.#end();
		}
	}

	/** asked waits for the answer that is on its way, if any is. */
	get asked(): Promise<void> | undefined {
		return this.#asking;
	}

	move(by: 1 | -1): void {
		this.choice = (this.choice + by + this.list.length) % this.list.length;
		live.say(this.#name());
	}

	#name(): string {
		const f = this.list[this.choice];
		return f ? `${f.path}${f.folder ? '/' : ''}` : '';
	}

	/** close offers nothing more for this mention. */
	close(): void {
		this.#closed = this.mention;
		this.#end();
	}

	#end(): void {
		this.#abort.abort();
		this.#asking = undefined;
		this.mention = undefined;
		this.list = [];
		this.note = '';
	}
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1);

function noteOf(left: number, partial: boolean): string {
	if (partial) return 'Not everything was looked at: name a folder first, as in src/';
	return left > 0 ? `${count(left)} more: write more of the name` : '';
}
