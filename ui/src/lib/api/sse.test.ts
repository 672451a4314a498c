import { describe, expect, it } from 'vitest';
import { Parser, type Message } from './sse';

const bytes = (text: string) => new TextEncoder().encode(text);

function all(text: string, step = Infinity): Message[] {
	const parser = new Parser();
	const data = bytes(text);
	const found: Message[] = [];
	for (let i = 0; i < data.length; i += step) found.push(...parser.push(data.subarray(i, Math.min(data.length, i + step))));
	return found;
}

describe('Parser', () => {
	const cases: [name: string, text: string, want: Message[]][] = [
		['one event', 'id: 7\nevent: a\ndata: {"x":1}\n\n', [{ id: '7', type: 'a', data: '{"x":1}' }]],
		['no type is message', 'data: x\n\n', [{ id: '', type: 'message', data: 'x' }]],
		['several lines of data', 'data: a\ndata:\ndata: b\n\n', [{ id: '', type: 'message', data: 'a\n\nb' }]],
		['only the first space goes', 'data:  two\ndata:none\n\n', [{ id: '', type: 'message', data: ' two\nnone' }]],
		['comments and unknown fields say nothing', ': keep-alive\n\nwhat: x\ndata: a\n: in between\n\n', [{ id: '', type: 'message', data: 'a' }]],
		['CRLF', 'id: 1\r\nevent: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n', [{ id: '1', type: 'a', data: 'x' }, { id: '1', type: 'message', data: 'y' }]],
		['CR', 'data: x\r\rdata: y\r\r', [{ id: '', type: 'message', data: 'x' }, { id: '', type: 'message', data: 'y' }]],
		['the id stays until another comes', 'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n', [
			{ id: '1', type: 'message', data: 'a' },
			{ id: '1', type: 'message', data: 'b' },
			{ id: '', type: 'message', data: 'c' },
		]],
		['an id with NUL is ignored', 'id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n', [
			{ id: '1', type: 'message', data: 'a' },
			{ id: '1', type: 'message', data: 'b' },
		]],
		['no data is no event', 'event: a\n\ndata: b\n\n', [{ id: '', type: 'message', data: 'b' }]],
		['a byte order mark', '\ufeffdata: a\n\n', [{ id: '', type: 'message', data: 'a' }]],
		['an incomplete event is none', 'data: a\n\ndata: b\n', [{ id: '', type: 'message', data: 'a' }]],
		['beyond ASCII', 'data: grüße 🦀 日本\n\n', [{ id: '', type: 'message', data: 'grüße 🦀 日本' }]],
	];
	for (const [name, text, want] of cases) {
		it(name, () => {
			// However the bytes are cut, the events are the same.
			for (const step of [Infinity, 1, 2, 3, 5, 7]) expect(all(text, step), `in pieces of ${step}`).toEqual(want);
		});
	}

	it('tells the pause that the server asks for', () => {
		const parser = new Parser();
		parser.push(bytes('retry: 1000\n\n'));
		expect(parser.retry).toBe(1000);
		parser.push(bytes('retry: soon\n\n'));
		expect(parser.retry).toBe(1000);
	});

	it('begins with the id that was seen last', () => {
		const parser = new Parser('41');
		expect(parser.push(bytes('data: a\n\n'))).toEqual([{ id: '41', type: 'message', data: 'a' }]);
	});
});
