package main

import (
	"encoding/json"
	"math"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Head is the first line of a history.
type Head struct {
	Seed       int      `json:"seed"`
	Permits    int      `json:"permits"`
	GrantLagMs float64  `json:"grantLagMs"`
	Rules      []string `json:"rules"`
}

// Event is any other line: what one process saw, or what was done to it.
type Event struct {
	AtMs           float64         `json:"atMs"`
	Process        string          `json:"process"`
	Kind           string          `json:"kind"`
	Lock           string          `json:"lock"`
	Owner          string          `json:"owner"`
	Attempt        json.RawMessage `json:"attempt"`
	Mode           string          `json:"mode"`
	Token          json.RawMessage `json:"token"`
	TrustedUntilMs *float64        `json:"trustedUntilMs"`
	UntilMs        *float64        `json:"untilMs"`
	Name           string          `json:"name"`
	Class          string          `json:"class"`
	Use            string          `json:"use"`
	Permits        int             `json:"permits"`
}

type object struct {
	name       string
	model      porcupine.Model
	operations []porcupine.Operation
}

// A time that JSON writes as null is one that never comes.
func timeOf(ms *float64) float64 {
	if ms == nil {
		return math.Inf(1)
	}
	return *ms
}

// What one owner believes to hold, from the answer to its outermost acquisition on.
type hold struct {
	owner, process, token      string
	shared                     bool
	exclusive, sharedLevels    int
	calledMs, takenMs, untilMs float64
	downgradedMs, endedMs      float64
	permits                    int
	// Permits without a lease stay taken whatever becomes of their owner.
	isLeased bool
}

func (h *hold) isOver() bool   { return !math.IsInf(h.endedMs, 1) }
func (h *hold) endMs() float64 { return math.Min(h.endedMs, h.untilMs) }

type span struct {
	fromMs, toMs float64
	isOfData     bool
}

type lockHistory struct {
	name   string
	holds  []*hold
	latest map[string]*hold
}

type reader struct {
	head     Head
	locks    map[string]*lockHistory
	attempts map[string]Event
	uses     map[string]*hold
	pools    map[string][]*hold
	losses   map[string][]span
	begun    map[string]Event
	atRest   bool
}

func objectsIn(head Head, events []Event) []object {
	r := &reader{
		head: head, locks: map[string]*lockHistory{}, attempts: map[string]Event{}, uses: map[string]*hold{},
		pools: map[string][]*hold{}, losses: map[string][]span{}, begun: map[string]Event{},
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].AtMs < events[j].AtMs })
	for _, event := range events {
		r.read(event)
	}
	for _, fault := range r.begun {
		r.lose(fault, fault.AtMs)
	}
	var objects []object
	for _, lock := range r.locks {
		objects = append(objects, r.objectOfLock(lock))
	}
	for name, uses := range r.pools {
		objects = append(objects, r.objectOfPool(name, uses))
	}
	return objects
}

func (r *reader) lock(name string) *lockHistory {
	if r.locks[name] == nil {
		r.locks[name] = &lockHistory{name: name, latest: map[string]*hold{}}
	}
	return r.locks[name]
}

func (r *reader) read(e Event) {
	attempt := e.Process + " " + string(e.Attempt)
	switch {
	case e.Kind == "at-rest":
		r.atRest = true
	case e.Kind == "fault":
		r.begun[e.Name+" "+e.Lock] = e
	case e.Kind == "healed":
		if fault, is := r.begun[e.Name+" "+e.Lock]; is {
			r.lose(fault, e.AtMs)
			delete(r.begun, e.Name+" "+e.Lock)
		}
	case e.Kind == "killed":
		r.kill(e)
	case e.Use != "" || e.Kind == "take":
		if !r.atRest {
			r.readUse(e)
		}
	case e.Kind == "acquire-begin":
		r.attempts[attempt] = e
	case e.Kind == "acquired":
		r.acquired(r.attempts[attempt], e)
	case e.Lock == "" || r.lock(e.Lock).latest[e.Owner] == nil:
		return
	default:
		r.lock(e.Lock).latest[e.Owner].change(e)
	}
}

func (r *reader) acquired(begin, e Event) {
	lock := r.lock(e.Lock)
	shared := begin.Mode == "shared"
	if now := lock.latest[e.Owner]; now != nil && !now.isOver() {
		isWriter := now.exclusive > 0
		if (shared && (isWriter || now.untilMs > e.AtMs)) || (!shared && isWriter && now.untilMs > e.AtMs) {
			now.add(shared)
			now.untilMs = math.Max(now.untilMs, timeOf(e.TrustedUntilMs))
			return
		}
	}
	never := math.Inf(1)
	taken := &hold{
		owner: e.Owner, process: e.Process, token: strings.Trim(string(e.Token), `"`), shared: shared,
		calledMs: begin.AtMs, takenMs: e.AtMs, untilMs: timeOf(e.TrustedUntilMs), downgradedMs: never, endedMs: never,
	}
	taken.add(shared)
	lock.latest[e.Owner] = taken
	lock.holds = append(lock.holds, taken)
}

func (h *hold) add(shared bool) {
	if shared {
		h.sharedLevels++
	} else {
		h.exclusive++
	}
}

func (h *hold) change(e Event) {
	switch e.Kind {
	case "trusted":
		if !h.isOver() {
			h.untilMs = timeOf(e.UntilMs)
		}
	case "lost":
		h.endedMs = math.Min(h.endedMs, e.AtMs)
	case "release-begin":
		if (e.Mode == "shared" && h.sharedLevels > 0) || h.exclusive == 0 {
			h.sharedLevels--
		} else {
			h.exclusive--
		}
		if h.exclusive+h.sharedLevels <= 0 {
			h.endedMs = math.Min(h.endedMs, e.AtMs)
		} else if h.exclusive <= 0 {
			h.downgradedMs = math.Min(h.downgradedMs, e.AtMs)
		}
	}
}

func (r *reader) readUse(e Event) {
	use := r.uses[e.Use]
	never := math.Inf(1)
	if e.Kind == "take" {
		r.uses[e.Use] = &hold{
			owner: e.Use, process: e.Process, permits: e.Permits, isLeased: strings.HasPrefix(e.Name, "permits"),
			calledMs: e.AtMs, takenMs: never, untilMs: never, endedMs: never,
		}
		r.pools[e.Name] = append(r.pools[e.Name], r.uses[e.Use])
		return
	}
	if use == nil {
		return
	}
	switch e.Kind {
	case "taken":
		use.takenMs, use.untilMs = e.AtMs, timeOf(e.UntilMs)
	case "trusted":
		if !use.isOver() {
			use.untilMs = timeOf(e.UntilMs)
		}
	case "lost":
		if use.isLeased {
			use.endedMs = math.Min(use.endedMs, e.AtMs)
		}
	case "give":
		use.endedMs = math.Min(use.endedMs, e.AtMs)
	}
}

// The beliefs of a dead process end with it.
func (r *reader) kill(e Event) {
	for _, lock := range r.locks {
		for owner, latest := range lock.latest {
			if latest.process == e.Process {
				latest.endedMs = math.Min(latest.endedMs, e.AtMs)
				delete(lock.latest, owner)
			}
		}
	}
	for _, use := range r.uses {
		if use.process == e.Process && use.isLeased {
			use.endedMs = math.Min(use.endedMs, e.AtMs)
		}
	}
}

func (r *reader) lose(fault Event, overMs float64) {
	if fault.Class == "data-loss" || fault.Class == "lock-loss" {
		lost := span{fault.AtMs, overMs + r.head.GrantLagMs, fault.Class == "data-loss"}
		r.losses[fault.Lock] = append(r.losses[fault.Lock], lost)
	}
}

// Losses of this lock and of all, those that meet as one.
func (r *reader) lossesOf(lock string) []span {
	all := append(append([]span{}, r.losses[""]...), r.losses[lock]...)
	sort.Slice(all, func(i, j int) bool { return all[i].fromMs < all[j].fromMs })
	var joined []span
	for _, each := range all {
		if last := len(joined) - 1; last >= 0 && each.fromMs <= joined[last].toMs {
			joined[last].toMs = math.Max(joined[last].toMs, each.toMs)
			joined[last].isOfData = joined[last].isOfData || each.isOfData
		} else {
			joined = append(joined, each)
		}
	}
	return joined
}

func operation(in input, fromMs, toMs float64) porcupine.Operation {
	return porcupine.Operation{Input: in, Call: int64(fromMs * 1e6), Return: int64(toMs * 1e6)}
}

func (r *reader) objectOfLock(lock *lockHistory) object {
	var operations []porcupine.Operation
	losses := r.lossesOf(lock.name)
	for _, each := range losses {
		operations = append(operations, operation(input{op: lose, isOfData: each.isOfData}, each.fromMs, each.fromMs))
		operations = append(operations, operation(input{op: whole}, each.toMs, each.toMs))
	}
	hasTokens, hasReaders := false, false
	for id, h := range lock.holds {
		if h.untilMs <= h.takenMs {
			continue // Its answer came too late to be believed.
		}
		hasTokens = hasTokens || h.token != ""
		hasReaders = hasReaders || h.shared || h.sharedLevels > 0 || !math.IsInf(h.downgradedMs, 1)
		isLoose := false
		for _, each := range losses {
			isLoose = isLoose || (each.fromMs <= h.endMs() && h.calledMs <= each.toMs)
		}
		in := input{op: take, hold: id + 1, isShared: h.shared, token: h.token, isLoose: isLoose}
		operations = append(operations, operation(in, h.calledMs, h.takenMs))
		if in.op = downgrade; h.downgradedMs < h.endMs() {
			operations = append(operations, operation(in, h.downgradedMs, h.downgradedMs))
		}
		if in.op = end; !math.IsInf(h.endMs(), 1) {
			operations = append(operations, operation(in, h.endMs(), h.endMs()))
		}
	}
	switch {
	case hasReaders:
		return object{lock.name, readersAndWriters, operations}
	case hasTokens:
		return object{lock.name, fencedLock(strings.HasPrefix(lock.name, "time:")), operations}
	default:
		return object{lock.name, mutex, operations}
	}
}

func (r *reader) objectOfPool(name string, uses []*hold) object {
	var operations []porcupine.Operation
	for id, use := range uses {
		if math.IsInf(use.takenMs, 1) || use.endMs() <= use.takenMs {
			continue
		}
		in := input{op: take, hold: id + 1, permits: use.permits}
		operations = append(operations, operation(in, use.calledMs, use.takenMs))
		if in.op = end; !math.IsInf(use.endMs(), 1) {
			operations = append(operations, operation(in, use.endMs(), use.endMs()))
		}
	}
	return object{name, semaphore(r.head.Permits), operations}
}
