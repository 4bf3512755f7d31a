package app_test

import (
	"testing"

	"parley/app"
)

func TestSay(t *testing.T) {
	for _, c := range []struct{ set, all, lang, want string }{
		{"", "", "", "Reload"},
		{"", "", "C.UTF-8", "Reload"},
		{"", "", "ko_KR.UTF-8", "새로 고침"},
		{"", "ja_JP.UTF-8", "ko_KR.UTF-8", "再読み込み"},
		{"en", "", "ko_KR.UTF-8", "Reload"},
		{"ja", "", "ko_KR.UTF-8", "再読み込み"},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_MESSAGES", "")
		t.Setenv("LANG", c.lang)
		if got := app.Say(c.set)("Reload"); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
