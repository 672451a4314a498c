// Who is signed in.
import { api, type Schemas } from '../api/client';

class Me {
	value = $state.raw<Schemas['Me']>();

	get admin(): boolean {
		return this.value?.user.role === 'admin';
	}

	get name(): string {
		const user = this.value?.user;
		return user ? user.name || user.id : '';
	}

	async load(signal?: AbortSignal): Promise<void> {
		this.value = await api.get('/api/me', { signal });
	}

	// signOut ends the browser's session and leaves for the sign-in page.
	async signOut(): Promise<void> {
		await api.post('/api/signout');
		location.assign('/signin');
	}
}

export const me = new Me();
