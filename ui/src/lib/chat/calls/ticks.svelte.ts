// A clock for what is running, quick enough for tenths of seconds. It stands
// while nothing runs or nobody looks.
import { createSubscriber } from 'svelte/reactivity';

const subscribe = createSubscriber((update) => {
	const timer = setInterval(() => {
		if (!document.hidden) update();
	}, 200);
	return () => clearInterval(timer);
});

/** ticks is the time in milliseconds; who reads it in a component is told of its going on. */
export function ticks(): number {
	subscribe();
	return Date.now();
}
