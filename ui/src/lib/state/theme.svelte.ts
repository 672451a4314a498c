// Light or dark: the person's choice, or the system's. public/theme.js applies
// a remembered choice before the page is drawn; the name and the values of what
// is stored are the same there.
import { recall, remember } from '../storage';

export type Choice = 'system' | 'light' | 'dark';

const choices: Choice[] = ['system', 'light', 'dark'];

class Theme {
	choice = $state<Choice>('system');
	#dark = $state(false);

	// dark tells what is shown.
	get dark(): boolean {
		return this.choice === 'system' ? this.#dark : this.choice === 'dark';
	}

	// start follows the system and other tabs until the returned function is called.
	start(): () => void {
		const system = window.matchMedia('(prefers-color-scheme: dark)');
		const change = () => (this.#dark = system.matches);
		change();
		const other = (e: StorageEvent) => {
			if (e.key === 'goclaw.theme' || e.key === null) this.#apply(read());
		};
		system.addEventListener('change', change);
		window.addEventListener('storage', other);
		this.#apply(read());
		return () => {
			system.removeEventListener('change', change);
			window.removeEventListener('storage', other);
		};
	}

	set(choice: Choice): void {
		remember('theme', choice === 'system' ? undefined : choice);
		this.#apply(choice);
	}

	#apply(choice: Choice): void {
		this.choice = choice;
		if (choice === 'system') delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = choice;
	}
}

function read(): Choice {
	const stored = recall('theme');
	return choices.find((c) => c === stored) ?? 'system';
}

export const theme = new Theme();
