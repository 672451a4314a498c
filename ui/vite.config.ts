import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

const gateway = process.env.GOCLAW_URL ?? 'http://127.0.0.1:18800';

// The build is committed and embedded by the gateway, so it must be the same
// on every machine: file names come from content, nothing from time or place.
export default defineConfig(({ mode }) => ({
	plugins: [svelte(), tailwindcss()],
	build: {
		outDir: '../internal/gateway/web/dist',
		emptyOutDir: true,
		assetsInlineLimit: 0, // a strict content security policy has no data: scripts or styles
		modulePreload: { polyfill: false }, // it would be an inline script
		target: 'es2023',
		rolldownOptions: { checks: { bundlerTimings: false } }, // it warns of a slow machine
	},
	// At 127.0.0.1, where the cookie of the gateway's sign-in is valid on any port; the gateway takes requests of its own
	// pages only, so they are passed on as such.
	server: {
		host: '127.0.0.1',
		proxy: Object.fromEntries(['/api', '/tools/', '/v1', '/signin'].map((path) => [path, { target: gateway, changeOrigin: true, headers: { origin: gateway } }])),
	},
	resolve: mode === 'test' ? { conditions: ['browser'] } : {},
	test: { environment: 'jsdom', include: ['src/**/*.test.ts'], testTimeout: 30_000 },
}));
