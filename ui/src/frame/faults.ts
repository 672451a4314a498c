import { aborted } from '../lib/api/client';
import { toastError } from '../lib/state/toasts.svelte';

// fault shows what nobody caught. The browser's note that a layout took two
// passes is no fault.
export function fault(err: unknown): void {
	if (aborted(err) || (typeof err === 'string' && err.startsWith('ResizeObserver'))) return;
	toastError(err);
}
