package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
)

// maxImages bounds how many images of one type are saved side by side.
const maxImages = 1000

// attachment says what became of an attachment: what a model made is saved to
// the folder in which the command runs, never over another file.
func attachment(e agent.Event) string {
	if e.Media == nil || len(e.Media.Data) == 0 {
		return "attached: " + e.Ref
	}
	name, err := saveMade(e.Media)
	if err != nil {
		return fmt.Sprintf("made %s (%s), which could not be saved: %v", e.Media.Name, e.Media.MIME, err)
	}
	return "saved " + name
}

// saveMade writes m under a name that is free. Neither the name nor the type is
// taken from the model as it is.
func saveMade(m *agent.Made) (string, error) {
	ending := "bin"
	if kind, _, err := mime.ParseMediaType(m.MIME); err == nil && strings.HasPrefix(kind, "image/") {
		ending = strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return -1
			}
			return r
		}, strings.TrimPrefix(kind, "image/"))
	}
	for n := 1; n <= maxImages; n++ {
		name := fmt.Sprintf("image-%d.%s", n, ending)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(m.Data)
		return name, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("there are %d images here already", maxImages)
}
