// lastCall says in short why the last call of an offered tool did not run, from the
// detail of its state executed.
export function lastCall(detail = ''): string {
	if (/^(step|guard) /.test(detail)) return 'last call refused';
	if (detail.startsWith('plan mode')) return 'a call would be refused';
	const how = /^(refused|invalid|cancelled|interrupted)\b/.exec(detail)?.[1];
	return how ? `last call ${how}` : 'last call did not run';
}
