import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { api, ApiError } from '../api/client';
import Composer from './Composer.test.svelte';
import { keepDraft, recallDraft } from './drafts';
import type { Past } from './past';

const past = (turn: string, text: string): Past => ({ turn, text, files: [], media: [] });
const spies = () => ({ onfork: vi.fn(async (): Promise<string | undefined> => 'f1'), onsend: vi.fn(), oncommand: vi.fn(), onstop: vi.fn(), onwrite: vi.fn() });
let spy: ReturnType<typeof spies>;
const field = () => screen.getByRole<HTMLTextAreaElement>('textbox', { name: 'Message' });
const show = (props: Record<string, unknown> = {}) =>
	render(Composer, { agent: 'main', session: 's1', busy: false, stopping: false, history: () => [past('run2', 'the last'), past('1', 'the one before')], ...spy, ...props });
const write = (value: string) => fireEvent.input(field(), { target: { value } });

beforeEach(() => {
	localStorage.clear();
	spy = spies();
	vi.stubGlobal('ResizeObserver', class { observe() {} disconnect() {} });
});
afterEach(() => {
	cleanup();
	vi.restoreAllMocks();
	vi.unstubAllGlobals();
});

describe('the composer', () => {
	it('sends by Enter and breaks by Shift-Enter', async () => {
		show();
		await write('hello ');
		await fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true });
		expect(spy.onsend).not.toHaveBeenCalled();
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('hello', [], 'queue');
		expect(field().value).toBe('');
	});

	it('leaves Enter to an input method that is at work', async () => {
		show();
		await write('にほん');
		await fireEvent.keyDown(field(), { key: 'Enter', isComposing: true });
		await fireEvent.keyDown(field(), { key: 'Enter', keyCode: 229 });
		expect(spy.onsend).not.toHaveBeenCalled();
	});

	it('sends nothing when nothing was written, or nothing can answer', async () => {
		show({ disabled: 'No model is set up.' });
		await write('hello');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.onsend).not.toHaveBeenCalled();
		expect(field().value).toBe('hello');
		expect(screen.getByText('No model is set up.')).toBeTruthy();
	});

	it('hears of the caret when it is gone, and minds nothing', async () => {
		const faults = vi.fn();
		window.addEventListener('error', faults);
		const { unmount } = show();
		await write('look at @a');
		const gone = field();
		unmount();
		gone.dispatchEvent(new Event('selectionchange'));
		window.removeEventListener('error', faults);
		expect(faults).not.toHaveBeenCalled();
	});

	it('keeps what was begun for each session', async () => {
		const { rerender, unmount } = show();
		await write('half a thought');
		await rerender({ session: 's2' });
		expect(field().value).toBe('');
		await rerender({ session: 's1' });
		expect(field().value).toBe('half a thought');
		unmount();
		show();
		expect(field().value).toBe('half a thought');
	});

	it('keeps what was typed just before its page is left', async () => {
		show();
		await write('half a thought');
		await fireEvent(window, new Event('pagehide'));
		expect(recallDraft('main', 's1')).toBe('half a thought');
	});

	it('keeps a thought where the browser keeps nothing', async () => {
		vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
			throw new DOMException('full', 'QuotaExceededError');
		});
		const { rerender } = show();
		await write('half a thought');
		await rerender({ session: 's2' });
		await rerender({ session: 's1' });
		expect(field().value).toBe('half a thought');
	});

	it('does not bring back what another tab has sent', async () => {
		keepDraft('main', 's1', 'half a thought');
		const { rerender } = show();
		keepDraft('main', 's1', ''); // in the other tab
		await rerender({ session: 's2' });
		await rerender({ session: 's1' });
		expect(field().value).toBe('');
	});

	it('keeps the files that wait for each session', async () => {
		vi.spyOn(api, 'upload').mockImplementation((file, name) => Promise.resolve({ id: `id of ${name}`, name, mime: 'text/plain', size: file.size }));
		const { container, rerender } = show();
		const picker = container.querySelector<HTMLInputElement>('input[type=file]')!;
		vi.spyOn(picker, 'files', 'get').mockReturnValue([new File(['hello'], 'notes.txt', { type: 'text/plain' })] as unknown as FileList);
		await fireEvent.change(picker);
		await screen.findByText('notes.txt');
		await rerender({ session: 's2' });
		expect(screen.queryByText('notes.txt')).toBeNull();
		await rerender({ session: 's1' });
		await write('see there');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.onsend).toHaveBeenCalledWith('see there', [{ id: 'id of notes.txt', name: 'notes.txt', mime: 'text/plain', size: 5 }], 'queue');
	});

	it('says that a folder can’t be attached, and takes the files beside it', async () => {
		const sent = vi.spyOn(api, 'upload').mockImplementation((file, name) => Promise.resolve({ id: name, name, mime: 'text/plain', size: file.size }));
		show({ session: 'folders' });
		const item = (name: string, isDirectory: boolean) => ({ kind: 'file', getAsFile: () => new File(['hello'], name), webkitGetAsEntry: () => ({ name, isDirectory }) });
		await fireEvent.paste(field(), { clipboardData: { types: ['Files'], files: [], items: [item('photos', true), item('notes.txt', false)] } });
		await screen.findByText('notes.txt');
		expect(screen.getByRole('status').textContent).toContain('photos is a folder');
		expect(sent).toHaveBeenCalledOnce();
	});

	it.each([
		['a folder', true, 'It can’t be read: it is a folder'],
		['nobody who answers', false, 'does not answer'],
	])('tells %s', async (_, unreadable, want) => {
		const file = new File(['hello'], 'notes.txt');
		vi.spyOn(file, 'slice').mockImplementation(() => ({ arrayBuffer: () => (unreadable ? Promise.reject(new DOMException('gone', 'NotFoundError')) : Promise.resolve(new ArrayBuffer(1))) }) as Blob);
		vi.spyOn(api, 'upload').mockRejectedValue(new ApiError(0, 'offline', 'The file could not be sent: the gateway does not answer.'));
		show({ session: want });
		await fireEvent.paste(field(), { clipboardData: { types: ['Files'], files: [file], items: [] } });
		await screen.findByText(new RegExp(want));
		expect(screen.queryByRole('button', { name: /again/ }) === null).toBe(unreadable);
	});

	it('takes along what is written while the first message makes a session', async () => {
		const { rerender } = show({ session: undefined });
		await write('first');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		await write('second, begun');
		await rerender({ session: 'new' });
		expect(field().value).toBe('second, begun');
		await rerender({ session: undefined });
		expect(field().value).toBe('');
	});

	it('takes up what was said', async () => {
		show();
		for (const value of ['the last', 'the one before', 'the one before']) {
			await fireEvent.keyDown(field(), { key: 'ArrowUp' });
			expect(field().value).toBe(value);
		}
		await fireEvent.keyDown(field(), { key: 'ArrowDown' });
		await fireEvent.keyDown(field(), { key: 'ArrowDown' });
		expect(field().value).toBe('');
		await write('own words');
		await fireEvent.keyDown(field(), { key: 'ArrowUp' });
		expect(field().value).toBe('own words');
	});

	it('completes and runs commands', async () => {
		show();
		await write('/');
		const options = screen.getAllByRole('option');
		expect(options).toHaveLength(16);
		expect(field().getAttribute('aria-activedescendant')).toBe(options[0]!.id);
		await fireEvent.keyDown(field(), { key: 'ArrowUp' });
		expect(field().getAttribute('aria-activedescendant')).toBe(options.at(-1)!.id);
		await write('/help');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.oncommand).toHaveBeenCalledWith(expect.objectContaining({ name: 'help' }), '');
		await write('/ren');
		await fireEvent.keyDown(field(), { key: 'Tab' });
		expect(field().value).toBe('/rename ');
		await write('/rename New title');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.oncommand).toHaveBeenLastCalledWith(expect.objectContaining({ name: 'rename' }), 'New title');
		for (const wrong of ['/nonsense', '/modl claude', '/compact', '/stop it']) {
			await write(wrong);
			await fireEvent.keyDown(field(), { key: 'Enter' });
			expect(screen.getByText(/There is no command|not in this version|takes nothing/)).toBeTruthy();
			expect(field().value).toBe(wrong);
		}
		expect(spy.onsend).not.toHaveBeenCalled();
		await write('//modl is what I wrote');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('/modl is what I wrote', [], 'queue');
	});

	it('queues or steers while an answer is written, and remembers which', async () => {
		const { unmount } = show({ busy: true });
		await fireEvent.click(screen.getByLabelText('Steer'));
		await write('rather so');
		await fireEvent.keyDown(field(), { key: 'Enter' });
		expect(spy.onsend).toHaveBeenCalledWith('rather so', [], 'steer');
		await fireEvent.keyDown(field(), { key: 'Escape' });
		expect(spy.onstop).toHaveBeenCalledOnce();
		unmount();
		show({ busy: true });
		expect(screen.getByLabelText<HTMLInputElement>('Steer').checked).toBe(true);
	});

	it('closes the list of commands by Escape before it stops anything', async () => {
		show({ busy: true });
		await write('/');
		await fireEvent.keyDown(field(), { key: 'Escape' });
		expect(screen.queryByRole('option')).toBeNull();
		expect(spy.onstop).not.toHaveBeenCalled();
	});
});

describe('a message that is edited', () => {
	const key = (name: string) => fireEvent.keyDown(field(), { key: name });
	const note = () => screen.queryByText(/sending makes a fork/)?.textContent;
	// tall is the height of the field, in pixels: nothing is laid out here.
	const tall = (px: number) => vi.spyOn(HTMLTextAreaElement.prototype, 'scrollHeight', 'get').mockReturnValue(px);

	it('is sent into a fork from before its turn', async () => {
		show({ busy: true });
		await key('ArrowUp');
		expect(note()).toContain('Editing your last message');
		expect(screen.queryByLabelText('Steer')).toBeNull(); // nothing goes on in a fork
		await write('better words ');
		await key('Enter');
		await vi.waitFor(() => expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('better words', [], 'queue', 'f1'));
		expect(spy.onfork).toHaveBeenCalledExactlyOnceWith('run2', expect.stringMatching(/./));
		expect(field().value).toBe('');
		expect(note()).toBeUndefined();
		await write('the next one');
		await key('Enter');
		expect(spy.onsend).toHaveBeenLastCalledWith('the next one', [], 'queue');
	});

	it('may be an earlier one', async () => {
		show();
		await key('ArrowUp');
		await key('ArrowUp');
		expect(note()).toContain('Editing an earlier message');
		await key('Enter');
		await vi.waitFor(() => expect(spy.onsend).toHaveBeenCalledWith('the one before', [], 'queue', 'f1'));
		expect(spy.onfork).toHaveBeenCalledWith('1', expect.anything());
	});

	it('leaves the arrows to the caret while it has lines to go to', async () => {
		tall(62);
		show({ history: () => [past('2', 'one\ntwo'), past('1', 'before')] });
		await key('ArrowUp');
		await key('ArrowUp');
		expect(field().value).toBe('one\ntwo');
		field().setSelectionRange(0, 0);
		await key('ArrowDown');
		expect(field().value).toBe('one\ntwo');
		await key('ArrowUp');
		expect(field().value).toBe('before');
		await key('ArrowDown'); // behind the last line
		expect(field().value).toBe('one\ntwo');
	});

	it('is given up by Escape, which stops nothing, or by its button', async () => {
		show({ busy: true });
		await key('ArrowUp');
		await write('other words');
		await key('Escape');
		expect([field().value, note()]).toEqual(['', undefined]);
		expect(spy.onstop).not.toHaveBeenCalled();
		await key('ArrowUp');
		await fireEvent.click(screen.getByRole('button', { name: 'Don’t edit' }));
		expect([field().value, note()]).toEqual(['', undefined]);
		await write('new');
		await key('Enter');
		expect(spy.onfork).not.toHaveBeenCalled();
		expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('new', [], 'queue');
	});

	it('stays when there is no fork, and asks for the same one again', async () => {
		show();
		spy.onfork.mockResolvedValueOnce(undefined);
		await key('ArrowUp');
		await write('better');
		await key('Enter');
		await vi.waitFor(() => expect(field().readOnly).toBe(false));
		expect([field().value, spy.onsend.mock.calls.length]).toEqual(['better', 0]);
		expect(note()).toContain('your last message');
		await key('Enter');
		await vi.waitFor(() => expect(spy.onsend).toHaveBeenCalledWith('better', [], 'queue', 'f1'));
		expect(spy.onfork.mock.calls[0]).toEqual(spy.onfork.mock.calls[1]);
	});

	it('is sent once, and not where another conversation is shown by then', async () => {
		let made!: (session: string) => void;
		spy.onfork.mockImplementation(() => new Promise((done) => (made = done)));
		const { rerender } = show();
		await key('ArrowUp');
		await key('Enter');
		await key('Enter');
		expect(spy.onfork).toHaveBeenCalledOnce();
		expect(field().readOnly).toBe(true);
		await rerender({ session: 's2' });
		await write('something else');
		made('f1');
		await vi.waitFor(() => expect(field().readOnly).toBe(false));
		expect([field().value, spy.onsend.mock.calls.length]).toEqual(['something else', 0]);
	});

	it('is still one after a reload, and in its session only', async () => {
		const { unmount, rerender } = show();
		await key('ArrowUp');
		await write('half an edit');
		await rerender({ session: 's2' });
		expect([field().value, note()]).toEqual(['', undefined]);
		await rerender({ session: 's1' });
		expect(note()).toContain('your last message');
		unmount();
		show();
		expect([field().value, note()]).toEqual(['half an edit', expect.stringContaining('your last message')]);
		await key('Enter');
		await vi.waitFor(() => expect(spy.onsend).toHaveBeenCalledWith('half an edit', [], 'queue', 'f1'));
	});

	it('keeps its files, but those that are left out', async () => {
		const files = ['notes.txt', 'plan.md'].map((name) => ({ path: `uploads/${name}`, mime: 'text/plain', size: '5 B' }));
		show({ history: () => [{ ...past('3', ''), files }] });
		await key('ArrowUp');
		await fireEvent.click(screen.getByRole('button', { name: 'Leave out plan.md' }));
		await key('Enter'); // there is a file, so there is a message
		await vi.waitFor(() => expect(spy.onsend).toHaveBeenCalledWith('[attached file: uploads/notes.txt, text/plain, 5 B]', [], 'queue', 'f1'));
	});
});

describe('a file that is named', () => {
	const paths = ['src/main.go', 'src/model.go', 'my notes.md'];
	let asked: string[];
	let answer: (q: string) => Promise<Response> | Response;
	const found = (list: { path: string; folder?: boolean }[], more = {}) => new Response(JSON.stringify({ agent: 'main', files: list, ...more }));
	const option = (name: string) => screen.findByRole('option', { name });
	const press = (key: string) => fireEvent.keyDown(field(), { key });

	beforeEach(() => {
		asked = [];
		answer = (q) => found(paths.filter((p) => p.includes(q)).map((path) => ({ path })));
		vi.stubGlobal('fetch', async (target: string, init: RequestInit) => {
			const u = new URL(target, 'http://gateway.test');
			expect([u.pathname, u.searchParams.get('agent'), u.searchParams.get('session')]).toEqual(['/api/files', 'main', 's1']);
			asked.push(u.searchParams.get('q') ?? '');
			const r = await answer(u.searchParams.get('q') ?? '');
			init.signal?.throwIfAborted();
			return r;
		});
	});

	it('is completed by keyboard and stands in the message as its path', async () => {
		show();
		await write('compare @m');
		const first = await option('src/main.go');
		expect(screen.getByRole('listbox', { name: 'Files' }).id).toBe(field().getAttribute('aria-controls'));
		expect(field().getAttribute('aria-activedescendant')).toBe(first.id);
		await press('ArrowDown');
		expect(field().getAttribute('aria-activedescendant')).toBe((await option('src/model.go')).id);
		await press('Enter');
		expect(field().value).toBe('compare src/model.go ');
		expect(screen.queryByRole('option')).toBeNull();
		await write('compare src/model.go @note');
		await option('my notes.md');
		await press('Tab');
		expect(field().value).toBe('compare src/model.go "my notes.md" ');
		await press('Enter');
		expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('compare src/model.go "my notes.md"', [], 'queue');
	});

	it('is chosen by a click', async () => {
		show();
		await write('@not');
		await fireEvent.click(await option('my notes.md'));
		expect(field().value).toBe('"my notes.md" ');
	});

	it('goes into a folder, and takes it when it is chosen again', async () => {
		show();
		answer = (q) => found(q === 'src/' ? [{ path: 'src', folder: true }, { path: 'src/main.go' }] : [{ path: 'src', folder: true }]);
		await write('@sr');
		await option('src/');
		await press('Enter');
		expect(field().value).toBe('@src/');
		await option('src/main.go');
		await press('Enter');
		expect(field().value).toBe('src/ ');
		expect(spy.onsend).not.toHaveBeenCalled();
	});

	it('offers only the folder itself until what is in it is known', async () => {
		show();
		answer = () => found([{ path: 'src', folder: true }, { path: 'src/main.go' }]);
		await write('@sr and more');
		field().setSelectionRange(3, 3);
		await fireEvent.input(field());
		await option('src/main.go');
		answer = () => new Promise(() => {});
		await press('Enter');
		expect(field().value).toBe('@src/ and more');
		expect(screen.getAllByRole('option').map((o) => o.getAttribute('aria-label'))).toEqual(['src/']);
		await press('Enter');
		expect(field().value).toBe('src/ and more');
		expect(field().selectionStart).toBe(5);
		expect(spy.onsend).not.toHaveBeenCalled();
	});

	it('leaves Enter to the message when nothing fits', async () => {
		show();
		await write('ask @ada');
		await vi.waitFor(() => expect(asked).toEqual(['ada']));
		await press('Enter');
		expect(spy.onsend).toHaveBeenCalledExactlyOnceWith('ask @ada', [], 'queue');
	});

	it('shows what still fits until there is an answer, and never an old one', async () => {
		show();
		await write('@m');
		await option('src/main.go');
		let tell!: (r: Response) => void;
		answer = () => new Promise((done) => (tell = done));
		await write('@mai');
		expect(screen.getAllByRole('option').map((o) => o.textContent.trim())).toEqual(['src/main.go']);
		const late = tell;
		answer = () => found([{ path: 'mail.txt' }]);
		await write('@mail');
		await option('mail.txt');
		late(found([{ path: 'old.txt' }]));
		await Promise.resolve();
		expect(screen.getAllByRole('option').map((o) => o.textContent.trim())).toEqual(['mail.txt']);
	});

	it('is taken by a Tab that came before the answer', async () => {
		show();
		let tell!: (r: Response) => void;
		answer = () => new Promise((done) => (tell = done));
		await write('@main');
		expect(await press('Tab')).toBe(false);
		answer = () => found([]);
		tell(found([{ path: 'src/main.go' }]));
		await vi.waitFor(() => expect(field().value).toBe('src/main.go '));
	});

	it('is offered no more after Escape, which stops nothing', async () => {
		show({ busy: true });
		await write('@m');
		await option('src/main.go');
		await press('Escape');
		expect(screen.queryByRole('option')).toBeNull();
		expect(spy.onstop).not.toHaveBeenCalled();
		await write('@ma');
		expect(asked).toEqual(['m']);
		await write('@ma and @mo');
		await option('src/model.go');
	});

	it('ends when the caret leaves it', async () => {
		show();
		await write('@m');
		await option('src/main.go');
		field().setSelectionRange(0, 0);
		await fireEvent(field(), new Event('selectionchange'));
		expect(screen.queryByRole('option')).toBeNull();
	});

	it('tells when there is more', async () => {
		show();
		answer = () => found([{ path: 'a' }], { left_out: 1234 });
		await write('@');
		await screen.findByText('1.2k more: write more of the name');
		answer = () => found([{ path: 'a' }], { left_out: 3, partial: true });
		await write('@a');
		await screen.findByText(/Not everything was looked at/);
	});

	it('asks no more where files can’t be listed, and is quiet when that fails', async () => {
		show();
		answer = () => new Response('{}', { status: 500 });
		await write('@m');
		await vi.waitFor(() => expect(asked).toEqual(['m']));
		answer = () => new Response('{}', { status: 403 });
		await write('@ma');
		await vi.waitFor(() => expect(asked).toEqual(['m', 'ma']));
		await new Promise((done) => setTimeout(done)); // it is read
		await write('@mai');
		expect(asked).toEqual(['m', 'ma']);
		expect(screen.queryByRole('option')).toBeNull();
	});
});
