// Paths into a JSON value in jq's notation, which read_output's filter takes too.

const plain = /^[A-Za-z_][A-Za-z0-9_]*$/;

// step gives the path of an entry of what is at path.
export function step(path: string, key: string | number): string {
	const base = path === '.' ? '' : path;
	if (typeof key === 'number') return `${base === '' ? '.' : base}[${key}]`;
	if (plain.test(key)) return `${base}.${key}`;
	return `${base === '' ? '.' : base}[${JSON.stringify(key)}]`;
}

// brief says what a value is, in a few characters.
export function brief(value: unknown): string {
	if (Array.isArray(value)) return value.length === 1 ? '1 item' : `${value.length.toLocaleString()} items`;
	if (value !== null && typeof value === 'object') {
		const n = Object.keys(value).length;
		return n === 1 ? '1 key' : `${n.toLocaleString()} keys`;
	}
	return '';
}
