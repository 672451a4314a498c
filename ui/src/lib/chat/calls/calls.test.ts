import { describe, expect, it } from 'vitest';
import { outcome } from '../testdata/runs';
import { brief, categoryOf, isNumber, plain, readCSV, shapeOf, tableOf } from './call';
import { deciderOf } from './refusal';
import { changed, compare, readDiff, wanted } from './diff';

const text = (s: string) => [{ kind: 'text' as const, text: s }];

describe('a call in one line', () => {
	it.each([
		[{ path: 'a/b.txt' }, 'a/b.txt'],
		[{ to: 20, from: 3, path: 'a.txt' }, 'a.txt  from: 3  to: 20'],
		[{ query: 'x y', path: 'src' }, 'src  query: "x y"'],
		[{ expression: '1+1' }, '1+1'],
		[{ path: 'a.txt', content: 'much\ntext' }, 'a.txt'],
		[{ command: 'ls\npwd' }, 'ls ⏎ pwd'],
		[{ tags: ['a'], n: 1 }, 'tags: ["a"]  n: 1'],
		['{"broken', '{"broken'],
		[undefined, ''], [null, ''], [[1, 2], '[1,2]'], [{}, ''],
	])('%j', (args, said) => expect(brief(args)).toBe(said));

	it('is cut when it is long', () => {
		expect(brief({ path: 'x'.repeat(500) })).toHaveLength(160);
	});

	it('has an icon by what the tool acts on', () => {
		const pairs = { file_read: 'file', file_edit: 'edit', apply_patch: 'edit', file_search: 'search', search_tools: 'search', shell: 'shell', http_request: 'web', db_query: 'data', json_transform: 'data', memory_search: 'memory', calc: 'compute', datetime: 'time', read_output: 'output', weather: 'tool' };
		for (const [name, category] of Object.entries(pairs)) expect(categoryOf(name), name).toBe(category);
	});
});

describe('a result', () => {
	it('is shown as what it is', () => {
		const kind = (o: Parameters<typeof outcome>[0]) => shapeOf(outcome(o)).kind;
		expect(kind({ content: text('plain words') })).toBe('text');
		expect(kind({ content: text('{"a": {"b": 1}}') })).toBe('json');
		expect(kind({ content: text('{"a": broken') })).toBe('text');
		expect(kind({ content: text('[{"a": 1}, {"a": 2, "b": "x"}]') })).toBe('table');
		expect(kind({ content: text('[{"a": {"deep": 1}}]') })).toBe('json');
		expect(kind({ tool: 'db_query', content: text('id,name\n1,Ada\n2,Bob') })).toBe('table');
		expect(kind({ content: text('one, two\nthree, four') })).toBe('text');
		expect(kind({ tool: 'shell', content: text('{"a":1}') })).toBe('terminal');
		expect(kind({ tool: 'file_read', details: { path: 'a.go' }, content: text('package a') })).toBe('file');
		expect(kind({ tool: 'file_edit', details: { diff: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n' } })).toBe('diff');
		expect(kind({ tool: 'file_list', details: { entries: [{ path: 'a', kind: 'file', size: 1 }] } })).toBe('table');
		expect(kind({ content: [{ kind: 'media', media: { mime: 'image/png', data: 'AAAA' } }, ...text('a picture')] })).toBe('images');
		expect(kind({ content: [{ kind: 'media', media: { mime: 'image/svg+xml', data: 'AAAA' } }, ...text('not shown')] })).toBe('text');
	});

	it('that failed or is a preview is words', () => {
		expect(shapeOf(outcome({ status: 'error', content: text('{"a":1}') })).kind).toBe('text');
		expect(shapeOf(outcome({ ref: 'a3f8c2d10123abcd', type: 'json', content: text('[LARGE OUTPUT: x]\n{"a":1}') })).kind).toBe('text');
	});

	it('has tables with all columns', () => {
		expect(tableOf([{ a: 1 }, { b: null, a: true }])).toEqual({ columns: ['a', 'b'], rows: [['1', ''], ['true', '']] });
		expect(tableOf([])).toBeUndefined();
		expect(tableOf([1, 2])).toBeUndefined();
		expect(readCSV('a,b\n"x, ""y""",2\n"two\nlines",3\n')).toEqual({ columns: ['a', 'b'], rows: [['x, "y"', '2'], ['two\nlines', '3']] });
		expect(readCSV('a\tb\r\n1\t2\r\n')).toEqual({ columns: ['a', 'b'], rows: [['1', '2']] });
		expect(readCSV('a,b\n1,2,3')).toBeUndefined();
		expect(readCSV('no newline')).toBeUndefined();
	});

	it('knows columns of numbers', () => {
		expect(isNumber(['1', '-2.5', '1,000', '', '40 %', '1e9'])).toBe(true);
		expect(isNumber(['1', 'x'])).toBe(false);
		expect(isNumber(['', ''])).toBe(false);
		expect(isNumber(['2026-05-04'])).toBe(false);
	});

	it('of a terminal has no colours', () => {
		expect(plain('\u001b[31mred\u001b[0m ␛[1mbold␛[0m')).toBe('red bold');
	});
});

describe('a diff', () => {
	it('has numbers on both sides', () => {
		const lines = readDiff('--- a/x.txt\n+++ b/x.txt\n@@ -2,3 +2,4 @@ func main\n same\n-old\n+new\n+more\n\n\\ No newline at end of file\n');
		expect(lines).toEqual([
			{ kind: 'file', text: 'x.txt' }, { kind: 'hunk', text: '@@ func main' }, { kind: 'same', text: 'same', old: 2, new: 2 }, { kind: 'remove', text: 'old', old: 3 },
			{ kind: 'add', text: 'new', new: 3 }, { kind: 'add', text: 'more', new: 4 }, { kind: 'same', text: '', old: 4, new: 5 }, { kind: 'note', text: 'No newline at end of file' },
		]);
		expect(changed(lines)).toEqual({ added: 2, removed: 1 });
	});

	it('tells removed lines that look like a head from one', () => {
		expect(readDiff('@@ -1,2 +1 @@\n--- rule\n-x\n+y').map((l) => l.kind)).toEqual(['hunk', 'remove', 'remove', 'add']);
	});

	it('may name a file that went', () => {
		expect(readDiff('--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x')[0]).toEqual({ kind: 'file', text: 'gone' });
	});

	it('may be in the form of apply_patch', () => {
		expect(readDiff('*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2\n*** End Patch')).toEqual([
			{ kind: 'file', text: 'Update File: a.py' }, { kind: 'hunk', text: '@@ def f():' }, { kind: 'remove', text: '    return 1' }, { kind: 'add', text: '    return 2' },
		]);
	});

	it('is made of what a call asked for', () => {
		expect(compare('a\nb\nc', 'a\nB\nc').map((l) => `${l.kind} ${l.text}`)).toEqual(['same a', 'remove b', 'add B', 'same c']);
		expect(compare('', 'x\ny\n').map((l) => l.kind)).toEqual(['add', 'add']);
		expect(wanted('file_edit', { path: 'p', old: 'a', new: 'b' })).toHaveLength(2);
		expect(wanted('file_write', { path: 'p', content: 'a' })).toHaveLength(1);
		expect(wanted('apply_patch', { patch: '+x' })).toHaveLength(1);
		expect(wanted('file_edit', { path: 'p' })).toBeUndefined();
		expect(wanted('file_edit', 'text')).toBeUndefined();
	});
});

describe('a refusal', () => {
	const refusal = { rule: 'escape', reason: 'no' };
	it.each([
		[{ ...refusal, guard: 'workspace' }, false, 'by the workspace guard itself, no setting', /^nobody/],
		[{ ...refusal, where: { key: 'tools.deny', file: 'config.yaml', line: 2 } }, true, '', /^you, as an admin: by that setting/],
		[{ ...refusal, where: { key: 'tools.deny' } }, false, '', /^an admin of this gateway: by that setting/],
		[{ ...refusal, rule: 'not_offered', step: 'offered' }, false, 'by what this request was offered; the states below say why', /^an admin/],
		[{ ...refusal, rule: 'exhausted', step: 'run' }, true, 'by the step run, no setting', /^nobody/],
	])('%j says who decided', (r, admin, by, who) => {
		expect(deciderOf(r, admin).by).toBe(by);
		expect(deciderOf(r, admin).who).toMatch(who);
	});
});
