// One clock for all relative times of the page. It stands while nobody looks.
import { createSubscriber } from 'svelte/reactivity';

const tick = 15_000; // milliseconds

const subscribe = createSubscriber((update) => {
	let timer: ReturnType<typeof setInterval> | undefined;
	const seen = () => {
		clearInterval(timer);
		timer = undefined;
		if (document.hidden) return;
		update();
		timer = setInterval(update, tick);
	};
	document.addEventListener('visibilitychange', seen);
	timer = setInterval(update, tick);
	return () => {
		clearInterval(timer);
		document.removeEventListener('visibilitychange', seen);
	};
});

// now is the time in milliseconds; whoever reads it in a component is told of its going on.
export function now(): number {
	subscribe();
	return Date.now();
}
