// Where each page was left, so that its entry in the rail leads back there.
import { build } from '../lib/router.svelte';
import { pages } from '../pages';

const left = $state<Record<string, string>>({});

// visit notes the address at which a page is.
export function visit(page: string, address: string): void {
	left[page] = address;
}

// address is where a page was left, or where it begins.
export function address(page: string): string {
	const known = left[page];
	if (known) return known;
	const found = pages.find((p) => p.name === page);
	if (!found) throw new Error(`there is no page ${page}`);
	return build(found.path);
}
