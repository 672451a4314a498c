import { describe, expect, it } from 'vitest';
import { items } from './items';
import * as m from './model';
import { pastOf } from './past';
import { caller, makeRun, message } from './testdata/runs';
import type { Message, Principal } from './types';

const turn = (number: number, said: Message, by: Principal = caller) => ({ ...makeRun(number, { number }).turn, run: `run${number}`, message: said, caller: by });

describe('what was said before', () => {
	it('is the person’s own that has become turns, the last first', () => {
		let c = m.applyPage(m.empty, { turns: [turn(1, message('one')), turn(2, message('of another'), { ...caller, id: 'eve' }), turn(3, message('three'))] });
		c = m.sending(c, { key: 'k', message: message('on its way'), attachments: [], busy: 'queue' });
		c = m.applyRun(c, { ...makeRun(9).run, id: 'waits', state: 'queued', message: message('waits') });
		const list = items(c, m.turns(c), caller.id);
		expect(pastOf(list, 'main', 's1').map((p) => [p.turn, p.text])).toEqual([['run3', 'three'], ['run1', 'one']]);
		expect(pastOf(list, 'main', undefined)).toEqual([]);
	});

	it('has files that are in the workspace, and the addresses of pictures', () => {
		const said: Message = {
			role: 'user',
			parts: [
				{ kind: 'text', text: 'Look' },
				{ kind: 'file', text: 'for the model', media: { mime: 'text/plain', name: 'uploads/a.txt', size: 5 } },
				{ kind: 'media', media: { mime: 'image/png', name: 'dot.png' } },
			],
		};
		const c = m.applyPage(m.empty, { turns: [turn(1, said)] });
		expect(pastOf(items(c, m.turns(c), caller.id), 'main', 's/1')).toEqual([{
			turn: 'run1', text: 'Look', files: [{ path: 'uploads/a.txt', mime: 'text/plain', size: '5 B' }],
			media: [{ name: 'dot.png', mime: 'image/png', url: expect.stringMatching(/\/api\/sessions\/main\/s%2F1\/turns\/run1\/media\/message(:|%3A)0$/) }],
		}]);
	});
});
