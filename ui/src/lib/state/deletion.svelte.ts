// Deleting sessions with a way back: a deleted session goes from sight at
// once, and from the gateway when the message that offers Undo has gone. A page
// that is left does what was decided.
import { SvelteMap } from 'svelte/reactivity';
import { api, ApiError, url, type Schemas } from '../api/client';
import { confirm } from '../ui/confirm.svelte';
import { plural } from '../format';
import { visible } from '../visible';
import { toast, toastError } from './toasts.svelte';

type Session = Pick<Schemas['Session'], 'agent' | 'id' | 'title' | 'turns' | 'running' | 'queued'>;

const grace = 6000; // milliseconds to undo

// pending are the timers of what waits to be deleted; those deleted stay, with
// 0, so that a late answer does not show them again.
const pending = new SvelteMap<string, ReturnType<typeof setTimeout> | 0>();

function key(agent: string, id: string): string {
	return `${agent}/${id}`;
}

// gone tells that a session is deleted, or is about to be.
export function gone(agent: string, id: string): boolean {
	return pending.has(key(agent, id));
}

// askDelete asks, naming the session. deleted is called when it goes from
// sight, restored when it comes back.
export function askDelete(session: Session, { deleted, restored }: { deleted?: () => void; restored?: () => void } = {}): void {
	const name = visible(session.title || session.id);
	const busy = session.running || session.queued;
	confirm({
		title: `Delete “${name}”?`,
		text: `Its ${plural(session.turns, 'turn')} and everything kept with them will be deleted. Files in the agent’s workspace stay.${busy ? ' The answer that is being written is stopped.' : ''}`,
		action: 'Delete',
		danger: true,
		run: async () => {
			// The gateway deletes no session that is at work.
			if (busy) await api.post('/api/sessions/{agent}/{id}/stop', { path: { agent: session.agent, id: session.id } });
			begin(session, name, restored);
			deleted?.();
		},
	});
}

function begin(session: Session, name: string, restored?: () => void): void {
	const k = key(session.agent, session.id);
	pending.set(k, setTimeout(() => void send(session, name, restored), grace));
	toast(`“${name}” is deleted.`, {
		life: grace - 200,
		action: {
			label: 'Undo',
			run: () => {
				const timer = pending.get(k);
				if (!timer) {
					toast(`“${name}” could not be brought back: it was deleted already.`, { kind: 'bad' });
					return;
				}
				clearTimeout(timer);
				pending.delete(k);
				restored?.();
			},
		},
	});
}

async function send(session: Session, name: string, restored?: () => void): Promise<void> {
	const k = key(session.agent, session.id);
	pending.set(k, 0);
	try {
		await api.del('/api/sessions/{agent}/{id}', { path: { agent: session.agent, id: session.id } });
	} catch (err) {
		if (err instanceof ApiError && err.missing) return; // somebody else has deleted it
		pending.delete(k);
		restored?.();
		toastError(err, `“${name}” was not deleted`);
	}
}

// A page that goes away can't wait for answers.
window.addEventListener('pagehide', () => {
	for (const [k, timer] of pending) {
		if (!timer) continue;
		clearTimeout(timer);
		pending.set(k, 0);
		const slash = k.indexOf('/');
		void fetch(url('/api/sessions/{agent}/{id}', { agent: k.slice(0, slash), id: k.slice(slash + 1) }), { method: 'DELETE', keepalive: true });
	}
});
