import type { State } from './call';

/** tones are the colours of states. */
export const tones: Record<State, string> = {
	running: 'text-accent',
	asked: 'text-warn',
	ok: 'text-ok',
	error: 'text-bad',
	refused: 'text-warn',
	invalid: 'text-warn',
	timeout: 'text-warn',
	cancelled: 'text-muted',
	panic: 'text-bad',
	interrupted: 'text-warn',
	handed: 'text-accent',
};
