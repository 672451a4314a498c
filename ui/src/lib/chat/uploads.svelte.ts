// The files that wait in a composer. Each is sent to the gateway as soon as it
// is there, so that the message itself goes at once.
import { aborted, api, ApiError, ask, sayError } from '../api/client';
import { bytes } from '../format';
import { sentence } from '../visible';
import type { File as Kept } from './conversation.svelte';

/** Upload is one file on its way. */
export interface Upload {
	readonly key: number;
	readonly name: string;
	/** size is 0 until the file is there. */
	size: number;
	readonly mime: string;
	/** preview is the address of the picture, for images. */
	readonly preview: string;
	/** progress counts parts of 1. */
	progress: number;
	/** id is the gateway's, once it has the file. */
	id: string;
	error: string;
	/** hopeless says that another try would fail as well. */
	hopeless: boolean;
}

/** given takes apart what was dropped or pasted: the files, and the names of folders, which look like files that can't be read. */
export function given(from: DataTransfer | null): { files: File[]; folders: string[] } {
	const folders: string[] = [];
	const files: File[] = [];
	const items = [...(from?.items ?? [])].filter((i) => i.kind === 'file');
	if (items.length === 0) return { files: [...(from?.files ?? [])], folders };
	for (const item of items) {
		const entry = item.webkitGetAsEntry?.();
		if (entry?.isDirectory) folders.push(entry.name);
		else {
			const f = item.getAsFile();
			if (f) files.push(f);
		}
	}
	return { files, folders };
}

/** readable says whether there is anything to read: a folder has no bytes, nor has what was moved meanwhile. */
async function readable(f: File): Promise<boolean> {
	try {
		await f.slice(0, 1).arrayBuffer();
		return true;
	} catch {
		return false;
	}
}

/** Stored is a file of an earlier message, at its address. */
export interface Stored {
	readonly name: string;
	readonly mime: string;
	readonly url: string;
}

/** shown are the images that a browser shows. */
const shown = /^image\/(png|jpeg|gif|webp|avif)$/;

/** limit is what the gateway takes, in bytes. */
export const limit = 20 * 1024 * 1024;

/** most is how many files the gateway takes with a message. */
export const most = 20;

// Files wait for their message, whichever session is shown meanwhile.
const waiting = new Map<string, Uploads>();
const name = (agent: string, session: string | undefined) => `${agent}/${session ?? ''}`;

/** uploadsOf gives the files that wait in a session's composer. */
export function uploadsOf(agent: string, session: string | undefined): Uploads {
	const key = name(agent, session);
	const known = waiting.get(key);
	if (known) return known;
	const fresh = new Uploads();
	waiting.set(key, fresh);
	return fresh;
}

/** moveUploads gives the files of a session that has just begun to it. */
export function moveUploads(agent: string, session: string): void {
	const moved = uploadsOf(agent, undefined);
	waiting.delete(name(agent, undefined));
	waiting.set(name(agent, session), moved);
}

export class Uploads {
	list = $state<Upload[]>([]);
	#next = 1;
	#aborts = new Map<number, AbortController>();
	#files = new Map<number, File>();
	#stored = new Map<number, Stored>(); // those that are still to be read

	get busy(): boolean {
		return this.list.some((u) => !u.id && !u.error);
	}

	get failed(): boolean {
		return this.list.some((u) => u.error !== '');
	}

	/** hopeless says that one of them can never be sent. */
	get hopeless(): boolean {
		return this.list.some((u) => u.hopeless);
	}

	/** add begins to send files. */
	add(files: Iterable<File>): void {
		for (const f of files) {
			const key = this.#next++;
			const preview = shown.test(f.type) ? URL.createObjectURL(f) : '';
			this.list.push({ key, name: f.name || 'pasted', size: f.size, mime: f.type || 'application/octet-stream', preview, progress: 0, id: '', error: '', hopeless: f.size === 0 || f.size > limit });
			this.#files.set(key, f);
			void this.#send(key, f);
		}
	}

	/** addStored begins to send files of an earlier message once more. */
	addStored(files: readonly Stored[]): void {
		for (const f of files) {
			const key = this.#next++;
			this.list.push({ key, name: f.name, size: 0, mime: f.mime, preview: shown.test(f.mime) ? f.url : '', progress: 0, id: '', error: '', hopeless: false });
			this.#stored.set(key, f);
			void this.#read(key, f);
		}
	}

	async #read(key: number, from: Stored): Promise<void> {
		const abort = new AbortController();
		this.#aborts.set(key, abort);
		const own = () => this.list.find((u) => u.key === key);
		try {
			const f = new File([await (await ask(from.url, { signal: abort.signal })).blob()], from.name, { type: from.mime });
			const u = own();
			if (!u) return;
			u.size = f.size;
			this.#stored.delete(key);
			this.#files.set(key, f);
			await this.#send(key, f);
		} catch (err) {
			const u = own();
			if (u && !aborted(err)) u.error = sayError(err).text;
		} finally {
			this.#aborts.delete(key);
		}
	}

	async #send(key: number, f: File): Promise<void> {
		const own = () => this.list.find((u) => u.key === key);
		if (f.size === 0 || f.size > limit) {
			const u = own();
			if (u) u.error = f.size === 0 ? 'The file is empty.' : `${bytes(f.size)} is more than the ${bytes(limit)} that are taken.`;
			return;
		}
		const abort = new AbortController();
		this.#aborts.set(key, abort);
		try {
			const kept = await api.upload(f, own()?.name ?? f.name, {
				signal: abort.signal,
				progress: (part) => {
					const u = own();
					if (u) u.progress = part;
				},
			});
			const u = own();
			if (u) {
				u.id = kept.id;
				u.progress = 1;
			}
		} catch (err) {
			if (aborted(err)) return;
			// A browser says of a file that it can't read what it says when nobody answers.
			const lost = err instanceof ApiError && err.status === 0 && !(await readable(f));
			const u = own();
			if (!u) return;
			u.hopeless ||= lost;
			u.error = lost ? 'It can’t be read: it is a folder, or was moved or deleted.' : sentence(sayError(err).text);
		} finally {
			this.#aborts.delete(key);
		}
	}

	/** again tries a file that could not be sent once more. */
	again(key: number): void {
		const u = this.list.find((u) => u.key === key);
		const f = this.#files.get(key);
		const from = this.#stored.get(key);
		if (!u?.error || !(f || from)) return;
		u.error = '';
		u.progress = 0;
		if (f) void this.#send(key, f);
		else if (from) void this.#read(key, from);
	}

	remove(key: number): void {
		this.#aborts.get(key)?.abort();
		this.#forget(this.list.filter((u) => u.key === key));
	}

	/** take gives the files that the gateway has and forgets them. */
	take(): Kept[] {
		const kept = this.list.filter((u) => u.id);
		const out = kept.map((u) => ({ id: u.id, name: u.name, mime: u.mime, size: u.size }));
		this.#forget(kept);
		return out;
	}

	/** give puts back files that the gateway has. */
	give(files: readonly Kept[]): void {
		for (const f of files) this.list.push({ ...f, key: this.#next++, preview: '', progress: 1, error: '', hopeless: false });
	}

	/** clear takes all of them out. */
	clear(): void {
		for (const a of this.#aborts.values()) a.abort();
		this.#forget(this.list);
	}

	#forget(gone: Upload[]): void {
		for (const u of gone) {
			if (u.preview) URL.revokeObjectURL(u.preview);
			this.#files.delete(u.key);
			this.#stored.delete(u.key);
		}
		const keys = new Set(gone.map((u) => u.key));
		this.list = this.list.filter((u) => !keys.has(u.key));
	}
}
