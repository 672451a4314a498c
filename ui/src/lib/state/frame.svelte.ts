// What pages tell the frame: their title, what stands beside it, and what the
// palette can do on them.
import { untrack, type Component, type Snippet } from 'svelte';
import { recall, remember } from '../storage';

export interface Action {
	label: string;
	// words find the action too, though they are not shown.
	words?: string;
	hint?: string;
	icon?: Component<{ size?: number }>;
	keys?: string;
	// An action has an address to go to, or something to run.
	href?: string;
	run?: () => void;
}

interface Head {
	title: string;
	beside?: Snippet | undefined;
}

class Frame {
	head = $state.raw<Head>({ title: '' });
	// folded is the rail as icons only.
	folded = $state(recall('rail') === 'folded');
	drawer = $state(false);
	palette = $state(false);
	// ready says that the palette takes keys itself; ahead is what was typed before it did.
	ready = false;
	ahead = '';
	shortcuts = $state(false);
	// keys says that shortcuts of a single character are on.
	keys = $state(recall('keys') !== 'off');
	#providers = $state.raw<(() => Action[])[]>([]);

	// actions are those of the page that is shown.
	get actions(): Action[] {
		return this.#providers.flatMap((p) => p());
	}

	// provide adds a page's actions to the palette until the returned function is
	// called; call it in an $effect.
	provide(actions: () => Action[]): () => unknown {
		// The effect that calls this must not run again because of it.
		untrack(() => (this.#providers = [...this.#providers, actions]));
		return () => untrack(() => (this.#providers = this.#providers.filter((p) => p !== actions)));
	}

	fold(is: boolean): void {
		this.folded = is;
		remember('rail', is ? 'folded' : undefined);
	}

	useKeys(is: boolean): void {
		this.keys = is;
		remember('keys', is ? undefined : 'off');
	}
}

export const frame = new Frame();
