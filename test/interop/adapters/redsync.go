// redsync as an adapter (adapter.ts has the protocol): one attempt for each request, and a second
// for each command of Redis.
package main

import (
	"bufio"
	"context"
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

var mutex *redsync.Mutex

func milliseconds(word string) time.Duration {
	count, _ := strconv.Atoi(word)
	return time.Duration(count) * time.Millisecond
}

func answer(locks *redsync.Redsync, words []string) (bool, error) {
	if words[0] == "acquire" {
		mutex = locks.NewMutex(words[1], redsync.WithExpiry(milliseconds(words[2])),
			redsync.WithTries(1))
		err := mutex.Lock()
		return err == nil, err
	}
	if mutex == nil {
		return false, nil
	}
	if words[0] == "extend" {
		return mutex.Extend()
	}
	return mutex.Unlock()
}

func main() {
	var pools []redsyncredis.Pool
	for _, url := range os.Args[2:] {
		options, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		options.MaxRetries = -1
		options.DialTimeout, options.ReadTimeout = time.Second, time.Second
		client := redis.NewClient(options)
		if err := client.Ping(context.Background()).Err(); err != nil {
			panic(err)
		}
		pools = append(pools, goredis.NewPool(client))
	}
	locks := redsync.New(pools...)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		isDone, err := answer(locks, strings.Fields(lines.Text()))
		if isDone {
			fmt.Println("yes")
		} else if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("no")
		}
	}
}
