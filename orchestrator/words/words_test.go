package words

import "testing"

func TestIndexed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "",
		" -- ":               "",
		"Hello, World":       "hello world",
		"don't":              "don t",
		"x2 2x":              "x2 2x",
		"Ünïcödé ÇA":         "unicode ca",
		"e\u0301te\u0301":    "ete",
		"Ｆｕｌｌ１２":             "full12",
		"Straße":             "straße",
		"ПРИВЕТ Ёлка":        "привет елка",
		"東京":                 "東京 京",
		"東京駅":                "東京 京駅 駅",
		"東 京":                "東 京",
		"東、京":                "東 京",
		"スカイツリー":             "スカ カイ イツ ツリ リー ー",
		"か\u3099く":           "がく く",
		"여행":                 "여행 행",
		"iPhoneを買う2台":        "iphone を買 買う う 2 台",
		"佐々木":                "佐々 々木 木",
		"a\uE0001b":          "a 1b",
		"\xff\xfebroken\xff": "broken",
	} {
		if got := Indexed(in); got != want {
			t.Errorf("Indexed(%q) = %q, want %q", in, got, want)
		}
	}
}
