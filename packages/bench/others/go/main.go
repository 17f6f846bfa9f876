// Takes a lock of redsync or of bsm/redislock again and again and says when it is inside, or once, and unlocks it late.
package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	longestWork = 4 * time.Millisecond
	wait        = 10 * time.Millisecond
	ever        = 1 << 30
)

// acquire waits for the lock; what it gives unlocks.
type acquire func(ctx context.Context, name string, lease time.Duration) (func() error, error)

func ofRedsync(client *redis.Client) acquire {
	sync := redsync.New(goredis.NewPool(client))
	return func(ctx context.Context, name string, lease time.Duration) (func() error, error) {
		mutex := sync.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(ever), redsync.WithRetryDelay(wait))
		err := mutex.LockContext(ctx)
		return func() error {
			ok, err := mutex.UnlockContext(ctx)
			if err == nil && !ok {
				return fmt.Errorf("unlock returns false")
			}
			return err
		}, err
	}
}

func ofRedislock(client *redis.Client) acquire {
	locker := redislock.New(client)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(wait)}
	return func(ctx context.Context, name string, lease time.Duration) (func() error, error) {
		// Its retries end with the lease unless the context has a deadline of its own.
		waiting, cancel := context.WithDeadline(ctx, time.Now().Add(time.Hour))
		defer cancel()
		lock, err := locker.Obtain(waiting, name, lease, options)
		// It waits for strings alone: a hash under the name is an error of its script. So its caller has to ask again.
		for err != nil && redis.HasErrorPrefix(err, "WRONGTYPE") {
			time.Sleep(wait)
			lock, err = locker.Obtain(waiting, name, lease, options)
		}
		return func() error { return lock.Release(ctx) }, err
	}
}

func turns(ctx context.Context, client *redis.Client, take acquire, name string, lease time.Duration, events, me string) {
	for {
		unlock, err := take(ctx, name, lease)
		must(err)
		must(client.RPush(ctx, events, "in "+me).Err())
		time.Sleep(time.Duration(rand.Int63n(int64(longestWork))))
		must(client.RPush(ctx, events, "out "+me).Err())
		// A process that was slow may have outlived its lease: that is no mistake of the program's.
		if err := unlock(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(time.Duration(rand.Int63n(int64(longestWork))))
	}
}

func late(ctx context.Context, take acquire, name string, lease time.Duration) {
	unlock, err := take(ctx, name, lease)
	must(err)
	fmt.Println("inside")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := unlock(); err != nil {
		fmt.Printf("throws %T: %v\n", err, err)
	} else {
		fmt.Println("says nothing")
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	mode, library, url, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ms, err := strconv.Atoi(os.Args[5])
	must(err)
	options, err := redis.ParseURL(url)
	must(err)
	client := redis.NewClient(options)
	ctx, lease := context.Background(), time.Duration(ms)*time.Millisecond
	take := ofRedsync(client)
	if library == "redislock" {
		take = ofRedislock(client)
	}
	if mode == "turns" {
		turns(ctx, client, take, name, lease, os.Args[6], os.Args[7])
	}
	late(ctx, take, name, lease)
}
