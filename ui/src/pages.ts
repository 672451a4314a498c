// The pages. A page has one line here and one in the rail, if it stands there;
// the first one is where / leads to.
import CircleQuestionMark from '@lucide/svelte/icons/circle-question-mark';
import History from '@lucide/svelte/icons/history';
import MessageSquare from '@lucide/svelte/icons/message-square';
import Webhook from '@lucide/svelte/icons/webhook';
import Wrench from '@lucide/svelte/icons/wrench';
import type { Component } from 'svelte';
import type { Page } from './lib/router.svelte';

export const pages: Page[] = [
	{ name: 'chat', path: '/chat/:agent?/:session?', title: 'Chat', load: () => import('./pages/chat/Chat.svelte') },
	// /tools/… is an interface: POST /tools/invoke.
	{ name: 'tools', path: '/tool/:name?', title: 'Tools', load: () => import('./pages/tools/Tools.svelte') },
	// /hooks/… is an interface: webhooks come in there.
	{ name: 'hooks', path: '/hook/:name?', title: 'Hooks', load: () => import('./pages/hooks/Hooks.svelte') },
	{ name: 'approvals', path: '/approval', title: 'Approvals', load: () => import('./pages/approvals/Approvals.svelte') },
	{ name: 'sessions', path: '/sessions', title: 'Sessions', load: () => import('./pages/sessions/Sessions.svelte') },
];

export interface RailEntry {
	page: string;
	label: string;
	icon: Component<{ size?: number }>;
	// keys go there: "g c" is g, then c.
	keys: string;
	admin?: boolean;
}

export const rail: RailEntry[] = [
	{ page: 'chat', label: 'Chat', icon: MessageSquare, keys: 'g c' },
	{ page: 'tools', label: 'Tools', icon: Wrench, keys: 'g t' },
	{ page: 'sessions', label: 'Sessions', icon: History, keys: 'g s' },
	{ page: 'approvals', label: 'Approvals', icon: CircleQuestionMark, keys: 'g a' },
	{ page: 'hooks', label: 'Hooks', icon: Webhook, keys: 'g h', admin: true },
];
