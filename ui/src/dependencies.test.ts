import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { devDependencies } from '../package.json';

it('every package has its row in docs/dependencies.md', () => {
	const table = readFileSync('../docs/dependencies.md', 'utf8');
	const section = /^## The web UI\n([\s\S]*?)^## /m.exec(table)?.[1] ?? '';
	const rows = [...section.matchAll(/^\| (?!package|---)([^|]+) \|/gm)].flatMap((m) => m[1]!.split(', '));
	expect(rows.toSorted()).toEqual(Object.keys(devDependencies).toSorted());
});
