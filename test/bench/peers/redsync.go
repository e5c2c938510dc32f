// Cycles of redsync for test/bench/contestant.ts: a count on each line of stdin, the times in ms on
// a line of stdout. Built on demand in the cache of the benchmark. It returns at a quorum
// (WithFailFast), which is not its default, so that it is measured at its best.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	callTimeout := 1500 * time.Millisecond
	var pools []redsyncredis.Pool
	for _, url := range os.Args[1:] {
		options := &redis.Options{Network: "unix", Addr: strings.TrimPrefix(url, "unix://"),
			MaxRetries: -1, DialTimeout: callTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout}
		pools = append(pools, goredis.NewPool(redis.NewClient(options)))
	}
	locks := redsync.New(pools...)
	cycle := func() error {
		mutex := locks.NewMutex("redsync", redsync.WithExpiry(30*time.Second),
			redsync.WithTries(1), redsync.WithFailFast(true))
		if err := mutex.Lock(); err != nil {
			return err
		}
		_, err := mutex.Unlock()
		return err
	}
	wishes := bufio.NewScanner(os.Stdin)
	for wishes.Scan() {
		words := strings.Fields(wishes.Text())
		count, _ := strconv.Atoi(words[0])
		limitMs, _ := strconv.ParseFloat(words[1], 64)
		fmt.Println(block(count, limitMs, cycle))
	}
}

func block(count int, limitMs float64, cycle func() error) string {
	var times []float64
	for total := 0.0; len(times) < count && total < limitMs; {
		startedAt := time.Now()
		if err := cycle(); err != nil {
			text, _ := json.Marshal(map[string]string{"error": err.Error()})
			return string(text)
		}
		ms := float64(time.Since(startedAt).Nanoseconds()) / 1e6
		times = append(times, ms)
		total += ms
	}
	text, _ := json.Marshal(map[string][]float64{"ms": times})
	return string(text)
}
