import { expect, it } from 'vitest';
import { sentence } from './visible';

it.each([
	['the model is overloaded', 'The model is overloaded.'],
	['openai/test-model is overloaded; trying again in 2 s.', 'openai/test-model is overloaded; trying again in 2 s.'],
	['file_read was refused', 'file_read was refused.'],
	['ai.provider is empty', 'ai.provider is empty.'],
	['hooks[guard].match can not be used', 'hooks[guard].match can not be used.'],
	['stopped…', 'Stopped…'],
	['  ', ''],
])('a sentence of %j', (text, want) => expect(sentence(text)).toBe(want));
