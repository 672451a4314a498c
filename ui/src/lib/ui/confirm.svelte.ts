// A question to the person before something that can't be taken back.

export interface Question {
	title: string;
	text: string;
	// action is the word on the button that does it.
	action: string;
	danger?: boolean;
	// run does it. While it runs the dialog stays; what it throws is shown there.
	run: () => Promise<void> | void;
}

class Asked {
	question = $state.raw<Question>();
}

export const asked = new Asked();

// confirm asks; one question at a time, the last one stands.
export function confirm(question: Question): void {
	asked.question = question;
}
