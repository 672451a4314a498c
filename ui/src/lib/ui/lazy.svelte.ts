// What opens at a button (a menu, a popover) is code that the first page can do
// without: it comes when somebody goes near the button, and the button is the
// page's own from the start.
import type { Component } from 'svelte';
import { createAttachmentKey } from 'svelte/attachments';
import { toast } from '../state/toasts.svelte';

// part loads a part of the page. It gives undefined, calls failed and says so
// when that can't be had: the gateway is away, or has been updated since this
// window was opened.
export async function part<C>(load: () => Promise<{ default: C }>, failed?: () => void): Promise<C | undefined> {
	try {
		return (await load()).default;
	} catch (err) {
		console.warn(err);
		toast('A part of this page could not be loaded. The gateway may be away, or have been updated.', {
			kind: 'bad',
			action: { label: 'Load anew', run: () => location.reload() },
		});
		failed?.();
		return undefined;
	}
}

export class Opener<C extends Component<never>> {
	panel = $state.raw<C>();
	anchor = $state.raw<HTMLElement>();
	// keyboard tells that a key opened it, so that the first entry gets the focus.
	keyboard = $state(false);

	#load: () => Promise<{ default: C }>;
	#loading = false;

	constructor(load: () => Promise<{ default: C }>) {
		this.#load = load;
	}

	near = (): void => {
		if (this.panel || this.#loading) return;
		this.#loading = true;
		void part(this.#load).then((panel) => {
			this.panel = panel;
			this.#loading = false;
		});
	};

	// props are those of the button.
	props(id: string, popup: 'menu' | 'dialog', open: boolean, set: (open: boolean) => void): Record<string | symbol, unknown> {
		return {
			id,
			'aria-haspopup': popup,
			'aria-expanded': open,
			'data-state': open ? 'open' : 'closed',
			onpointerenter: this.near,
			onfocus: this.near,
			onclick: (e: MouseEvent) => {
				this.near();
				this.keyboard = e.detail === 0;
				set(!open);
			},
			onkeydown: (e: KeyboardEvent) => {
				if (popup !== 'menu' || open || (e.key !== 'ArrowDown' && e.key !== 'ArrowUp')) return;
				e.preventDefault();
				this.near();
				this.keyboard = true;
				set(true);
			},
			[createAttachmentKey()]: (node: HTMLElement) => {
				this.anchor = node;
				return () => (this.anchor = undefined);
			},
		};
	}

	// back gives the focus to the button when the panel that had it is gone;
	// where somebody has put it elsewhere it stays.
	back = (): void => {
		setTimeout(() => {
			const { activeElement } = document;
			if (!activeElement || activeElement === document.body) this.anchor?.focus();
		});
	};

	// outside keeps a press on the button from closing what its click closes.
	outside = (e: Event): void => {
		if (this.anchor && e.target instanceof Node && this.anchor.contains(e.target)) e.preventDefault();
	};
}
