package reader

import "unicode"

// ideographs are the scripts that part no words, or whose readers are counted
// in characters.
var ideographs = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// count returns the words of a text, or its characters where most of its
// letters are Chinese, Japanese or Korean; the other is 0.
func count(text string) (words, chars int) {
	letters, inWord := 0, false
	for _, c := range text {
		switch {
		case unicode.In(c, ideographs...):
			chars++
			inWord = false
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			letters++
			if !inWord {
				words++
			}
			inWord = true
		case c == '\'' || c == '’' || c == '-' || unicode.IsMark(c): // inside a word
		default:
			inWord = false
		}
	}
	if chars > letters {
		return 0, chars
	}
	return words, 0
}
