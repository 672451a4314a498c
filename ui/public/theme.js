// Applies the remembered theme before the page is drawn, so that it does not
// flash. A file of its own, because the page's policy allows no inline script.
// src/lib/state/theme.svelte.ts writes what is read here.
try {
	const theme = localStorage.getItem('goclaw.theme');
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
	// Storage is forbidden: the system's theme it is.
}
