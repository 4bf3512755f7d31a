//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
)

func (r *round) card(ctx context.Context) error {
	card, err := r.c.Card(ctx)
	if err == nil && (card.Name == "" || card.Skills == 0 || !card.Streaming) {
		err = fmt.Errorf("card %+v", card)
	}
	return err
}

func (r *round) extended(ctx context.Context) error {
	card, err := r.c.Extended(ctx)
	if err == nil && !strings.HasSuffix(card.Name, ", extended") {
		err = fmt.Errorf("card %+v", card)
	}
	return err
}
