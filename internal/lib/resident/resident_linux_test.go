package resident

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The program goes on after its pages are gone, and holds fewer of them.
func TestRelease(t *testing.T) {
	before := filePages(t)
	if err := Release(); err != nil {
		t.Fatal(err)
	}
	if after := filePages(t); after >= before {
		t.Errorf("%d kB of files were in memory, and %d kB are", before, after)
	}
	if got := strings.Repeat("ab", 3); got != "ababab" || !slices.Contains(strings.Fields("a b c"), "c") {
		t.Errorf("%q", got)
	}
}

func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the system doesn't tell")
	return 0
}

// Only what has another copy is dropped.
func TestCleanMappings(t *testing.T) {
	t.Parallel()
	const smaps = `00400000-00401000 r--p 00000000 fe:00 12                                 /opt/my programs/goclaw
Size:                  4 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
00401000-01e6d000 r-xp 00001000 fe:00 12                                 /opt/my programs/goclaw
Anonymous:             4 kB
01e6d000-01e6e000 rw-p 01a6d000 fe:00 12                                 /opt/my programs/goclaw
Anonymous:             0 kB
01e6e000-03f83000 r--p 01a6e000 fe:00 12                                 /opt/my programs/goclaw
KernelPageSize:        4 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 13                         /usr/lib/libc.so.6
Anonymous:             0 kB
7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
`
	got, err := cleanMappings(strings.NewReader(smaps), "/opt/my programs/goclaw")
	if err != nil || !slices.Equal(got, []mapping{{0x400000, 0x401000}, {0x1e6e000, 0x3f83000}}) {
		t.Errorf("%x, %v", got, err)
	}
}
