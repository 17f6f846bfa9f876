package main

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

type op int

const (
	take op = iota
	// The belief is over: released, lost, dead, or its lease is not trusted any longer.
	end
	// A writer keeps the lock as a reader.
	downgrade
	// Redis may have lost the lock: nothing is known until it is whole.
	lose
	whole
)

type input struct {
	op       op
	hold     int
	isShared bool
	token    string
	permits  int
	// The hold met a loss, so that its end may find nothing.
	isLoose  bool
	isOfData bool
}

// The state of a lock. Holds are numbers, 0 is nobody.
type lockState struct {
	isLost, isLoose bool
	holder          int
	readers, token  string
}

func lockModel(step func(lockState, input) (bool, lockState)) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return lockState{} },
		Step: func(state, in, _ interface{}) (bool, interface{}) {
			now, what := state.(lockState), in.(input)
			switch {
			case what.op == lose:
				return true, lockState{isLost: true, isLoose: what.isOfData, token: now.token}
			case what.op == whole:
				if now.isLoose {
					now.token = ""
				}
				return true, lockState{token: now.token}
			case now.isLost:
				return true, now
			}
			return step(now, what)
		},
	}
}

// One owner at a time.
var mutex = lockModel(stepMutex)

func stepMutex(now lockState, in input) (bool, lockState) {
	if in.op == take {
		is := now.holder == 0
		now.holder = in.hold
		return is, now
	}
	if now.holder != in.hold {
		return in.isLoose, now
	}
	now.holder = 0
	return true, now
}

// The same, with tokens that grow; those that a clock makes grow also after Redis has lost its data.
func fencedLock(isLasting bool) porcupine.Model {
	return lockModel(func(now lockState, in input) (bool, lockState) {
		is, next := stepMutex(now, in)
		if in.op == take && in.token != "" {
			grows := now.token == "" || number(in.token).Cmp(number(now.token)) > 0
			next.token = in.token
			return is && grows, next
		}
		return is, next
	})
}

func number(token string) *big.Int {
	value, _ := new(big.Int).SetString(token, 10)
	if value == nil {
		return new(big.Int)
	}
	return value
}

// Many readers or one writer, who may read besides.
var readersAndWriters = lockModel(func(now lockState, in input) (bool, lockState) {
	switch {
	case in.op == take && in.isShared:
		is := now.holder == 0
		now.readers = with(now.readers, in.hold)
		return is, now
	case in.op == take:
		is := now.holder == 0 && now.readers == ""
		now.holder = in.hold
		return is, now
	case now.holder == in.hold:
		now.holder = 0
		if in.op == downgrade {
			now.readers = with(now.readers, in.hold)
		}
		return true, now
	}
	readers, was := without(now.readers, in.hold)
	now.readers = readers
	return was || in.isLoose, now
})

// Holds in the order of their numbers, so that equal states are equal texts.
func with(holds string, hold int) string {
	all := append(strings.Fields(holds), fmt.Sprintf("%06d", hold))
	sort.Strings(all)
	return strings.Join(all, " ")
}

func without(holds string, hold int) (string, bool) {
	all := strings.Fields(holds)
	at := slices.Index(all, fmt.Sprintf("%06d", hold))
	if at < 0 {
		return holds, false
	}
	return strings.Join(slices.Delete(all, at, at+1), " "), true
}

// At most so many permits in use.
func semaphore(permits int) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return 0 },
		Step: func(state, in, _ interface{}) (bool, interface{}) {
			inUse, what := state.(int), in.(input)
			if what.op == end {
				return inUse >= what.permits, inUse - what.permits
			}
			return inUse+what.permits <= permits, inUse + what.permits
		},
	}
}
