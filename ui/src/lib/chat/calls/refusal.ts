// Who decided a refusal, and who can change that.
import type { Refusal } from '../types';

export interface Decider {
	/** by says who decided; empty when it is the place that the refusal names. */
	by: string;
	who: string;
}

/** deciderOf tells it to a person, who may be an admin. */
export function deciderOf(r: Refusal, admin: boolean): Decider {
	const changes = admin ? 'you, as an admin' : 'an admin of this gateway';
	if (r.where && (r.where.key || r.where.file || r.where.env)) return { by: '', who: `${changes}: by that setting` };
	if (notOffered(r)) return { by: 'by what this request was offered; the states below say why', who: `${changes}, when a setting took the tool away` };
	if (r.guard) return { by: `by the ${r.guard} guard itself, no setting`, who: 'nobody by a setting; do what is allowed instead' };
	return { by: `by the step ${r.step || 'that refused it'}, no setting`, who: 'nobody by a setting; do what is allowed instead' };
}

/** notOffered says that the tool was not among those of the request. */
export function notOffered(r: Refusal): boolean {
	return r.rule === 'not_offered' || r.step === 'offered';
}
