// What is shown of a call that waits for a person.
import { Exact, writeJSON } from '../../json';

/** rows are the arguments of a call, each as it is: text as text, the rest as JSON. */
export function rows(args: unknown): [name: string, value: string][] {
	if (args === null || args === undefined) return [];
	if (typeof args !== 'object' || Array.isArray(args) || args instanceof Exact) return [['', writeJSON(args, 2)]];
	return Object.entries(args).map(([name, v]) => [name, typeof v === 'string' && v !== '' && v.trim() === v ? v : writeJSON(v, 2)]);
}

/** left says how much time is left until expires, when it is now. */
export function left(expires: string | undefined, now: number): string {
	const ms = expires ? Date.parse(expires) - now : NaN;
	if (Number.isNaN(ms)) return '';
	const s = Math.max(0, Math.ceil(ms / 1000));
	return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')} left`;
}

/** answerOf reads what is written behind /approve. */
export function answerOf(word: string): 'allow_once' | 'allow_always' | 'deny' | undefined {
	switch (word.trim().toLowerCase().replaceAll('-', '_')) {
		case '':
		case 'y':
		case 'yes':
		case 'once':
		case 'allow':
		case 'ok':
		case 'allow_once':
			return 'allow_once';
		case 'a':
		case 'always':
		case 'allow_always':
			return 'allow_always';
		case 'n':
		case 'no':
		case 'deny':
			return 'deny';
	}
	return undefined;
}
