// Keys of the frame. Those of a single character can be turned off, and never
// count while somebody writes.
import { chatPath, navigate } from '../lib/router.svelte';
import { agents } from '../lib/state/agents.svelte';
import { frame } from '../lib/state/frame.svelte';
import { rail } from '../pages';
import { address } from './visited.svelte';

const patience = 1200; // milliseconds between the keys of a sequence

let first = '';
let since = 0;

export interface Shortcut {
	keys: string; // as Kbd shows them; a space stands between the keys of a sequence
	label: string;
	single?: boolean;
}

// list is what the overview of shortcuts shows.
export function list(): Shortcut[] {
	return [
		{ keys: 'mod+k', label: 'Find a page, agent, session, tool or action' },
		{ keys: 'g n', label: 'New chat', single: true },
		...rail.map((r) => ({ keys: r.keys, label: `Go to ${r.label}`, single: true })),
		{ keys: '[', label: 'Fold or unfold the rail', single: true },
		{ keys: '?', label: 'Show the shortcuts', single: true },
	];
}

function writes(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}

// ahead keeps what is typed while the palette opens from the page under it, and
// gives it to the palette. It listens before everybody else.
export function ahead(e: KeyboardEvent): void {
	if (!frame.palette || frame.ready) return;
	if (e.key === 'Escape') frame.palette = false;
	else if (e.key === 'Backspace') frame.ahead = frame.ahead.slice(0, -1);
	else if (e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey) frame.ahead += e.key;
	e.preventDefault();
	e.stopPropagation();
}

export function shortcuts(e: KeyboardEvent): void {
	if (e.defaultPrevented || e.isComposing) return;
	if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === 'k') {
		e.preventDefault();
		frame.ahead = '';
		frame.palette = !frame.palette;
		return;
	}
	if (!frame.keys || e.ctrlKey || e.metaKey || e.altKey || writes(e.target) || document.querySelector('[role=dialog], [role=menu]')) return;
	if (single(e.key)) e.preventDefault();
}

function single(key: string): boolean {
	const before = Date.now() - since < patience ? first : '';
	first = '';
	if (before) {
		const keys = `${before} ${key}`;
		if (keys === 'g n') {
			navigate(chatPath(agents.current?.id));
			return true;
		}
		const entry = rail.find((r) => r.keys === keys);
		if (entry) navigate(address(entry.page));
		return entry !== undefined;
	}
	switch (key) {
		case 'g':
			first = key;
			since = Date.now();
			return true;
		case '[':
			frame.fold(!frame.folded);
			return true;
		case '?':
			frame.shortcuts = true;
			return true;
	}
	return false;
}
