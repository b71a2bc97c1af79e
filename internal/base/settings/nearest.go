package settings

import (
	"fmt"
	"strings"
)

// DidYouMean returns the end of an error about an unknown word: a question about the
// nearest of the known words, with a prefix in front of it, or nothing.
func DidYouMean(word, prefix string, known []string) string {
	if guess := Nearest(word, known); guess != "" {
		return fmt.Sprintf("; did you mean %q?", prefix+guess)
	}
	return ""
}

// Nearest returns the word in words that differs least from the given word, or "" if none is
// similar enough. Of words that differ equally, it returns the first. A mistake is a letter
// that is added, missing, wrong, or swapped with its neighbour. Two mistakes are too many for a
// short word. Case is ignored.
func Nearest(word string, words []string) string {
	word = strings.ToLower(word)
	limit := 2
	if len(word) < 5 {
		limit = 1
	}
	found, fewest := "", limit+1
	for _, w := range words {
		// The difference in length is a lower bound for the mistakes, and
		// cheaper to compute.
		if max(len(w)-len(word), len(word)-len(w)) >= fewest {
			continue
		}
		if d := distance(word, w); d < fewest {
			found, fewest = w, d
		}
	}
	return found
}

// distance returns how many mistakes turn a into b. It takes time proportional to the product
// of their lengths.
func distance(a, b string) int {
	var before []int // the row before the previous row
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			wrong := above[j]
			if a[i] != b[j] {
				wrong++
			}
			row[j+1] = min(wrong, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
