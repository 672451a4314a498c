// Whether the gateway can be reached, as the last requests and streams saw it.

const patience = 1500; // milliseconds; shorter breaks pass unseen

class Connection {
	// down is when requests began to fail (milliseconds since 1970); 0 while they don't.
	down = $state(0);
	// gone says that this has lasted, so that people should know.
	gone = $state(false);
	// retry is when the stream tries again; 0 when it does not wait.
	retry = $state(0);
	#timer: ReturnType<typeof setTimeout> | undefined;

	// lost is called by whoever got no answer.
	lost(retry = 0): void {
		this.retry = retry;
		if (this.down) return;
		this.down = Date.now();
		this.#timer = setTimeout(() => (this.gone = true), patience);
	}

	// reached is called by whoever got one, whatever it says.
	reached(): void {
		if (!this.down) return;
		clearTimeout(this.#timer);
		this.down = 0;
		this.gone = false;
		this.retry = 0;
	}
}

export const connection = new Connection();
