import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { connection } from '../state/connection.svelte';
import ErrorNote from './ErrorNote.svelte';

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	cleanup();
	connection.reached();
	vi.useRealTimers();
});

it('tries again by itself when the gateway answers again', async () => {
	connection.lost();
	const retry = vi.fn();
	render(ErrorNote, { error: new ApiError(0, 'offline', 'The gateway does not answer.'), retry });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(retry).not.toHaveBeenCalled();
	connection.reached();
	await vi.advanceTimersByTimeAsync(0);
	expect(retry).toHaveBeenCalledOnce();
});

it('tries again by itself what may pass, once for each failure', async () => {
	const retry = vi.fn();
	const { rerender } = render(ErrorNote, { error: new ApiError(503, 'closing', 'The gateway is stopping.'), retry });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(retry).toHaveBeenCalledOnce();
	await rerender({ error: new ApiError(429, 'rate_limited', 'Too many requests.'), retry });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(retry).toHaveBeenCalledTimes(2);
});

it('leaves other errors to the person', async () => {
	const retry = vi.fn();
	render(ErrorNote, { error: new ApiError(500, 'internal', 'The disk is full.'), retry });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(retry).not.toHaveBeenCalled();
	screen.getByRole('button', { name: 'Try again' }).click();
	expect(retry).toHaveBeenCalledOnce();
});
