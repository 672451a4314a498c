import { describe, expect, it } from 'vitest';
import { clean, fragment, html, languageOf, placeOf, rightToLeft } from './render';

function draw(src: string): HTMLElement {
	const div = document.createElement('div');
	div.append(fragment(src));
	return div;
}

const attacks = [
	'<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '<svg><script>alert(1)</script></svg>',
	'<iframe src="https://evil.example"></iframe>', '<iframe srcdoc="<script>alert(1)</script>">', '<object data="x"></object><embed src="x">',
	'<a href="javascript:alert(1)">x</a>', '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](java\nscript:alert(1))', '[x](&#106;avascript:alert(1))',
	'[x](\u0001javascript:alert(1))', '[x](<javascript:alert(1)>)', '[x]( javascript:alert(1) )', '[x](vbscript:msgbox)', '[x](data:text/html,<script>alert(1)</script>)',
	'[x](data:text/html;base64,PHNjcmlwdD4=)', '[x](blob:https://a/b)', '[x](file:///etc/passwd)', '[x](//evil.example/path)', '[x](/\\evil.example)',
	'<javascript:alert(1)>', '![x](javascript:alert(1))', '![x](data:image/svg+xml;base64,PHN2Zz4=)', '![x](data:text/html,x)', '![x](x" onerror="alert(1))',
	'![x](https://t.example/p.png "t\\" onload=\\"alert(1)")', '[x](https://e.example "t\\" onclick=\\"alert(1)")', '[x](https://e.example/"onclick="alert(1))',
	'```"><img src=x onerror=alert(1)>\ncode\n```', '```html\n</code></pre><script>alert(1)</script>\n```', '`<img src=x onerror=alert(1)>`',
	'<style>*{display:none}</style>', '<form action="https://evil.example"><input name="q"></form>', '<base href="https://evil.example">', '<meta http-equiv="refresh" content="0;url=https://e.example">',
	'<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>', '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
	'| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <script>1</script> | [x](javascript:1) |', '- [ ] <input autofocus onfocus=alert(1)>',
	'[x]: javascript:alert(1)\n\n[x]', '<a id="location" name="location">x</a>', '$<img src=x onerror=alert(1)>$', '$$\n<script>alert(1)</script>\n$$', '\\(<svg onload=alert(1)>\\)',
	'<br onclick=alert(1)>', '<br/><br>', '&lt;script&gt;alert(1)&lt;/script&gt;', '<details open ontoggle=alert(1)>', '<x-foo is="y">', '# <b onmouseover=alert(1)>h</b>',
];

describe('what a model writes', () => {
	it.each(attacks)('runs nothing and loads nothing: %s', (src) => {
		const el = draw(src);
		for (const node of el.querySelectorAll('*')) {
			expect(['script', 'style', 'iframe', 'object', 'embed', 'svg', 'math', 'form', 'input', 'base', 'meta', 'link', 'video', 'audio', 'details', 'template']).not.toContain(node.localName);
			expect(node.localName).not.toContain('-');
			for (const a of node.attributes) {
				expect(a.name).not.toMatch(/^on/);
				expect(['style', 'id', 'name', 'srcset', 'srcdoc', 'is', 'action', 'formaction']).not.toContain(a.name);
			}
		}
		for (const a of el.querySelectorAll('a')) expect(a.getAttribute('href')).toMatch(/^(https?:\/\/|mailto:|\/[^/\\])/);
		for (const i of el.querySelectorAll('img')) expect(i.getAttribute('src')).toMatch(/^data:image\/(png|jpeg|gif|webp);base64,/);
	});

	it('shows HTML as it was written', () => {
		expect(draw('a <b>bold</b> tag').textContent).toBe('a <b>bold</b> tag\n');
		expect(draw('<details>\n**inside**\n</details>').querySelector('strong')?.textContent).toBe('inside');
		expect(draw('one<br>two').querySelectorAll('br')).toHaveLength(1);
	});

	it('does not pass what Markdown never makes, even when the HTML is made elsewhere', () => {
		const div = document.createElement('div');
		div.append(clean('<img src=x onerror=alert(1)><a href="javascript:1" id=a name=b style="x" data-x=1 onclick=1>t</a><svg/onload=1>'));
		expect(div.innerHTML).toBe('<img><a>t</a>');
	});
});

it.each([
	['שלום', true], ['1. **مرحبا** world', true], ['- [x] ✅ שלום', true], ['$5 ܫܠܡܐ', true],
	['hello שלום', false], ['`code` שלום', false], ['123 …', false], ['', false], ['日本 שלום', false],
])('%s runs from right to left: %s', (text, is) => expect(rightToLeft(text)).toBe(is));

describe('links', () => {
	const link = (src: string) => draw(src).querySelector('a');

	it('say the host and open elsewhere', () => {
		const a = link('[the docs](https://docs.example.org/x)')!;
		expect(a.querySelector('.host')?.textContent).toBe('docs.example.org');
		expect(a.target).toBe('_blank');
		expect(a.rel).toContain('noopener');
		expect(a.rel).toContain('noreferrer');
	});

	it('say the true host when the words name another', () => {
		expect(link('[https://bank.example](https://evil.example/bank.example)')!.querySelector('.host')?.textContent).toBe('evil.example');
		expect(link('[https://bank.example](https://bank.example@evil.example)')!.querySelector('.host')?.textContent).toBe('evil.example');
		expect(link('[аpple.com](https://аpple.com/)')!.querySelector('.host')?.textContent).toMatch(/^xn--/);
	});

	it('say nothing twice', () => {
		expect(link('https://docs.example.org/x')!.querySelector('.host')).toBeNull();
		expect(link('[docs.example.org](https://docs.example.org/)')!.querySelector('.host')).toBeNull();
	});

	it('stay inside for pages of this gateway', () => {
		expect(link('[other](/chat/main/abc)')!.target).toBe('');
		expect(link(`[other](${location.origin}/chat/main/abc)`)!.getAttribute('href')).toBe('/chat/main/abc');
	});

	it('are words when they lead to a file or nowhere', () => {
		for (const src of ['[x](src/main.go)', '[x](#part)', '[x](javascript:1)', '[x](https://)', '[x](mailto)']) {
			expect(link(src)).toBeNull();
			expect(draw(src).querySelector('.nolink')?.textContent).toBe('x');
		}
	});

	it('know what may be followed', () => {
		expect(placeOf('mailto:a@b.example', 'http://h')).toMatchObject({ kind: 'mail' });
		expect(placeOf('HTTPS://E.example/A', 'http://h')).toMatchObject({ kind: 'outside', host: 'e.example' });
		expect(placeOf('ftp://e.example', 'http://h')).toBeUndefined();
	});
});

describe('images', () => {
	it('from elsewhere are not loaded', () => {
		const el = draw('![a chart](https://tracker.example/p.png?u=1)');
		expect(el.querySelector('img')).toBeNull();
		const a = el.querySelector('a')!;
		expect(a.textContent).toBe('Image: a charttracker.example');
		expect(a.href).toBe('https://tracker.example/p.png?u=1');
		expect(a.rel).toContain('noreferrer');
	});

	it('that are in the text are shown', () => {
		expect(draw('![dot](data:image/png;base64,iVBORw0KGgo=)').querySelector('img')?.alt).toBe('dot');
	});
});

describe('text', () => {
	it('keeps formulas as they are', () => {
		expect(draw('so $a*b*c$ and \\(x_1 * y_2 * z\\) hold').textContent).toBe('so $a*b*c$ and \\(x_1 * y_2 * z\\) hold\n');
		expect(draw('$$\na\n- b\n$$').querySelector('li')).toBeNull();
		expect(draw('between $5 and *about* $10').querySelector('em')?.textContent).toBe('about');
		expect(draw('`$HOME` is *set*').querySelector('code')?.textContent).toBe('$HOME');
	});

	it('shows hidden characters', () => {
		expect(draw('a\u202eb').textContent).toBe('a⟦U+202E⟧b\n');
		expect(draw('tag\u{e0041}').textContent).toBe('tag⟦U+E0041⟧\n');
		expect(draw('esc\u001b[31m').textContent).toContain('␛[31m');
		expect(draw('`code\u2066`').querySelector('code')?.textContent).toBe('code⟦U+2066⟧');
		expect(draw('family 👨‍👩‍👧 é').textContent).toBe('family 👨‍👩‍👧 é\n');
	});

	it('has tasks, tables and headings that a reader can use', () => {
		const el = draw('# One\n\n- [x] done\n- [ ] open\n\n| a | b |\n|--|--:|\n| 1 | 2 |');
		expect(el.querySelector('h3')?.textContent).toBe('One');
		expect([...el.querySelectorAll('.task')].map((t) => t.getAttribute('aria-label'))).toEqual(['done', 'open']);
		expect(el.querySelector('.scroll > table td.right')?.textContent).toBe('2');
		expect(el.querySelector('.scroll')?.getAttribute('tabindex')).toBe('0');
	});

	it('names the language of code, safely', () => {
		expect(languageOf('Go title="x"')).toBe('go');
		expect(languageOf('c++')).toBe('c++');
		expect(languageOf('"><script>')).toBe('');
		expect(html('```TypeScript\nx\n```')).toContain('class="language-typescript"');
	});
});
