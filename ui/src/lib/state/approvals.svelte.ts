// What waits for an answer of this person, or for an admin's.
import { api, type Schemas } from '../api/client';

class Approvals {
	open = $state.raw<Schemas['Approval'][]>([]);
	loaded = $state(false);
	// error is why the last question had no answer; undefined when it had.
	error = $state.raw<unknown>();
	#asking = false;

	// load asks anew, unless it does already.
	async load(): Promise<void> {
		if (this.#asking) return;
		this.#asking = true;
		try {
			this.open = (await api.get('/api/approvals', { query: { status: 'open', limit: 200 } })).approvals;
			this.loaded = true;
			this.error = undefined;
		} catch (err) {
			this.error = err;
		}
		this.#asking = false;
	}
}

export const approvals = new Approvals();
