import { describe, expect, it } from 'vitest';
import { saidOf, wordsOf } from './said';
import type { Message, Part } from './types';

const text = (s: string): Part => ({ kind: 'text', text: s });
const file = (name: string, mime: string, size: number): Part => ({ kind: 'file', text: 'for the model', media: { mime, name, size } });
const message = (...parts: Part[]): Message => ({ role: 'user', parts });

describe('a message', () => {
	it('is words', () => {
		expect(saidOf(message(text('hello\n\nyou')))).toEqual({ text: 'hello\n\nyou', files: [], media: [], results: [], again: 'hello\n\nyou' });
	});

	it('has the files that were given with it', () => {
		const m = message(
			text('What is this?'), file('uploads/dot.png', 'image/png', 70), file('uploads/my, notes.txt', 'text/plain', 1536),
			{ kind: 'media', media: { mime: 'image/png', name: 'dot.png' } },
		);
		const said = saidOf(m);
		expect(said.text).toBe('What is this?');
		expect(said.files).toEqual([{ path: 'uploads/my, notes.txt', mime: 'text/plain', size: '1.5 KiB' }]);
		expect(said.media).toEqual([{ mime: 'image/png', name: 'dot.png', index: 0 }]);
		expect(said.again).toBe('What is this?\n\n[attached file: uploads/my, notes.txt, text/plain, 1.5 KiB]');
		expect(saidOf(message(text(said.again)))).toMatchObject({ text: 'What is this?', files: said.files });
	});

	it('keeps a picture that is only in the workspace as a file', () => {
		expect(saidOf(message(text('x'), file('uploads/huge.png', 'image/png', 12 << 20))).files).toHaveLength(1);
	});

	it('shows a file once that is in it as well', () => {
		const m = message(file('uploads/a.pdf', 'application/pdf', 9), file('uploads/huge.pdf', 'application/pdf', 20 << 20), { kind: 'media', media: { mime: 'application/pdf', name: 'a.pdf' } });
		expect(saidOf(m)).toMatchObject({ files: [{ path: 'uploads/huge.pdf' }], media: [{ name: 'a.pdf' }] });
	});

	it('may be files alone', () => {
		expect(saidOf(message(file('uploads/a.csv', 'text/csv', 5)))).toMatchObject({ text: '', files: [{ path: 'uploads/a.csv' }] });
	});

	it('may speak of such lines', () => {
		expect(saidOf(message(text('the line [attached file: a, b, c] is odd'))).files).toEqual([]);
	});

	it('is put into words with all its files', () => {
		const m = message(text('Look'), file('uploads/a.csv', 'text/csv', 2048), file('uploads/b.png', 'image/png', 100), { kind: 'media', media: { mime: 'image/png', name: 'b.png' } });
		const words = 'Look\n\n[attached file: uploads/a.csv, text/csv, 2 KiB]\n[attached file: uploads/b.png, image/png, 100 B]';
		expect(wordsOf(m)).toBe(words);
		expect(saidOf(message(text(words))).files.map((f) => f.path)).toEqual(['uploads/a.csv', 'uploads/b.png']);
		expect(wordsOf(message(text('alone')))).toBe('alone');
	});
});

describe('the results that a client brings', () => {
	it('stand beside the words', () => {
		const m = message({ kind: 'result', result: { call_id: 'c1', name: 'look', content: [{ kind: 'text', text: 'an open door' }] } }, { kind: 'text', text: 'go on' });
		expect(saidOf(m).results).toEqual([{ name: 'look', text: 'an open door' }]);
		expect(saidOf(m).text).toBe('go on');
	});
});
