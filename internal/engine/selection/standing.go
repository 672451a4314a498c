package selection

// Standing is how well a tool stood in the selection for a message.
type Standing struct {
	Score float64 // how well the message fits it; 0 when none of its words does
	Place int     // among the tools that aren't pinned, the best is 1; 0 when the score is
	Least float64 // the score of the last tool within Limit; 0 when fewer have one
	Limit int     // how many a message picks at most: tools.rag.top_k
}

// Standing tells how well the message of r fits a permitted tool by words, picked or
// not.
func (s *Selector) Standing(r Request, name string) Standing {
	p := &picking{Selector: s, Request: r, index: make(map[string]int, 64)}
	p.pin()
	at := Standing{Limit: s.o.TopK}
	hits := s.indexOf(r.Catalog).index.all(r.Ask.Message.Text(), func(doc int) bool {
		e := p.entry(r.Catalog.Entries[doc].Def.Name)
		if e == nil || !p.offers(e) {
			return false
		}
		_, pinned := p.index[e.Def.Name]
		return !pinned || e.Def.Name == name
	})
	for i, h := range hits {
		if i+1 == s.o.TopK {
			at.Least = h.Score
		}
		if r.Catalog.Entries[h.Doc].Def.Name == name {
			at.Place, at.Score = i+1, h.Score
		}
	}
	return at
}
