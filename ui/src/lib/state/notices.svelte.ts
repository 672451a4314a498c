// What rules told admins since the gateway started, and how much of it this browser has not marked as read.
import { api, type Schemas } from '../api/client';
import { recall, remember } from '../storage';

const seenName = 'notices-seen';

class Notices {
	list = $state.raw<Schemas['RuleNotice'][]>([]); // the latest first
	loaded = $state(false);
	// error is why the last question had no answer; undefined when it had.
	error = $state.raw<unknown>();
	#seen = $state(Number(recall(seenName) ?? 0)); // milliseconds
	#asking = false;

	// unread counts what came since somebody here marked all as read.
	readonly unread = $derived(this.list.filter((n) => this.isUnread(n)).length);

	isUnread(n: Schemas['RuleNotice']): boolean {
		return Date.parse(n.time) > this.#seen;
	}

	// load asks anew, unless it does already.
	async load(): Promise<void> {
		if (this.#asking) return;
		this.#asking = true;
		try {
			this.list = (await api.get('/api/notices')).notices;
			this.loaded = true;
			this.error = undefined;
		} catch (err) {
			this.error = err;
		}
		this.#asking = false;
	}

	// read marks all that is listed as read, in this browser.
	read(): void {
		const latest = this.list[0];
		if (!latest) return;
		this.#seen = Date.parse(latest.time);
		remember(seenName, String(this.#seen));
	}
}

export const notices = new Notices();
