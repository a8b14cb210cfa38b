package doctor

import (
	"fmt"
	"time"

	"pichat/cmd/pichat/boot"
)

const (
	// readFor and readMost bound the trial read of the model file.
	readFor  = time.Second
	readMost = 256 << 20
	// slowLoad is how long a model may take to be read before we say so.
	slowLoad = time.Minute

	diskName = "card or disk"
)

// disk reads a part of the model file past the page cache, and says how fast
// that went and what it means for loading the model.
func disk(path string, size int64) Finding {
	n, took, err := readUncached(path, readMost, readFor)
	if err != nil {
		return Finding{diskName, err.Error(), Unknown, ""}
	}
	return verdictOnDisk(n, took, size)
}

// verdictOnDisk judges a disk that gave n bytes in that time.
func verdictOnDisk(n int, took time.Duration, size int64) Finding {
	perSecond := float64(n) / took.Seconds()
	load := time.Duration(float64(size) / perSecond * float64(time.Second)).Round(100 * time.Millisecond)
	f := Finding{diskName, fmt.Sprintf("%s/s over %s of the model file, past the cache: the model is read in %s",
		boot.Bytes(uint64(perSecond)), boot.Bytes(uint64(n)), load), OK, ""}
	if load > slowLoad {
		f.State, f.Remedy = Warning, "every start waits that long: put the model on a faster card (A2), a USB 3 SSD or NVMe"
	}
	return f
}
