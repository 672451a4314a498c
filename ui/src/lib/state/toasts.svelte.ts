// Short messages at the edge of the page. Those of errors stay until they are
// closed, those of a gateway that did not answer until it has answered for a
// moment, others go by themselves; a pointer or the focus on them holds them.
import { aborted, ApiError, sayError } from '../api/client';

export interface Toast {
	id: number;
	kind: 'info' | 'ok' | 'bad';
	text: string;
	requestId: string;
	action?: { label: string; run: () => void };
	// life is how long it stays, in milliseconds; 0 until it is closed.
	life: number;
	// offline tells of a gateway that did not answer: it stays as long as that lasts.
	offline: boolean;
}

const short = 6000; // milliseconds that most of them stay

class Toasts {
	list = $state<Toast[]>([]);
	#next = 1;

	add(toast: Partial<Omit<Toast, 'id'>> & { text: string }): number {
		const id = this.#next++;
		const kind = toast.kind ?? 'info';
		const offline = toast.offline ?? false;
		this.list = this.list.filter((t) => t.text !== toast.text); // the same is said once
		this.list.push({ kind, requestId: '', offline, life: kind === 'bad' && !offline ? 0 : short, ...toast, id });
		if (this.list.length > 4) this.list.splice(0, this.list.length - 4);
		return id;
	}

	close(id: number): void {
		this.list = this.list.filter((t) => t.id !== id);
	}
}

export const toasts = new Toasts();

// toast shows a message: `toast('Renamed')`.
export function toast(text: string, options: Partial<Omit<Toast, 'id' | 'text'>> = {}): number {
	return toasts.add({ text, ...options });
}

// toastError shows an error with the id of its request; an abort is none.
export function toastError(err: unknown, what = ''): void {
	if (aborted(err)) return;
	const { text, requestId } = sayError(err);
	toasts.add({ kind: 'bad', text: what ? `${what}: ${text}` : text, requestId, offline: err instanceof ApiError && err.code === 'offline' });
}

class Live {
	text = $state('');
	#flip = false;

	// say tells a screen reader politely. The same words twice are said twice.
	say(text: string): void {
		this.#flip = !this.#flip;
		this.text = text + (this.#flip ? '\u00a0' : '');
	}
}

export const live = new Live();
