// Numbers and times as people read them. Numbers carry their units.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// relative says how long ago a time is, or how long it takes until then.
export function relative(time: Date, now: number): string {
	const ago = now - time.getTime();
	if (Number.isNaN(ago)) return 'at an unknown time';
	const far = Math.abs(ago);
	if (far < 45 * second) return ago >= -5 * second ? 'just now' : 'in a moment';
	const say = (n: number, unit: string) => (ago > 0 ? `${n} ${unit} ago` : `in ${n} ${unit}`);
	if (far < hour) return say(Math.max(1, Math.round(far / minute)), 'min');
	if (far < day) return say(Math.max(1, Math.round(far / hour)), 'h');
	if (far < 7 * day) {
		const days = Math.max(1, Math.round(far / day));
		return say(days, days === 1 ? 'day' : 'days');
	}
	const sameYear = new Date(now).getFullYear() === time.getFullYear();
	return time.toLocaleDateString(undefined, { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) });
}

// nextChange gives in how many milliseconds relative says something else, at most an hour.
export function nextChange(time: Date, now: number): number {
	const far = Math.abs(now - time.getTime());
	if (far < hour) return far < 45 * second ? 15 * second : 30 * second;
	return far < day ? 10 * minute : hour;
}

// exact is the full local time with its zone.
export function exact(time: Date): string {
	if (Number.isNaN(time.getTime())) return 'unknown time';
	return time.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' });
}

// duration says a span of milliseconds: 0.4 ms, 85 ms, 1.2 s, 3 min 5 s, 2 h 4 min.
export function duration(ms: number): string {
	if (!Number.isFinite(ms) || ms < 0) return '–';
	if (ms < 9.95) return `${trim(ms, ms < 0.1 ? 2 : 1)} ms`;
	if (ms < 999.5) return `${Math.round(ms)} ms`;
	if (ms < 59.95 * second) return `${(ms / second).toFixed(1)} s`;
	const s = Math.round(ms / second);
	if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
	const m = Math.round(s / 60);
	return m % 60 ? `${Math.floor(m / 60)} h ${m % 60} min` : `${m / 60} h`;
}

// bytes says a size in binary units: 812 B, 1.5 KiB.
export function bytes(n: number): string {
	if (!Number.isFinite(n)) return '–';
	if (n < 1024) return `${n} B`;
	let value = n;
	for (const unit of ['KiB', 'MiB', 'GiB']) {
		value /= 1024;
		if (value < 1023.95 || unit === 'GiB') return `${trim(value, value < 99.95 ? 1 : 0)} ${unit}`;
	}
	return '–';
}

// count says a number briefly: 812, 1.5k, 2.1M.
export function count(n: number): string {
	if (!Number.isFinite(n)) return '–';
	if (n < 1000) return String(n);
	if (n < 999_500) return `${trim(n / 1000, n < 99_950 ? 1 : 0)}k`;
	return `${trim(n / 1_000_000, 1)}M`;
}

// money says a cost in dollars with as many digits as tell something.
export function money(usd: number): string {
	if (usd === 0) return '$0';
	if (usd < 0.0001) return '< $0.0001';
	if (usd < 1) return `$${trim(usd, 4)}`;
	return `$${usd.toFixed(2)}`;
}

// plural says a count with its word: 1 turn, 2 turns.
export function plural(n: number, one: string, many = `${one}s`): string {
	return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

function trim(n: number, digits: number): string {
	const text = n.toFixed(digits);
	return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
