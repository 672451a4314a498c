// Turns Markdown that a model or a tool wrote into a fragment of the document.
// Nothing in it is trusted: there is no raw HTML, no address but of the web and
// of mail, and what is made still passes a sanitizer that knows only what this
// file makes.
import DOMPurify from 'dompurify';
import { Marked, type TokenizerExtension, type Tokens } from 'marked';
import { visible } from '../visible';

/** Links are the reference definitions of a text, by their label. */
export type Links = Record<string, { href: string; title: string | null | undefined }>;

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escape(s: string): string {
	return s.replace(/[&<>"']/g, (c) => escapes[c]!);
}

/** Place says where an address leads. */
type Place = { kind: 'inside' | 'outside' | 'mail'; href: string; host: string } | undefined;

/** placeOf reads an address; undefined when it is none that may be followed. */
export function placeOf(href: string, origin: string): Place {
	const clean = href.trim();
	if (!/^(https?:\/\/|mailto:|\/(?![/\\]))/i.test(clean)) return undefined; // also what is relative: it means a file, not a page
	let u: URL;
	try {
		u = new URL(clean, origin);
	} catch {
		return undefined;
	}
	if (u.protocol === 'mailto:') return { kind: 'mail', href: u.href, host: '' };
	if (u.protocol !== 'http:' && u.protocol !== 'https:') return undefined;
	if (u.origin === origin) return { kind: 'inside', href: u.pathname + u.search + u.hash, host: u.host };
	return { kind: 'outside', href: u.href, host: u.host };
}

const outside = 'target="_blank" rel="noopener noreferrer nofollow"';

/** saysHost tells whether the words of a link are the address itself. */
function saysHost(text: string, href: string): boolean {
	const bare = (s: string) => s.trim().replace(/\/$/, '').toLowerCase();
	const words = bare(text);
	return words === bare(href) || words === bare(href.replace(/^https?:\/\//i, '')) || words === bare(href.replace(/^https?:\/\/(www\.)?/i, ''));
}

function link(words: string, plain: string, href: string, title?: string | null): string {
	const p = placeOf(href, location.origin);
	const tip = title ? ` title="${escape(title)}"` : '';
	if (!p) return `<span class="nolink" title="${escape(href)}">${words}</span>`;
	if (p.kind === 'outside') {
		const host = saysHost(plain, p.href) ? '' : `<span class="host">${escape(p.host)}</span>`;
		return `<a href="${escape(p.href)}" ${outside}${tip}>${words}${host}</a>`;
	}
	return `<a href="${escape(p.href)}"${tip}>${words}</a>`;
}

const picture = /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=\s]+$/i;

function image(href: string, alt: string): string {
	if (picture.test(href)) return `<img src="${escape(href)}" alt="${escape(alt)}">`;
	const p = placeOf(href, location.origin);
	const what = escape(alt || 'image');
	if (p?.kind !== 'outside' && p?.kind !== 'inside') return `<span class="nolink" title="${escape(href.slice(0, 200))}">${what}</span>`;
	return `<a class="blocked" href="${escape(p.href)}" ${outside} title="Not loaded, so that ${escape(p.host)} does not learn that you read this. Opens in a new tab."><span class="blocked-what">Image: ${what}</span><span class="host">${escape(p.host)}</span></a>`;
}

/** Formulas are left as they were written: their stars and underscores are no emphasis. */
const inlineMath: TokenizerExtension = {
	name: 'math',
	level: 'inline',
	start: (src) => {
		const i = src.search(/\$|\\[([]/);
		return i < 0 ? undefined : i;
	},
	tokenizer(src) {
		const m =
			/^\$\$[^$]+?\$\$/.exec(src) ??
			/^\\\((?:[^\\\n]|\\(?!\)))+?\\\)/.exec(src) ??
			/^\\\[(?:[^\\]|\\(?!\]))+?\\\]/.exec(src) ??
			/^\$(?![\s$])(?:[^$\n\\`]|\\.)*?[^\s$\\`]\$(?![\d$])/.exec(src) ??
			/^\$(?![\s$])[^\s$\\`]\$(?![\d$])/.exec(src);
		return m ? { type: 'math', raw: m[0] } : undefined;
	},
};

/** A formula on lines of its own ends with its mark or, as any paragraph, with a blank line. */
const blockMath: TokenizerExtension = {
	name: 'mathblock',
	level: 'block',
	// It is asked at every paragraph, and only what is in this one matters.
	start: (src) => {
		const end = src.search(/\n[ \t]*\n/);
		const i = (end < 0 ? src : src.slice(0, end)).search(/^ {0,3}(?:\$\$|\\\[)[ \t]*$/m);
		return i < 0 ? undefined : i;
	},
	tokenizer(src) {
		const open = /^ {0,3}(\$\$|\\\[)[ \t]*(?:\n|$)/.exec(src);
		if (!open) return undefined;
		const close = open[1] === '$$' ? '$$' : '\\]';
		let at = open[0].length;
		while (at < src.length) {
			const end = src.indexOf('\n', at);
			const line = src.slice(at, end < 0 ? src.length : end);
			if (line.trim() === '') break;
			at = end < 0 ? src.length : end + 1;
			if (line.trimEnd().endsWith(close)) break;
		}
		return { type: 'mathblock', raw: src.slice(0, at) };
	},
};

const md = new Marked({
	gfm: true,
	breaks: true, // models end lines where they mean it
	async: false,
	tokenizer: {
		// HTML is text like any other, with Markdown in it; a line break is meant.
		html: () => undefined,
		tag(src) {
			const m = /^<br\s*\/?>/i.exec(src);
			return m ? { type: 'html', raw: m[0], text: m[0], block: false, inLink: false, inRawBlock: false } : undefined;
		},
	},
	renderer: {
		html: ({ raw }) => (/^<br\s*\/?>$/i.test(raw) ? '<br>' : escape(raw)),
		code({ text, lang }) {
			return codeBox(text, lang);
		},
		heading({ tokens, depth }) {
			// The page has its own headings above those of an answer.
			const level = Math.min(6, depth + 2);
			return `<h${level} class="h${depth}">${this.parser.parseInline(tokens)}</h${level}>\n`;
		},
		table(t) {
			const cell = (c: Tokens.TableCell, tag: string) => `<${tag}${c.align ? ` class="${c.align}"` : ''}>${this.parser.parseInline(c.tokens)}</${tag}>`;
			const head = t.header.map((c) => cell(c, 'th')).join('');
			const rows = t.rows.map((r) => `<tr>${r.map((c) => cell(c, 'td')).join('')}</tr>`).join('');
			return `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>\n`;
		},
		checkbox: ({ checked }) => `<span class="task${checked ? ' done' : ''}" role="img" aria-label="${checked ? 'done' : 'open'}"></span> `,
		link({ href, title, text, tokens }) {
			return link(this.parser.parseInline(tokens), text, href, title);
		},
		image: ({ href, text }) => image(href, text),
	},
	extensions: [
		{ ...inlineMath, renderer: (t) => `<span class="math">${escape(t.raw)}</span>` },
		{ ...blockMath, renderer: (t) => `<p class="math">${escape(t.raw.trim())}</p>\n` },
	],
});

/** rightToLeft says whether the first letter of a text is of a script that runs so: all of its block does then. */
export function rightToLeft(text: string): boolean {
	return /^(?:\[x\]|\P{L})*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(text);
}

/** codeBox is a block of code with its language and a button that copies it. */
export function codeBox(text: string, lang: string | undefined): string {
	const name = languageOf(lang);
	return (
		`<div class="codebox"><div class="codebar"><span>${escape(name || 'text')}</span><button type="button" class="copy">Copy</button></div>` +
		`<pre tabindex="0"><code${name ? ` class="language-${escape(name)}"` : ''}>${escape(text)}</code></pre></div>\n`
	);
}

/** languageOf is the language that a fence names, in a form that is safe as a class. */
export function languageOf(info: string | undefined): string {
	return /^[\w+#.-]{1,30}/.exec(info?.trim() ?? '')?.[0].toLowerCase() ?? '';
}

/** lexer reads blocks only; what is in them is read when they are rendered. */
export function blockTokens(src: string) {
	const lexer = new md.Lexer(md.defaults);
	return lexer.blockTokens(src, lexer.tokens);
}

/** html renders one or more blocks; links are the definitions of the whole text. */
export function html(src: string, links: Links = {}): string {
	const lexer = new md.Lexer(md.defaults);
	Object.assign(lexer.tokens.links, links);
	const tokens = lexer.lex(visible(src));
	return md.parser(tokens);
}

const config = {
	ALLOWED_TAGS: [
		'a', 'blockquote', 'br', 'button', 'code', 'del', 'div', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'img', 'li', 'ol', 'p', 'pre',
		'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
	],
	ALLOWED_ATTR: ['alt', 'aria-label', 'class', 'href', 'rel', 'role', 'src', 'start', 'tabindex', 'target', 'title', 'type'],
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
	// The values of all other attributes would be held to be addresses.
	ADD_URI_SAFE_ATTR: ['aria-label', 'rel', 'role', 'start', 'tabindex', 'target', 'type'],
	ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:|\/(?![/\\]))/i,
	RETURN_DOM_FRAGMENT: true as const,
};

/** fragment renders Markdown for the document. */
export function fragment(src: string, links: Links = {}): DocumentFragment {
	return clean(html(src, links));
}

/** clean makes a fragment of HTML that may hold only what Markdown makes. */
export function clean(markup: string): DocumentFragment {
	return DOMPurify.sanitize(markup, config);
}
