import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../lib/api/client';
import { connection } from '../lib/state/connection.svelte';
import { toast, toastError, toasts } from '../lib/state/toasts.svelte';
import Toaster from './Toaster.svelte';

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	cleanup();
	toasts.list = [];
	connection.reached();
	vi.useRealTimers();
});

const told = () => [...screen.queryAllByRole('alert'), ...screen.queryAllByRole('status')].map((e) => e.querySelector('p')?.textContent);

it('keeps what went wrong, and lets the rest go', async () => {
	render(Toaster);
	toast('Renamed');
	toastError(new ApiError(500, 'internal', 'The disk is full.'), 'Not renamed');
	await vi.advanceTimersByTimeAsync(0);
	expect(told()).toEqual(['Not renamed: The disk is full.', 'Renamed']);
	await vi.advanceTimersByTimeAsync(60_000);
	expect(told()).toEqual(['Not renamed: The disk is full.']);
});

it('tells of a gateway that does not answer as long as it does not', async () => {
	render(Toaster);
	const gone = new ApiError(0, 'offline', 'The gateway does not answer.');
	connection.lost();
	toastError(gone, 'Not stopped');
	toastError(gone, 'Not stopped');
	await vi.advanceTimersByTimeAsync(60_000);
	expect(told()).toEqual(['Not stopped: The gateway does not answer.']);
	connection.reached();
	await vi.advanceTimersByTimeAsync(1000);
	expect(told()).toHaveLength(1);
	await vi.advanceTimersByTimeAsync(10_000);
	expect(told()).toEqual([]);
});
