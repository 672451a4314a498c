package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kinds of metrics, as the format names them.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// maxSeries bounds the combinations of labels of one metric. Names of tools and
// models come from outside; what is too much is counted together.
const maxSeries = 1000

// other stands in each label of what is counted together.
const other = "other"

// vector is a metric with its series, one for each combination of labels. It is
// safe for concurrent use, and none of its methods waits for anything but each
// other.
type vector struct {
	name, help, kind string
	labels           []string
	bounds           []float64 // of a histogram's buckets, ascending

	mu     sync.Mutex
	series map[string]*series // by the values, joined
}

// series is one combination of labels.
type series struct {
	values  []string
	value   float64  // of a counter or gauge; of a histogram the sum
	buckets []uint64 // of a histogram: how many fell into each, and beyond the last
}

func newVector(kind, name, help string, labels ...string) *vector {
	return &vector{name: name, help: help, kind: kind, labels: labels, series: map[string]*series{}}
}

func newHistogram(name, help string, bounds []float64, labels ...string) *vector {
	v := newVector(histogram, name, help, labels...)
	v.bounds = bounds
	return v
}

// of is the series of values, made when it is first needed. The caller holds
// the lock.
func (v *vector) of(values []string) *series {
	key := strings.Join(values, "\x00")
	s := v.series[key]
	if s != nil {
		return s
	}
	if len(v.series) >= maxSeries {
		values = slices.Repeat([]string{other}, len(values))
		key = strings.Join(values, "\x00")
		if s = v.series[key]; s != nil {
			return s
		}
	}
	s = &series{values: slices.Clone(values)}
	if v.kind == histogram {
		s.buckets = make([]uint64, len(v.bounds)+1)
	}
	v.series[key] = s
	return s
}

// add adds to a counter or gauge.
func (v *vector) add(by float64, values ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.of(values).value += by
}

// observe counts a value of a histogram.
func (v *vector) observe(x float64, values ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.of(values)
	s.value += x
	// The bound belongs to its bucket.
	i, _ := slices.BinarySearch(v.bounds, x)
	s.buckets[i]++
}

// write writes the metric in the text format of Prometheus, version 0.0.4, its
// series in the order of their labels. A metric without series is left out.
func (v *vector) write(w io.Writer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.series) == 0 {
		return
	}
	header(w, v.name, v.help, v.kind)
	all := make([]*series, 0, len(v.series))
	for _, s := range v.series {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *series) int { return slices.Compare(a.values, b.values) })
	for _, s := range all {
		if v.kind != histogram {
			sample(w, v.name, v.labels, s.values, s.value)
			continue
		}
		labels, values := append(slices.Clip(v.labels), "le"), append(slices.Clip(s.values), "")
		n := uint64(0)
		for i, c := range s.buckets {
			n += c
			values[len(values)-1] = "+Inf"
			if i < len(v.bounds) {
				values[len(values)-1] = number(v.bounds[i])
			}
			sample(w, v.name+"_bucket", labels, values, float64(n))
		}
		sample(w, v.name+"_sum", v.labels, s.values, s.value)
		sample(w, v.name+"_count", v.labels, s.values, float64(n))
	}
}

// The writers below write to a buffer, which has no errors.

func header(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(help), name, kind)
}

var escaped = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)

func sample(w io.Writer, name string, labels, values []string, x float64) {
	var b strings.Builder
	b.WriteString(name)
	for i, l := range labels {
		b.WriteByte("{,"[cmp.Compare(i, 0)])
		b.WriteString(l)
		b.WriteString(`="`)
		b.WriteString(escaped.Replace(strings.ToValidUTF8(values[i], "\uFFFD")))
		b.WriteByte('"')
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	b.WriteByte(' ')
	b.WriteString(number(x))
	b.WriteByte('\n')
	_, _ = io.WriteString(w, b.String())
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
