// What the frame can do, for its menus and the palette.
import { chatPath, navigate, router } from '../lib/router.svelte';
import { agents } from '../lib/state/agents.svelte';
import { me } from '../lib/state/me.svelte';
import { live, toastError } from '../lib/state/toasts.svelte';

// chooseAgent makes an agent the current one. Within the chat that begins a
// conversation with it; elsewhere the page stays.
export function chooseAgent(id: string): void {
	agents.choose(id);
	if (router.page?.name === 'chat') navigate(chatPath(id));
	else live.say(`${agents.nameOf(id)} is chosen`);
}

export function signOut(): void {
	me.signOut().catch((err: unknown) => toastError(err, 'Not signed out'));
}
