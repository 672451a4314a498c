// copy puts text on the clipboard and tells whether it could. Over plain HTTP
// from another machine browsers have no clipboard; the older way still works there.
export async function copy(text: string): Promise<boolean> {
	if (navigator.clipboard) {
		try {
			await navigator.clipboard.writeText(text);
			return true;
		} catch {
			// Forbidden or without focus: the older way asks for less.
		}
	}
	const area = document.createElement('textarea');
	const focused = document.activeElement;
	area.value = text;
	area.readOnly = true;
	area.className = 'sr-only';
	// Within an open dialog, which would not let go of the focus.
	(focused?.closest('[role=dialog]') ?? document.body).append(area);
	area.select();
	try {
		return document.execCommand('copy');
	} catch {
		return false;
	} finally {
		area.remove();
		if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
	}
}
