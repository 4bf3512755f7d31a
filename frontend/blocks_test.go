package frontend

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/a2a"
	"parley/frontend/view"
)

func TestBlocksByType(t *testing.T) {
	t.Parallel()
	s := newWorld(t, nil).Site
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00")
	for name, c := range map[string]struct {
		part a2a.Part
		kind view.BlockKind
		has  string
	}{
		"words":            {a2a.TextPart("some **words**"), view.BlockProse, "<strong>words</strong>"},
		"markdown file":    {a2a.Part{Text: "# T", Filename: "a.md"}, view.BlockProse, "<h1>T</h1>"},
		"json in words":    {a2a.TextPart(` {"to": "Bergen"} `), view.BlockJSON, ""},
		"not json":         {a2a.TextPart(`{braces} are not data`), view.BlockProse, "{braces}"},
		"json by its type": {a2a.Part{Text: `[1,2]`, MediaType: "application/geo+json; x=1"}, view.BlockJSON, ""},
		"broken json":      {a2a.Part{Text: `[1,2`, MediaType: "application/json"}, view.BlockProse, "[1,2"},
		"data":             {a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(`"x"`)}, view.BlockJSON, ""},
		"code":             {a2a.Part{Text: "package main", Filename: "main.go"}, view.BlockCode, `<span class="k">package</span>`},
		"html in a frame":  {a2a.Part{Text: "<b>x</b>", MediaType: "text/html"}, view.BlockHTML, ""},
		"html bytes":       {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("<!DOCTYPE html><html></html>"), MediaType: "image/png"}, view.BlockHTML, ""},
		"svg bytes":        {a2a.Part{Kind: a2a.PartRaw, Raw: []byte(`<svg xmlns="http://www.w3.org/2000/svg"></svg>`)}, view.BlockHTML, ""},
		"csv text":         {a2a.Part{Text: "a,b\n1,2\n", MediaType: "text/csv"}, view.BlockTable, ""},
		"csv bytes":        {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("a;b\n1;2\n"), Filename: "x.csv"}, view.BlockTable, ""},
		"one word of csv":  {a2a.Part{Text: "word", MediaType: "text/csv"}, view.BlockCode, "word"},
		"picture":          {a2a.Part{Kind: a2a.PartRaw, Raw: png}, view.BlockImage, ""},
		"pdf":              {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("%PDF-1.4\n")}, view.BlockPDF, ""},
		"sound":            {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("RIFF\x24\x00\x00\x00WAVEfmt ")}, view.BlockAudio, ""},
		"film":             {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom")}, view.BlockVideo, ""},
		"anything":         {a2a.Part{Kind: a2a.PartRaw, Raw: []byte{0, 1, 2, 255}}, view.BlockFile, ""},
		"plain bytes":      {a2a.Part{Kind: a2a.PartRaw, Raw: []byte("just text\n"), Filename: "a.txt"}, view.BlockCode, "just text"},
		"address":          {a2a.Part{Kind: a2a.PartURL, URL: "https://x.example/a.png"}, view.BlockLink, ""},
		"bad address":      {a2a.Part{Kind: a2a.PartURL, URL: "javascript:x"}, view.BlockFile, ""},
		"only named":       {a2a.Part{Kind: a2a.PartNoContent, Filename: "a"}, view.BlockFile, ""},
	} {
		bs := s.blocks(t.Context(), &a2a.Artifact{ID: "a", Parts: []a2a.Part{c.part}}, func(int) string { return "/x" })
		if len(bs) != 1 || bs[0].Kind != c.kind || !strings.Contains(bs[0].HTML+bs[0].Text, c.has) {
			t.Errorf("%s: %+v", name, bs)
		}
	}
}

func TestNeighbouringTextsAreOne(t *testing.T) {
	t.Parallel()
	s := newWorld(t, nil).Site
	bs := s.blocks(t.Context(), &a2a.Artifact{Parts: []a2a.Part{a2a.TextPart("**a"), a2a.TextPart("b**"), {Kind: a2a.PartData, Data: []byte("1")}, a2a.TextPart("c"), {Text: "d", Filename: "d.md"}}}, func(int) string { return "" })
	if len(bs) != 4 || !strings.Contains(bs[0].HTML, "<strong>ab</strong>") {
		t.Errorf("%d blocks: %+v", len(bs), bs)
	}
}

func TestTreeKeepsOrderAndCuts(t *testing.T) {
	t.Parallel()
	b := dataBlock(t.Context(), "x", []byte(`{"z":1,"a":[true,null,"s",1.50]}`), "")
	if b.JSON.Kids[0].Key != "z" || b.JSON.Kids[1].Kids[3].Text != "1.50" {
		t.Errorf("%+v", b.JSON)
	}
	for _, n := range []int{treeNodes - 2, treeNodes - 1, treeNodes} {
		b := dataBlock(t.Context(), "x", []byte("["+strings.TrimSuffix(strings.Repeat("1,", n), ",")+"]"), "")
		if got := len(b.JSON.Kids) + b.JSON.Cut; got != n || (b.JSON.Cut > 0) != (n > treeNodes-1) {
			t.Errorf("%d members: %d shown, %d cut", n, len(b.JSON.Kids), b.JSON.Cut)
		}
	}
	if b := dataBlock(t.Context(), "x", []byte("{"), ""); b.Kind != view.BlockCode {
		t.Error("half a value is no tree")
	}
}

func TestTableCuts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{tableRows - 1, tableRows, tableRows + 1} {
		b := tableBlock(t.Context(), "x", []byte("a,b\n"+strings.Repeat("1,x\n", n)), "text/csv", "")
		if len(b.Table.Rows)+b.Table.Cut != n || (b.Table.Cut > 0) != (n > tableRows) {
			t.Errorf("%d rows: %d shown, %d cut", n, len(b.Table.Rows), b.Table.Cut)
		}
		if !b.Table.Numeric[0] || b.Table.Numeric[1] {
			t.Errorf("numeric: %v", b.Table.Numeric)
		}
	}
}
