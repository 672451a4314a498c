// Makes what is drawn equal to what should be, changing as little as it can: an
// answer grows at its end, and what a reader has selected there must stay so.

/** morph gives target the children of source, which is used up. */
export function morph(target: Element, source: ParentNode & Node): void {
	let old: ChildNode | null = target.firstChild;
	let next: ChildNode | null = source.firstChild;
	while (next) {
		const after: ChildNode | null = next.nextSibling;
		if (!old) {
			target.append(next);
		} else {
			const later: ChildNode | null = old.nextSibling;
			if (!merged(old, next)) old.replaceWith(next);
			old = later;
		}
		next = after;
	}
	while (old) {
		const later: ChildNode | null = old.nextSibling;
		old.remove();
		old = later;
	}
}

/** merged makes old equal to next in place, if it can. */
function merged(old: ChildNode, next: ChildNode): boolean {
	if (old instanceof Text && next instanceof Text) {
		if (old.data !== next.data) {
			if (next.data.startsWith(old.data)) old.appendData(next.data.slice(old.data.length));
			else old.data = next.data;
		}
		return true;
	}
	if (!(old instanceof Element) || !(next instanceof Element) || old.localName !== next.localName || !sameAttributes(old, next)) return false;
	morph(old, next);
	return true;
}

function sameAttributes(a: Element, b: Element): boolean {
	if (a.attributes.length !== b.attributes.length) return false;
	for (const { name, value } of a.attributes) if (b.getAttribute(name) !== value) return false;
	return true;
}
