import { defineConfig } from 'vitest/config';

// The browser tests. One file after the other: each has a gateway and a browser of its own.
export default defineConfig({
	test: {
		environment: 'node',
		include: ['tests/**/*.e2e.ts'],
		fileParallelism: false,
		testTimeout: 60_000,
		hookTimeout: 90_000,
		// As long as Playwright waits: a second is nothing on a busy machine.
		expect: { poll: { timeout: 30_000 } },
		// A busy machine may be slow once; a fault is there twice.
		retry: process.env.CI ? 1 : 0,
	},
});
