package chattmpl

import "strings"

// The plain format for a model without a template. A base model was trained on
// running text, not on turns, so the format is a dialogue as such text has it:
//
//	SYSTEM
//
//	User: CONTENT
//
//	Assistant: CONTENT
//
//	User: CONTENT
//
//	Assistant:
//
// The reply ends where the model begins to write the next turn.
var fallbackStop = []string{"\nUser:"}

// Fallback returns the plain format for a model without a template, with the
// specials of its vocabulary (see Source.Specials).
func Fallback(specials []string) *Template {
	return &Template{
		specials: newSpecials(specials),
		private:  map[rune]bool{},
		info:     Info{Fallback: true, Stop: fallbackStop, System: true},
	}
}

// plain renders the fallback format.
func plain(messages []Message, generation bool) string {
	names := map[string]string{RoleUser: "User: ", RoleAssistant: "Assistant: "}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(names[m.Role])
		b.WriteString(strings.TrimSpace(m.Content))
	}
	if generation {
		b.WriteString("\n\nAssistant:")
	}
	return b.String()
}
