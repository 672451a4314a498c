// The official client library against the gateway: what others build on must
// work with the programs that they have.
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Gateway } from './harness';

let gateway: Gateway;
let client: OpenAI;

beforeAll(async () => {
	gateway = await Gateway.start({
		files: { 'a.txt': 'forty-two\n' },
		// Each answer is given once, to the first request that holds its words.
		script: {
			answers: [
				{ when: 'hi whole', text: 'Hello!', usage: { input: 7, output: 2 } },
				{ when: 'read it', text: 'I look.', calls: [{ name: 'file_read', args: { path: 'a.txt' } }], usage: { input: 9, output: 1 } },
				{ when: 'forty-two', text: 'It says forty-two.', pieces: 4 },
				{ when: 'hi helper', text: 'Hello!', pieces: 3 },
				{ when: 'say one', text: '1' },
				{ when: 'say two', text: '2' },
				{ when: 'say three', text: '3' },
				{ when: 'who am I', text: 'You are Ada.' },
				{ when: 'break whole', status: 401, body: '{"error":{"message":"bad key"}}' },
				{ when: 'break stream', status: 401, body: '{"error":{"message":"bad key"}}' },
			],
		},
	});
	client = new OpenAI({ apiKey: gateway.token, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(async () => {
	await gateway?.close();
});

const user = (content: string) => ({ role: 'user' as const, content });

interface Session {
	id: string;
	turns: number;
	title: string;
}
const sessions = async () => (await gateway.api<{ sessions: Session[] }>('/api/sessions')).sessions;

describe('the client library of OpenAI', () => {
	it('lists the agents as models', async () => {
		const ids: string[] = [];
		for await (const m of client.models.list()) ids.push(m.id);
		expect(ids).toEqual(['goclaw/main']);
		expect((await client.models.retrieve('goclaw/main')).owned_by).toBe('goclaw');
	});

	it('gets a whole answer', async () => {
		const c = await client.chat.completions.create({ model: 'goclaw/main', messages: [user('hi whole')] });
		expect(c.choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Hello!' });
		expect(c.choices[0]?.finish_reason).toBe('stop');
		expect(c.usage?.total_tokens).toBe((c.usage?.prompt_tokens ?? 0) + (c.usage?.completion_tokens ?? 0));
	});

	it('gets an answer in pieces, with tools in between', async () => {
		const stream = await client.chat.completions.create({
			model: 'goclaw',
			messages: [user('read it')],
			stream: true,
			stream_options: { include_usage: true },
		});
		let text = '';
		let pieces = 0;
		let tokens = 0;
		for await (const chunk of stream) {
			const piece = chunk.choices[0]?.delta.content ?? '';
			if (piece) pieces++;
			text += piece;
			tokens = chunk.usage?.total_tokens ?? tokens;
		}
		expect(text).toBe('I look.\n\nIt says forty-two.');
		expect(pieces).toBeGreaterThan(1);
		expect(tokens).toBeGreaterThan(0);
	});

	it('streams by its helper', async () => {
		const runner = client.chat.completions.stream({ model: 'goclaw/main', messages: [user('hi helper')] });
		expect(await runner.finalContent()).toBe('Hello!');
	});

	it('goes on in a session that has a name', async () => {
		const before = await sessions();
		for (const words of ['say one', 'say two']) {
			await client.chat.completions.create({ model: 'goclaw/main', user: 'a name of two words', messages: [user(words)] });
		}
		await client.chat.completions.create(
			{ model: 'goclaw/main', messages: [user('say one'), { role: 'assistant', content: '1' }, user('say three')] },
			{ headers: { 'X-GoClaw-Session': 'a name of two words' } },
		);
		const made = (await sessions()).filter((s) => !before.some((b) => b.id === s.id));
		expect(made).toHaveLength(1);
		expect(made[0]?.turns).toBe(3);
	});

	it('begins a new session with what was said before', async () => {
		const before = await sessions();
		await client.chat.completions.create({
			model: 'goclaw/main',
			messages: [{ role: 'system', content: 'be kind' }, user('my name is Ada'), { role: 'assistant', content: 'Hello Ada' }, user('who am I')],
		});
		const made = (await sessions()).filter((s) => !before.some((b) => b.id === s.id));
		expect(made).toHaveLength(1);
		const turns = await gateway.api<{ turns: { message: { parts: { text?: string }[] } }[] }>(`/api/sessions/main/${made[0]?.id}/turns`);
		expect(turns.turns.map((t) => t.message.parts[0]?.text)).toEqual(['my name is Ada', 'who am I']);
	});

	it('says what is wrong in its own terms', async () => {
		const ask = (over: object) => client.chat.completions.create({ model: 'goclaw/main', messages: [user('hi')], ...over });
		await expect(ask({ model: 'gpt-x' })).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
		await expect(ask({ n: 3 })).rejects.toMatchObject({ status: 400 });
		const tools = [{ type: 'function', function: { name: 'f' } }];
		await expect(ask({ tools: [{ type: 'function', function: { name: 'f', parameters: { type: 7 } } }] })).rejects.toMatchObject({ status: 400 });
		await expect(ask({ tools, tool_choice: { type: 'function', function: { name: 'g' } } })).rejects.toMatchObject({ status: 400, param: 'tool_choice.function.name' });
		await expect(ask({ messages: [user('break whole')] })).rejects.toMatchObject({ status: 502 });
		const stranger = new OpenAI({ apiKey: 'wrong', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
		await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 });
	});

	it('hears of a failure in the middle of a stream', async () => {
		const stream = await client.chat.completions.create({ model: 'goclaw/main', messages: [user('break stream')], stream: true });
		await expect(
			(async () => {
				for await (const _ of stream);
			})(),
		).rejects.toThrow(/bad key|key/);
	});
});
