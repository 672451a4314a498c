import { describe, expect, it } from 'vitest';
import { Sentences, spoken } from './sentences';

describe('sentences', () => {
	it('are given once and whole', () => {
		const s = new Sentences();
		expect(s.next('The answ', false)).toBe('');
		expect(s.next('The answer is 42. It', false)).toBe('The answer is 42.');
		expect(s.next('The answer is 42. It took 3.5', false)).toBe('');
		expect(s.next('The answer is 42. It took 3.5 ms', true)).toBe('It took 3.5 ms');
		expect(s.next('The answer is 42. It took 3.5 ms', true)).toBe('');
	});

	it('begin anew when the text does', () => {
		const s = new Sentences();
		s.next('Wrong. ', false);
		expect(s.next('Rt. ', false)).toBe('Rt.');
	});

	it('wait for the end of code', () => {
		const s = new Sentences();
		expect(s.next('Look.\n```js\nf();\n', false)).toBe('Look.');
		expect(s.next('Look.\n```js\nf();\n```\nSo.', true)).toBe('Code, 1 line.\nSo.');
	});

	it('leave out what was there before', () => {
		const s = new Sentences();
		s.skip('Old. ');
		expect(s.next('Old. New. ', false)).toBe('New.');
	});

	it('are read without marks', () => {
		expect(spoken('## Title\n\n- **one** *and* [link](https://a.example)\n- [x] `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said ![pic](x)')).toBe('Title\none and link\ntwo\na b\n1 2\nsaid Image: pic');
	});
});
