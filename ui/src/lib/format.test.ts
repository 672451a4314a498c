import { describe, expect, it } from 'vitest';
import { bytes, count, duration, money, plural, relative } from './format';

describe('format', () => {
	it.each([
		[0, '0 B'], [1, '1 B'], [1023, '1023 B'], [1024, '1 KiB'], [1536, '1.5 KiB'], [102_400, '100 KiB'],
		[1_048_575, '1 MiB'], [5 << 20, '5 MiB'], [3 * 2 ** 40, '3072 GiB'], [NaN, '–'],
	])('bytes(%s) is %s', (n, want) => expect(bytes(n)).toBe(want));

	it.each([
		[0, '0'], [999, '999'], [1000, '1k'], [1499, '1.5k'], [99_949, '99.9k'], [100_000, '100k'], [999_499, '999k'],
		[999_500, '1M'], [2_100_000, '2.1M'],
	])('count(%s) is %s', (n, want) => expect(count(n)).toBe(want));

	it.each([
		[0, '0 ms'], [0.04, '0.04 ms'], [4.26, '4.3 ms'], [85, '85 ms'], [999.4, '999 ms'], [999.6, '1.0 s'], [1234, '1.2 s'],
		[59_940, '59.9 s'], [59_960, '1 min'], [185_000, '3 min 5 s'], [3_600_000, '1 h'], [7_440_000, '2 h 4 min'], [-1, '–'],
	])('duration(%s) is %s', (n, want) => expect(duration(n)).toBe(want));

	it.each([
		[0, '$0'], [0.00004, '< $0.0001'], [0.0123, '$0.0123'], [0.5, '$0.5'], [1.5, '$1.50'], [120, '$120.00'],
	])('money(%s) is %s', (n, want) => expect(money(n)).toBe(want));

	it('plural', () => {
		expect(plural(1, 'turn')).toBe('1 turn');
		expect(plural(2, 'turn')).toBe('2 turns');
		expect(plural(2, 'match', 'matches')).toBe('2 matches');
	});

	const now = new Date('2026-03-10T12:00:00Z').getTime();
	it.each([
		[0, 'just now'], [44, 'just now'], [-30, 'in a moment'], [60, '1 min ago'], [-90, 'in 2 min'], [3599, '60 min ago'],
		[3600, '1 h ago'], [86_399, '24 h ago'], [86_400, '1 day ago'], [3 * 86_400, '3 days ago'],
	])('%s seconds before is %s', (s, want) => expect(relative(new Date(now - s * 1000), now)).toBe(want));

	it('names the day of what is older', () => {
		expect(relative(new Date('2026-02-01T12:00:00Z'), now)).toMatch(/1/);
		expect(relative(new Date('2024-02-01T12:00:00Z'), now)).toMatch(/2024/);
		expect(relative(new Date('rubbish'), now)).toBe('at an unknown time');
	});
});
