// A rule as the form has it: all text, lists with commas.
import type { Schemas } from '../../lib/api/client';

export interface Draft {
	name: string;
	action: string;
	when: string;
	tools: string;
	agents: string;
	match: string;
	message: string;
	priority: string;
	url: string;
	secret: string;
	timeout: string;
	to: string;
}

export const empty: Draft = { name: '', action: 'block', when: 'before', tools: '', agents: '', match: '', message: '', priority: '', url: '', secret: '', timeout: '', to: '' };

// draftOf is a rule to be changed.
export function draftOf(h: Schemas['HookRule']): Draft {
	return {
		name: h.name,
		action: h.action,
		when: h.when || 'before',
		tools: (h.tools ?? []).join(', '),
		agents: (h.agents ?? []).join(', '),
		match: h.match ?? '',
		message: h.message ?? '',
		priority: h.priority ? String(h.priority) : '',
		url: h.url ?? '',
		secret: h.secret ?? '',
		timeout: h.timeout ?? '',
		to: h.to ?? '',
	};
}

// ruleOf is what is sent: only what was written. It throws what a person has to
// mend and the server could not even be told.
export function ruleOf(d: Draft): Schemas['HookRule'] {
	const list = (s: string) => s.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
	const text = (key: 'match' | 'message' | 'url' | 'secret' | 'timeout' | 'to') => (d[key].trim() ? { [key]: d[key].trim() } : {});
	const priority = d.priority.trim() === '' ? 0 : Number(d.priority);
	if (!Number.isInteger(priority)) throw new Error(`The priority is “${d.priority}”: it must be a whole number.`);
	const tools = list(d.tools);
	const agents = list(d.agents);
	return {
		name: d.name.trim(),
		action: d.action,
		when: d.when,
		...(tools.length ? { tools } : {}),
		...(agents.length ? { agents } : {}),
		...text('match'),
		...text('message'),
		...text('to'),
		...(d.action === 'webhook' ? { ...text('url'), ...text('secret'), ...text('timeout') } : {}),
		...(priority ? { priority } : {}),
	};
}
