// What this browser remembers. Storage may be full, forbidden or missing; what
// is kept there is a convenience, so the page works the same without.

function store(): Storage | undefined {
	try {
		return window.localStorage;
	} catch {
		return undefined; // cookies are blocked
	}
}

// recall gives what was remembered, undefined when nothing was or can be.
export function recall(name: string): string | undefined {
	try {
		return store()?.getItem(`goclaw.${name}`) ?? undefined;
	} catch {
		return undefined;
	}
}

// remember tells whether it could; undefined forgets.
export function remember(name: string, value: string | undefined): boolean {
	try {
		const s = store();
		if (!s) return false;
		if (value === undefined) s.removeItem(`goclaw.${name}`);
		else s.setItem(`goclaw.${name}`, value);
		return true;
	} catch {
		return false;
	}
}
