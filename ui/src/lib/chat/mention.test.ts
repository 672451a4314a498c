import { describe, expect, it } from 'vitest';
import { fits, mentionAt, withFile, written } from './mention';

/** at reads a text whose caret is written as |. */
const at = (text: string) => [text.replace('|', ''), text.indexOf('|')] as const;

describe('a mention', () => {
	it.each([
		['@|', ''], ['@ma|', 'ma'], ['see @src/m|', 'src/m'], ['see (@src/m|)', 'src/m'], ['two\n@a.b|', 'a.b'], ['@"my fi|', 'my fi'], ['@"|"', ''],
		['see @ma|in.go', 'ma'], ['in `@a|`', 'a'], ['@a b @c|', 'c'], ['@ä|', 'ä'], ['@|@', ''],
	])('is in %s', (text, query) => {
		expect(mentionAt(...at(text))?.query).toBe(query);
	});
	it.each(['|', 'a@b.c|', 'a@|', '@a |', '@"a" |', '@"a"|', '@"a\nb|', '@a@|', '|@a', `@${'x'.repeat(201)}|`])('is not in %s', (text) => {
		expect(mentionAt(...at(text))).toBeUndefined();
	});
});

describe('a file that is chosen', () => {
	const choose = (text: string, path: string, folder = false) => {
		const [whole, caret] = at(text);
		const c = withFile(whole, mentionAt(whole, caret)!, { path, folder });
		return `${c.text.slice(0, c.caret)}|${c.text.slice(c.caret)}`;
	};
	it.each([
		['see @ma|', 'src/main.go', 'see src/main.go |'],
		['see @ma| and', 'src/main.go', 'see src/main.go |and'],
		['see @ma|xx and', 'src/main.go', 'see src/main.go |and'],
		['(@ma|)', 'a.txt', '(a.txt |)'],
		['@no|', 'my notes.md', '"my notes.md" |'],
		['@"my n|"', 'my notes.md', '"my notes.md" |'],
		['@"my n|', 'my notes.md', '"my notes.md" |'],
		['@x|', 'the "x".md', '"the \\"x\\".md" |'],
		['@a|\nnext', 'a.txt', 'a.txt |\nnext'],
	])('stands in the text: %s', (text, path, want) => {
		expect(choose(text, path)).toBe(want);
	});
	it.each([
		['@s|', 'src', '@src/|'],
		['@src/|', 'src', 'src/ |'],
		['@src/d| x', 'src/deep', '@src/deep/| x'],
		['@my|', 'my folder', '@"my folder/|"'],
		['@"my folder/|"', 'my folder', '"my folder/" |'],
		['@"my folder/|"', 'my folder/in', '@"my folder/in/|"'],
		['@q|', 'a"b', '"a\\"b/" |'],
	])('is gone into when it is a folder: %s', (text, path, want) => {
		expect(choose(text, path, true)).toBe(want);
	});
});

it('writes a path so that its end is seen', () => {
	expect(['a/b.c', 'ü-x', "it's", 'a b', 'a\\b', '`x`'].map(written)).toEqual(['a/b.c', 'ü-x', '"it\'s"', '"a b"', 'a\\b', '"`x`"']);
});

it('knows what still fits', () => {
	expect(fits('smn', 'src/main.go')).toBe(true);
	expect(fits('MAIN', 'src/main.go')).toBe(true);
	expect(fits('', 'x')).toBe(true);
	expect(fits('nm', 'main')).toBe(false);
	expect(fits('aa', 'a')).toBe(false);
});
