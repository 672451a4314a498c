// The model that a person chose for a session, kept over reloads.
import { recall, remember } from '../storage';

const name = (agent: string, session: string | undefined) => `model.${agent}/${session ?? ''}`;

/** recallModel gives the model that was chosen; undefined when the agent's own answers. */
export function recallModel(agent: string, session: string | undefined): string | undefined {
	return recall(name(agent, session));
}

export function keepModel(agent: string, session: string | undefined, model: string | undefined): void {
	remember(name(agent, session), model);
}
