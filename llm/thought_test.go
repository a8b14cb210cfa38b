package llm

import "testing"

func TestThoughtSplitter(t *testing.T) {
	tags := TemplateInfo{ThinkOpen: "<think>", ThinkClose: "</think>"}
	tests := []struct {
		name            string
		info            TemplateInfo
		inside          bool
		pieces          []string
		thought, answer string
	}{
		{"a model without reasoning", TemplateInfo{}, false, []string{"<think>", "x"}, "", "<think>x"},
		{"reasoning, then answer", tags, false, []string{"<think>", "\nhm", "</think>", "\n\n", "Yes."}, "\nhm", "Yes."},
		{"tags split over tokens", tags, false, []string{"<th", "ink>h", "m</", "thi", "nk>Y"}, "hm", "Y"},
		{"the prompt opened it", tags, true, []string{"hm", "</think>", "Y"}, "hm", "Y"},
		{"no reasoning this time", tags, false, []string{"Y", "es"}, "", "Yes"},
		{"something like a tag", tags, false, []string{"<", "b>"}, "", "<b>"},
		{"cut while thinking", tags, true, []string{"hm </th"}, "hm </th", ""},
		{"a tag inside the answer stays", tags, true, []string{"</think>a</think>b"}, "", "a</think>b"},
		{"space before it", tags, false, []string{" \n<think>h</think>\nY"}, "h", "Y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newThoughtSplitter(tt.info, tt.inside)
			var thought, answer string
			for _, p := range tt.pieces {
				th, an := s.push(p)
				thought, answer = thought+th, answer+an
			}
			th, an := s.flush()
			thought, answer = thought+th, answer+an
			if thought != tt.thought || answer != tt.answer {
				t.Errorf("got thought %q, answer %q; want %q, %q", thought, answer, tt.thought, tt.answer)
			}
		})
	}
}
