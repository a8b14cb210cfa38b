package chattmpl

import (
	"regexp"
	"slices"
)

// spelled finds what looks like a special token in a template's source.
func spelled(source string) []string {
	re := regexp.MustCompile(`<\|[^|<>\s]{1,40}\|>|<｜[^｜<>]{1,40}｜>|<\|[a-z_]{1,20}>|<[a-z_]{1,20}\|>|\[/?[A-Z_]{2,30}\]|</?(?:s|think|tool_call|tool_response|start_of_turn|end_of_turn|bos|eos)>`)
	found := re.FindAllString(source, -1)
	slices.Sort(found)
	return append(slices.Compact(found), "<BOS>", "<EOS>")
}
