// The reader of text/event-stream, after the HTML standard: bytes in any
// pieces, lines ended by LF, CR or CRLF, data over several lines, comments.

export interface Message {
	// id is the last one that the stream gave, on this message or before it.
	id: string;
	type: string;
	data: string;
}

export class Parser {
	// id is the last one that was seen.
	id: string;
	// retry is the pause that the server asks for, in milliseconds; undefined when it said none.
	retry: number | undefined;

	#decoder = new TextDecoder('utf-8');
	#rest = '';
	#type = '';
	#data: string[] = [];
	#pending: string;
	#cr = false;
	#ended = false;

	constructor(lastId = '') {
		this.id = lastId;
		this.#pending = lastId;
	}

	// push takes the next bytes and gives the messages that they complete. What
	// an ended stream leaves incomplete is no message.
	push(bytes: Uint8Array): Message[] {
		if (this.#ended) throw new Error('the stream has ended');
		let text = this.#decoder.decode(bytes, { stream: true });
		const found: Message[] = [];
		if (text === '') return found;
		// A CR at the end of the last piece has ended its line; an LF here belongs to it.
		if (this.#cr && text.startsWith('\n')) text = text.slice(1);
		this.#cr = text.endsWith('\r');
		const ends = /\r\n|\n|\r/g;
		let from = 0;
		for (let end = ends.exec(text); end; end = ends.exec(text)) {
			const message = this.#line(this.#rest + text.slice(from, end.index));
			this.#rest = '';
			from = end.index + end[0].length;
			if (message) found.push(message);
		}
		this.#rest += text.slice(from);
		return found;
	}

	end(): void {
		this.#ended = true;
	}

	#line(line: string): Message | undefined {
		if (line === '') return this.#dispatch();
		const colon = line.indexOf(':');
		if (colon === 0) return undefined;
		const field = colon < 0 ? line : line.slice(0, colon);
		let value = colon < 0 ? '' : line.slice(colon + 1);
		if (value.startsWith(' ')) value = value.slice(1);
		switch (field) {
			case 'event':
				this.#type = value;
				break;
			case 'data':
				this.#data.push(value);
				break;
			case 'id':
				if (!value.includes('\0')) this.#pending = value;
				break;
			case 'retry':
				if (/^\d+$/.test(value)) this.retry = Number(value);
				break;
		}
		return undefined;
	}

	#dispatch(): Message | undefined {
		const type = this.#type || 'message';
		const data = this.#data;
		this.#type = '';
		this.#data = [];
		this.id = this.#pending;
		if (data.length === 0) return undefined;
		return { id: this.id, type, data: data.join('\n') };
	}
}
