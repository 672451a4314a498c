// How the gateway is, asked now and then while somebody looks.
import { aborted, api, ApiError, type Schemas } from '../api/client';
import { connection } from './connection.svelte';

export type Level = 'ok' | 'warn' | 'bad' | 'unknown';

const every = 15_000; // milliseconds
const everyLost = 2_000; // while there is no answer, here or to another request

class Status {
	value = $state.raw<Schemas['Status']>();
	// error is why the last question had no answer; undefined when it had.
	error = $state.raw<ApiError>();

	get level(): Level {
		if (this.error || connection.gone) return 'bad';
		const s = this.value;
		if (!s) return 'unknown';
		if (!s.ready) return 'bad';
		if (s.problems.length > 0 || s.providers.some((p) => p.cooling_until)) return 'warn';
		return 'ok';
	}

	get word(): string {
		if (connection.gone || this.error?.code === 'offline') return 'Not reachable';
		if (this.error) return 'In trouble';
		const s = this.value;
		if (!s) return 'Asking';
		if (!s.ready) return 'Not ready';
		if (s.providers.some((p) => p.cooling_until)) return 'Provider pausing';
		if (s.problems.length > 0) return 'Needs attention';
		return 'Ready';
	}

	async load(signal?: AbortSignal): Promise<void> {
		try {
			this.value = await api.get('/api/status', { signal });
			this.error = undefined;
		} catch (err) {
			if (aborted(err)) return;
			if (!(err instanceof ApiError)) throw err;
			this.error = err;
		}
	}

	// start asks until the returned function is called, and not while the page is hidden.
	start(): () => void {
		const abort = new AbortController();
		let timer: ReturnType<typeof setTimeout> | undefined;
		let asking = false;
		const ask = async () => {
			clearTimeout(timer);
			if (asking) return;
			asking = true;
			await this.load(abort.signal);
			asking = false;
			if (!abort.signal.aborted && !document.hidden) timer = setTimeout(() => void ask(), this.error || connection.down ? everyLost : every);
		};
		const watch = $effect.root(() => {
			$effect(() => {
				if (!connection.down || asking || document.hidden) return;
				clearTimeout(timer);
				timer = setTimeout(() => void ask(), everyLost);
			});
		});
		const seen = () => {
			if (document.hidden) clearTimeout(timer);
			else void ask();
		};
		document.addEventListener('visibilitychange', seen);
		window.addEventListener('online', seen);
		seen();
		return () => {
			abort.abort();
			watch();
			clearTimeout(timer);
			document.removeEventListener('visibilitychange', seen);
			window.removeEventListener('online', seen);
		};
	}
}

export const status = new Status();
