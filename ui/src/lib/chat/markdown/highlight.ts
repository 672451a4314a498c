// Colours code. The highlighter and each language are loaded when the first code
// of that language is there; until then, and for anything else, code is plain.
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { clean } from './render';

const languages: Record<string, () => Promise<{ default: LanguageFn }>> = {
	bash: () => import('highlight.js/lib/languages/bash'),
	c: () => import('highlight.js/lib/languages/c'),
	cpp: () => import('highlight.js/lib/languages/cpp'),
	css: () => import('highlight.js/lib/languages/css'),
	diff: () => import('highlight.js/lib/languages/diff'),
	dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
	go: () => import('highlight.js/lib/languages/go'),
	ini: () => import('highlight.js/lib/languages/ini'),
	java: () => import('highlight.js/lib/languages/java'),
	javascript: () => import('highlight.js/lib/languages/javascript'),
	json: () => import('highlight.js/lib/languages/json'),
	makefile: () => import('highlight.js/lib/languages/makefile'),
	markdown: () => import('highlight.js/lib/languages/markdown'),
	python: () => import('highlight.js/lib/languages/python'),
	rust: () => import('highlight.js/lib/languages/rust'),
	sql: () => import('highlight.js/lib/languages/sql'),
	typescript: () => import('highlight.js/lib/languages/typescript'),
	xml: () => import('highlight.js/lib/languages/xml'),
	yaml: () => import('highlight.js/lib/languages/yaml'),
};

const aliases: Record<string, string> = {
	sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', h: 'c', 'c++': 'cpp', cc: 'cpp', hpp: 'cpp', scss: 'css', patch: 'diff', docker: 'dockerfile',
	golang: 'go', toml: 'ini', conf: 'ini', js: 'javascript', jsx: 'javascript', mjs: 'javascript', jsonl: 'json', jsonc: 'json', json5: 'json', make: 'makefile',
	mk: 'makefile', md: 'markdown', py: 'python', python3: 'python', rs: 'rust', postgres: 'sql', sqlite: 'sql', mysql: 'sql', ts: 'typescript', tsx: 'typescript',
	html: 'xml', svg: 'xml', svelte: 'xml', vue: 'xml', yml: 'yaml',
};

/** Characters beyond which colours cost more than they tell. */
export const longest = 60_000;

/** known is the highlighter's name of a language, undefined when it is not among those. */
export function known(lang: string): string | undefined {
	const name = aliases[lang] ?? lang;
	return Object.hasOwn(languages, name) ? name : undefined;
}

/** ofFile tells the language of a file by its name. */
export function ofFile(path: string): string {
	const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
	if (name === 'dockerfile' || name === 'makefile') return name;
	return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1) : '';
}

let core: Promise<HLJSApi> | undefined;
const loading = new Map<string, Promise<void>>();

/** highlight gives code with colours; undefined when it stays plain. */
export async function highlight(code: string, lang: string): Promise<DocumentFragment | undefined> {
	const name = known(lang);
	if (!name || code.length > longest) return undefined;
	try {
		core ??= import('highlight.js/lib/core').then((m) => m.default);
		const hljs = await core;
		let ready = loading.get(name);
		if (!ready) {
			ready = languages[name]!().then((m) => hljs.registerLanguage(name, m.default));
			loading.set(name, ready);
		}
		await ready;
		return clean(hljs.highlight(code, { language: name, ignoreIllegals: true }).value);
	} catch {
		// The gateway was updated or is away: plain code can be read too, and another try may go through.
		core = undefined;
		loading.delete(name);
		return undefined;
	}
}
