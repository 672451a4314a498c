package blob

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache keeps recently used content in memory, by digest, up to a number of
// bytes. Content never changes under its digest, so nothing in it goes stale.
type cache struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[string, []byte] // nil when there is no cache
	max  int64
	held int64
}

func newCache(max int64) *cache {
	c := &cache{max: max}
	if max <= 0 {
		return c
	}
	lru, err := simplelru.NewLRU(math.MaxInt32, func(_ string, data []byte) { c.held -= int64(len(data)) })
	if err != nil {
		panic("blob: " + err.Error()) // only a size that is not positive is an error
	}
	c.lru = lru
	return c
}

// add keeps data. What alone would fill more than half of the cache is left
// out, so that one huge result doesn't push out all others.
func (c *cache) add(sum string, data []byte) {
	n := int64(len(data))
	if c.lru == nil || n > c.max/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lru.Contains(sum) {
		c.lru.Get(sum) // now the most recent
		return
	}
	c.lru.Add(sum, data)
	c.held += n
	for c.held > c.max {
		c.lru.RemoveOldest()
	}
}

func (c *cache) get(sum string) ([]byte, bool) {
	if c.lru == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(sum)
}
