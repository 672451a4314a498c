// Markdown is a third of the chat's code, and a page that only asks what one
// wants to say doesn't need it: it comes with the first conversation.
import type { Component } from 'svelte';

interface Props {
	text: string;
	live?: boolean;
	class?: string;
}

class Lazy {
	/** View draws Markdown, once it is here. */
	View = $state.raw<Component<Props>>();
	/** failed says that it could not be loaded; the next who needs it tries again. */
	failed = $state(false);
	#loading = false;

	load(): void {
		if (this.View || this.#loading) return;
		this.#loading = true;
		import('./Markdown.svelte').then(
			(m) => {
				this.View = m.default;
				this.#loading = false;
			},
			() => {
				this.failed = true;
				this.#loading = false;
			},
		);
	}
}

export const markdown = new Lazy();
