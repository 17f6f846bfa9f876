// Judges histories of Holdfast with Porcupine, a checker that others wrote. It knows of Holdfast what docs/histories.md says.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// What Porcupine says of all objects of one history.
type verdict struct {
	head                Head
	objects, operations int
	illegal, unknown    []string
}

func judge(head Head, events []Event, limit time.Duration) verdict {
	said := verdict{head: head}
	for _, object := range objectsIn(head, events) {
		said.objects++
		said.operations += len(object.operations)
		switch porcupine.CheckOperationsTimeout(object.model, object.operations, limit) {
		case porcupine.Illegal:
			said.illegal = append(said.illegal, object.name)
		case porcupine.Unknown:
			said.unknown = append(said.unknown, object.name)
		}
	}
	return said
}

// Reads the histories of a file one after another: each begins with its head.
func read(from io.Reader, head Head, found func(Head, []Event)) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	var events []Event
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var event Event
			if broken := json.Unmarshal(line, &event); broken != nil {
				return fmt.Errorf("%w: %s", broken, line)
			}
			if event.Kind == "history" {
				if len(events) > 0 {
					found(head, events)
				}
				events = nil
				if broken := json.Unmarshal(line, &head); broken != nil {
					return broken
				}
			} else {
				events = append(events, event)
			}
		}
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if len(events) > 0 {
		found(head, events)
	}
	return nil
}

func main() {
	limit := flag.Duration("limit", 10*time.Second, "for each object; what takes longer is unknown")
	head := Head{}
	flag.IntVar(&head.Permits, "permits", 5, "of each semaphore, in a file without heads")
	flag.Float64Var(&head.GrantLagMs, "lag", 5000, "how long after a loss the lock may still be granted twice, ms, in a file without heads")
	flag.Parse()
	work := make(chan func() verdict, 64)
	verdicts := make(chan verdict)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for next := range work {
				verdicts <- next()
			}
		}()
	}
	go func() {
		put := func(head Head, events []Event) { work <- func() verdict { return judge(head, events, *limit) } }
		if err := read(os.Stdin, head, put); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		close(work)
		workers.Wait()
		close(verdicts)
	}()
	// One line for each history, for whoever compares them with the verdict of our own checkers.
	out := json.NewEncoder(os.Stdout)
	for said := range verdicts {
		_ = out.Encode(map[string]any{
			"seed": said.head.Seed, "rules": said.head.Rules, "objects": said.objects,
			"operations": said.operations, "illegal": said.illegal, "unknown": said.unknown,
		})
	}
}
