package config

import "fmt"

// farthest is how many letters may differ for a word to count as meant.
const farthest = 2

// didYouMean ends a sentence about an unknown word with the known one that is
// nearest to it, or with nothing when none is near.
func didYouMean(word string, known []string) string {
	best, distance := "", farthest+1
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// editDistance counts the insertions, deletions and substitutions of bytes
// that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
