package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// madeImage is an image that a model made, as OpenRouter and servers after its
// example put it into a delta or a message.
type madeImage struct {
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// readImages reads a list of images. One that is only an address is told in the
// words: addresses are not fetched.
func (r *reply) readImages(s *wire.Scan) {
	raw := s.Raw()
	r.size += len(raw)
	var list []madeImage
	if !s.OK() || json.Unmarshal(raw, &list) != nil {
		return // a form that nobody knows; the words are there all the same
	}
	for _, one := range list {
		url := strings.TrimSpace(one.ImageURL.URL)
		data, ok := imageOf(url)
		switch {
		case ok:
			r.addImage(data)
		case strings.HasPrefix(url, "http"):
			r.content.Add([]byte("\n" + url + "\n"))
		}
	}
}

// imageOf is the image in a data: URL, if models take its type; what the
// server calls it doesn't count.
func imageOf(url string) ([]byte, bool) {
	head, body, ok := strings.Cut(url, ",")
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(body)
	return data, err == nil && llm.IsImage(http.DetectContentType(data))
}

// addImage takes in an image, once: some servers send what is there so far with
// each delta.
func (r *reply) addImage(data []byte) {
	if r.size > provider.MaxReply {
		return // which is told behind the piece
	}
	if slices.ContainsFunc(r.images, func(p llm.Part) bool { return bytes.Equal(p.Media.Data, data) }) {
		return
	}
	r.size += provider.PartSize
	kind := http.DetectContentType(data)
	name := fmt.Sprintf("image-%d.%s", len(r.images)+1, strings.TrimPrefix(kind, "image/"))
	r.images = append(r.images, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: kind, Name: name, Data: data}})
}
