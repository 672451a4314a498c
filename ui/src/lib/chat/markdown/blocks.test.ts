import { describe, expect, it } from 'vitest';
import { int, rng } from '../testdata/runs';
import { Blocks, type Block } from './blocks';
import { codeBox, html } from './render';

const pieces = [
	'Some words with **strong**, *em* and `code`.', 'A line\nand another line\nof one paragraph.', '# Title', 'Title\n=====', 'Title\n---', '---',
	'- one\n- two\n- three', '- one\n\n- loose\n\n  with a paragraph\n- three', '1. first\n2. second\n   - nested\n   - more', '- [ ] open\n- [x] done',
	'```go\nfunc main() {\n\n\tprintln("hi")\n}\n```', '~~~\nplain\n~~~', '- item\n\n  ```js\n  code()\n  ```', '> quoted\n> lines\n\n> again',
	'| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |', '    indented code\n\n    goes on', '<div>\n**html**\n</div>', '<!-- a comment -->', 'see [one][1] and [two]',
	'[1]: https://example.org/one', '[two]: https://example.org/two "Two"', '$$\na\n- b\n$$', 'costs $5 or $x_1*y*z$', '\\[\nx^2\n\\]', '![pic](https://example.org/p.png)',
	'text ending with two spaces  \nnext', '* star\n+ plus\n- dash', 'ünïcode 🙂 text', 'a | b', 'Setext later', '1) paren', '\ttabbed code', '```\nnever closed\n\n- not a list',
];
const gaps = ['\n\n', '\n\n', '\n\n', '\n', '\n\n\n', '\r\n\r\n', '\n \n'];

function text(r: () => number): string {
	let out = '';
	for (let n = 1 + int(r, 7); n > 0; n--) out += pieces[int(r, pieces.length)]! + gaps[int(r, gaps.length)]!;
	return r() < 0.5 ? out : out.trimEnd();
}

const draw = (blocks: readonly Block[]) => blocks.map((b) => (b.code ? codeBox(b.code.text, b.code.lang) : html(b.raw, b.links)).trim()).join('\n');
const whole = (s: string) => html(s.replace(/\r\n?/g, '\n')).trim();
/** squeeze drops what no browser draws: space between tags. */
const squeeze = (s: string) => s.replace(/>\s+</g, '><').trim();

describe('blocks', () => {
	it('drawn one by one are the whole', () => {
		for (let seed = 1; seed <= 400; seed++) {
			const s = text(rng(seed));
			expect(squeeze(draw(new Blocks().update(s))), JSON.stringify(s)).toBe(squeeze(whole(s)));
		}
	});

	it('are the same however the text came', () => {
		for (let seed = 1; seed <= 300; seed++) {
			const r = rng(seed);
			const s = text(r);
			const b = new Blocks();
			for (let at = 0; at < s.length; at += 1 + int(r, 12)) b.update(s.slice(0, at));
			expect(squeeze(draw(b.update(s))), JSON.stringify(s)).toBe(squeeze(whole(s)));
		}
	});

	it('keep their objects once they are settled', () => {
		for (let seed = 1; seed <= 60; seed++) {
			const s = text(rng(seed)).replace(/\[/g, '(');
			const b = new Blocks();
			let before: readonly Block[] = [];
			for (let at = 1; at <= s.length; at++) {
				const now = b.update(s.slice(0, at));
				expect(now.length).toBeGreaterThanOrEqual(Math.min(before.length, 1));
				for (const old of before.slice(0, -2)) {
					const same = now.find((n) => n.key === old.key);
					if (same && same.raw === old.raw) expect(same, JSON.stringify(s.slice(0, at))).toBe(old);
				}
				before = now;
			}
		}
	});

	it('have keys that differ', () => {
		for (let seed = 1; seed <= 100; seed++) {
			const keys = new Blocks().update(text(rng(seed))).map((b) => b.key);
			expect(new Set(keys).size).toBe(keys.length);
		}
	});

	it('show a fence that is still open as code', () => {
		const b = new Blocks();
		expect(b.update('Look:\n\n```go\nfunc main() {\n\n- x').at(-1)).toMatchObject({ code: { lang: 'go', text: 'func main() {\n\n- x', open: true } });
		expect(b.update('Look:\n\n```go\nfunc main() {\n\n- x\n```').at(-1)).toMatchObject({ code: { open: false } });
		expect(b.update('Look:\n\n```').at(-1)!.raw).toBe('```');
	});

	it('begin anew when the text does', () => {
		const b = new Blocks();
		b.update('one\n\ntwo\n\nthree');
		expect(b.update('other').map((x) => x.raw)).toEqual(['other']);
		expect(b.update('')).toEqual([]);
	});

	it('redraw what refers to a definition when it comes', () => {
		const b = new Blocks();
		const [before, other] = b.update('see [one][1]\n\nno link here\n\nlast');
		const [after, same] = b.update('see [one][1]\n\nno link here\n\nlast\n\n[1]: https://example.org/');
		expect(html(before!.raw, before!.links)).not.toContain('<a ');
		expect(html(after!.raw, after!.links)).toContain('<a href="https://example.org/"');
		expect(same).toBe(other);
	});

	it('cut a long list into parts that stay as they are', () => {
		const b = new Blocks();
		const list = (n: number) => Array.from({ length: n }, (_, i) => `${i + 1}. item ${i + 1}\n     - more`).join('\n');
		const before = b.update(`First:\n\n${list(250)}`);
		const now = b.update(`First:\n\n${list(251)}`);
		expect(now.map((x) => x.goesOn ?? false)).toEqual([false, false, true, true]);
		expect(new Set(now.map((x) => x.key)).size).toBe(4);
		expect(now.slice(0, 3).map((x) => x.raw)).toEqual(before.slice(0, 3).map((x) => x.raw));
		expect(html(now[2]!.raw)).toContain('<ol start="101">');
		const text = (s: string) => s.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ').trim();
		expect(text(draw(now))).toBe(text(whole(`First:\n\n${list(251)}`)));
	});

	it('read a long text in time that grows with what is new', () => {
		const b = new Blocks();
		const line = 'A paragraph of some words that a model writes.\n\n';
		let s = line.repeat(5_000);
		b.update(s);
		const settled = b.update(s + 'x').slice(0, -1);
		s += 'x y';
		const now = b.update(s);
		expect(now.slice(0, -1).every((x, i) => x === settled[i])).toBe(true);
	});
});
