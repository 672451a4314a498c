// The agents that can be talked to, and the one that is chosen.
import { api, type Schemas } from '../api/client';
import { recall, remember } from '../storage';

export type Agent = Schemas['Agent'];

class Agents {
	list = $state.raw<Agent[]>([]);
	loaded = $state(false);
	#chosen = $state(recall('agent') ?? '');

	// current is the chosen agent while there is one of that name, else the default.
	get current(): Agent | undefined {
		return this.byId(this.#chosen) ?? this.list.find((a) => a.default) ?? this.list[0];
	}

	byId(id: string): Agent | undefined {
		return this.list.find((a) => a.id === id);
	}

	// nameOf gives the id of an agent that is no longer there.
	nameOf(id: string): string {
		return this.byId(id)?.name || id;
	}

	choose(id: string): void {
		if (id === this.#chosen) return;
		this.#chosen = id;
		remember('agent', id);
	}

	async load(signal?: AbortSignal): Promise<void> {
		this.list = (await api.get('/api/agents', { signal })).agents;
		this.loaded = true;
	}
}

export const agents = new Agents();
