// floats is where menus and tooltips are drawn: a place within a landmark, so
// that a screen reader finds them in the page's order of things, and outside of
// everything that clips. Without a frame, as in a test, it is the body.
export function floats(): Element {
	return document.getElementById('floats') ?? document.body;
}
