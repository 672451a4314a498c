package sqlite

// dropContents drops content that no living ref has.
func dropContents(t *tx) error {
	_, err := t.exec("DELETE FROM contents WHERE NOT EXISTS (SELECT 1 FROM refs WHERE refs.sum = contents.sum AND refs.gone = '')")
	return err
}
