package frontend

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"parley/a2a"
	"parley/frontend/view"
)

// What of a content is shown in the page; the rest is one click away, from our own address.
const (
	previewText = 64 << 10
	treeNodes   = 2000
	tableRows   = 200
	tableCols   = 50
)

// shown is content by type. Text that belongs together is one block.
func (s *Site) blocks(ctx context.Context, a *a2a.Artifact, href func(part int) string) []view.Block {
	var bs []view.Block
	for i := 0; i < len(a.Parts); i++ {
		p := &a.Parts[i]
		switch p.Kind {
		case a2a.PartText:
			from := i
			for i+1 < len(a.Parts) && joins(p, &a.Parts[i+1]) {
				i++
			}
			bs = append(bs, s.textBlock(ctx, a, p, a2a.Text(a.Parts[from:i+1]), href(from)))
		case a2a.PartData:
			bs = append(bs, dataBlock(ctx, nameOf(a, p, view.T(ctx, "Data")), p.Data, href(i)))
		case a2a.PartRaw:
			bs = append(bs, s.fileBlock(ctx, nameOf(a, p, view.T(ctx, "File")), p, href(i)))
		case a2a.PartURL:
			bs = append(bs, linkBlock(ctx, nameOf(a, p, ""), p, href(i)))
		case a2a.PartNoContent:
			bs = append(bs, view.Block{Kind: view.BlockFile, Name: nameOf(a, p, view.T(ctx, "File")), Detail: view.T(ctx, "The agent named it and did not send it")})
		}
	}
	return bs
}

// joins reports whether next goes on with the text of p: neither says that it is something of its own.
func joins(p, next *a2a.Part) bool {
	return next.Kind == a2a.PartText && next.Filename == p.Filename && next.MediaType == p.MediaType
}

func nameOf(a *a2a.Artifact, p *a2a.Part, other string) string {
	switch {
	case p.Filename != "":
		return path.Base(strings.ReplaceAll(p.Filename, `\`, "/"))
	case a.Name != "":
		return a.Name
	}
	return other
}

// mediaType returns a type without its parameters, in lower case.
func mediaType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// textBlock shows text by what it says it is, and else by what it looks like.
func (s *Site) textBlock(ctx context.Context, a *a2a.Artifact, p *a2a.Part, text, href string) view.Block {
	name := nameOf(a, p, view.T(ctx, "Text"))
	detail := view.Bytes(int64(len(text)))
	switch t := mediaType(p.MediaType); {
	case t == "text/html", t == "application/xhtml+xml", t == "image/svg+xml":
		return view.Block{Kind: view.BlockHTML, Name: name, Detail: view.T(ctx, "HTML, %s", detail), Href: href}
	case t == "text/csv", t == "text/tab-separated-values":
		return tableBlock(ctx, name, []byte(text), t, href)
	case t == "application/json", strings.HasSuffix(t, "+json"):
		if json.Valid([]byte(text)) {
			return dataBlock(ctx, name, []byte(text), href)
		}
	case t == "", t == "text/plain", t == "text/markdown":
		if looksJSON(text) {
			return dataBlock(ctx, name, []byte(text), href)
		}
		if p.Filename != "" && !strings.HasSuffix(strings.ToLower(p.Filename), ".md") {
			return codeBlock(name, langOf(p.Filename), text, href)
		}
		return view.Block{Kind: view.BlockProse, HTML: s.md.HTML(text)}
	default:
		return codeBlock(name, langOfType(t, p.Filename), text, href)
	}
	return view.Block{Kind: view.BlockProse, HTML: s.md.HTML(text)}
}

// looksJSON reports whether a text is, as a whole, a JSON object or array.
func looksJSON(text string) bool {
	t := strings.TrimSpace(text)
	if len(t) < 2 || !(t[0] == '{' && t[len(t)-1] == '}' || t[0] == '[' && t[len(t)-1] == ']') {
		return false
	}
	return json.Valid([]byte(t))
}

func codeBlock(name, lang, text, href string) view.Block {
	b := view.Block{Kind: view.BlockCode, Name: name, Lang: name, Detail: view.Bytes(int64(len(text))), Href: href}
	if len(text) > previewText {
		text = strings.ToValidUTF8(text[:previewText], "") + "\n…"
	}
	b.HTML = colour(lang, text)
	return b
}

func langOf(filename string) string {
	return strings.TrimPrefix(strings.ToLower(path.Ext(filename)), ".")
}

func langOfType(t, filename string) string {
	if l := langOf(filename); l != "" {
		return l
	}
	_, sub, _ := strings.Cut(t, "/")
	return strings.TrimPrefix(sub, "x-")
}

// fileBlock shows bytes by what they are, not by what they are called.
func (s *Site) fileBlock(ctx context.Context, name string, p *a2a.Part, href string) view.Block {
	m := mimetype.Detect(p.Raw)
	b := view.Block{Kind: view.BlockFile, Name: name, Href: href, Detail: typeName(ctx, m) + ", " + view.Bytes(int64(len(p.Raw)))}
	switch t := mediaType(m.String()); {
	case pictures[t]:
		b.Kind = view.BlockImage
	case strings.HasPrefix(t, "audio/"):
		b.Kind = view.BlockAudio
	case strings.HasPrefix(t, "video/"):
		b.Kind = view.BlockVideo
	case t == "application/pdf":
		b.Kind = view.BlockPDF
	case t == "application/json", t == "application/geo+json":
		if json.Valid(p.Raw) {
			return dataBlock(ctx, name, p.Raw, href)
		}
	case t == "text/csv", t == "text/tab-separated-values", t == "text/plain" && declared(p, "text/csv", ".csv"):
		return tableBlock(ctx, name, p.Raw, t, href)
	case t == "text/html", t == "image/svg+xml", t == "application/xhtml+xml":
		b.Kind = view.BlockHTML
	case m.Is("text/plain") || strings.HasPrefix(t, "text/"):
		if declared(p, "text/markdown", ".md") && len(p.Raw) <= previewText {
			return view.Block{Kind: view.BlockProse, HTML: s.md.HTML(string(p.Raw))}
		}
		return codeBlock(name, langOfType(mediaType(p.MediaType), p.Filename), string(p.Raw), href)
	}
	return b
}

func declared(p *a2a.Part, t, ext string) bool {
	return mediaType(p.MediaType) == t || strings.HasSuffix(strings.ToLower(p.Filename), ext)
}

// pictures are the types the page shows as pictures.
var pictures = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
}

func typeName(ctx context.Context, m *mimetype.MIME) string {
	switch t := mediaType(m.String()); t {
	case "application/octet-stream":
		return view.T(ctx, "File")
	case "text/plain":
		return view.T(ctx, "Text")
	default:
		_, sub, _ := strings.Cut(t, "/")
		sub = strings.TrimPrefix(strings.TrimPrefix(sub, "vnd."), "x-")
		if len(sub) <= 5 {
			return strings.ToUpper(sub)
		}
		return t
	}
}

// linkBlock is content that lives elsewhere.
func linkBlock(ctx context.Context, name string, p *a2a.Part, href string) view.Block {
	host, ok := safe(p.URL)
	if name == "" {
		name = path.Base(strings.TrimSuffix(strings.SplitN(p.URL, "?", 2)[0], "/"))
	}
	detail := view.T(ctx, "At %s, not fetched", host)
	if t := mediaType(p.MediaType); t != "" {
		detail = view.T(ctx, "%s, at %s, not fetched", t, host)
	}
	if !ok || host == "" {
		return view.Block{Kind: view.BlockFile, Name: name, Detail: view.T(ctx, "The agent gave an address that cannot be opened: %s", p.URL)}
	}
	return view.Block{Kind: view.BlockLink, Name: name, Detail: detail, Host: host, Href: href}
}

// dataBlock shows JSON as a tree.
func dataBlock(ctx context.Context, name string, data []byte, href string) view.Block {
	left := treeNodes
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, err := tree(ctx, d, &left, 0)
	if err != nil {
		return codeBlock(name, "json", string(data), href)
	}
	b := view.Block{Kind: view.BlockJSON, Name: name, Detail: "JSON, " + view.Bytes(int64(len(data))), JSON: n, Href: href}
	if len(data) <= previewText {
		var pretty bytes.Buffer
		if json.Indent(&pretty, data, "", "  ") == nil {
			b.Text = pretty.String()
		}
	}
	return b
}

// tree reads one JSON value, members in their own order. Beyond left nodes the members are only counted.
func tree(ctx context.Context, d *json.Decoder, left *int, depth int) (*view.JSONNode, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	*left--
	n := &view.JSONNode{Open: depth < 2}
	switch t := t.(type) {
	case json.Delim:
		n.Kind = "array"
		if t == '{' {
			n.Kind = "object"
		}
		count := 0
		for d.More() {
			key := ""
			if n.Kind == "object" {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key, _ = k.(string)
			}
			kid, err := tree(ctx, d, left, depth+1)
			if err != nil {
				return nil, err
			}
			count++
			if *left < 0 {
				n.Cut++
				continue
			}
			kid.Key, kid.Keyed = key, true
			if n.Kind == "array" {
				kid.Key = strconv.Itoa(count - 1)
			}
			n.Kids = append(n.Kids, kid)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		n.Text = members(ctx, count, n.Kind)
	case string:
		n.Kind, n.Text = "string", t
	case json.Number:
		n.Kind, n.Text = "number", t.String()
	case bool:
		n.Kind, n.Text = "bool", strconv.FormatBool(t)
	case nil:
		n.Kind, n.Text = "null", "null"
	}
	return n, nil
}

func members(ctx context.Context, n int, kind string) string {
	switch {
	case n == 0 && kind == "object":
		return "{ }"
	case n == 0:
		return "[ ]"
	case kind == "object":
		return view.Tn(ctx, n, "%d member", "%d members")
	}
	return view.Tn(ctx, n, "%d item", "%d items")
}

// tableBlock shows CSV as a table. What is no table is shown as text.
func tableBlock(ctx context.Context, name string, data []byte, t, href string) view.Block {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.ReuseRecord = true
	if t == "text/tab-separated-values" {
		r.Comma = '\t'
	} else if line, _, _ := bytes.Cut(data, []byte("\n")); bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		r.Comma = ';'
	}
	tbl := &view.Table{}
	n := 0
	for {
		rec, err := r.Read()
		if err != nil {
			break
		}
		row := make([]string, min(len(rec), tableCols))
		copy(row, rec)
		switch {
		case n == 0:
			tbl.Head = row
		case n <= tableRows:
			tbl.Rows = append(tbl.Rows, row)
		default:
			tbl.Cut++
		}
		n++
	}
	if len(tbl.Head) < 2 && len(tbl.Rows) == 0 {
		return codeBlock(name, "", string(data), href)
	}
	tbl.Numeric = numeric(tbl)
	return view.Block{
		Kind: view.BlockTable, Name: name, Table: tbl, Href: href,
		Detail: view.Tn(ctx, max(n-1, 0), "CSV, %d row, %s", "CSV, %d rows, %s", view.Bytes(int64(len(data)))),
	}
}

// numeric tells the columns that hold numbers only.
func numeric(t *view.Table) []bool {
	ns := make([]bool, len(t.Head))
	for i := range ns {
		ns[i] = len(t.Rows) > 0
		for _, row := range t.Rows {
			if i < len(row) && row[i] != "" {
				if _, err := strconv.ParseFloat(strings.NewReplacer(",", "", "%", "", "€", "", "$", "").Replace(strings.TrimSpace(row[i])), 64); err != nil {
					ns[i] = false
					break
				}
			}
		}
	}
	return ns
}
