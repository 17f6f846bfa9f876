import { roomOf } from './instrument.mjs'

export const COLUMNS = ['files', 'lines', 'functions', 'calls', 'objects', 'crossings', 'fields']

/**
 * The functions that the instrumented build calls. `record` gives what ran during a piece of work.
 *
 * A room is crossed when code of another room runs than the code of ours before it: by a call, a return, a callback, or
 * a promise. What is not ours, Node and the client of Redis, is no room.
 */
export class Trace {
  #sources
  #rooms
  #room
  #current
  #run = emptyRun()

  /** @param {import('./instrument.mjs').Sources} sources */
  constructor(sources) {
    this.#sources = sources
    this.#rooms = sources.functions.map(({ file }) => roomOf(file))
  }

  entered(id) {
    this.#run.calls += 1
    this.#run.counts.set(id, (this.#run.counts.get(id) ?? 0) + 1)
    const before = this.#current
    this.#goTo(id)
    return before
  }

  left(before) {
    this.#goTo(before)
  }

  suspended(before, awaited) {
    this.#goTo(before)
    return awaited
  }

  resumed(id, value) {
    this.#goTo(id)
    return value
  }

  made(object) {
    this.#run.objects += 1
    return object
  }

  get calls() {
    return this.#run.calls
  }

  async record(work) {
    this.#run = emptyRun()
    this.#room = undefined
    await work()
    const run = this.#run
    this.#run = emptyRun()
    return run
  }

  /** The files whose code ran. */
  filesOf({ counts }) {
    return [...new Set([...counts.keys()].map((id) => this.#sources.functions[id].file))].sort()
  }

  /** The figures of scenarios, all together. */
  figuresOf(...scenarios) {
    const functions = new Set(scenarios.flatMap(({ counts }) => [...counts.keys()]))
    const ran = [...functions].map((id) => this.#sources.functions[id])
    const files = new Set(ran.map(({ file }) => file))
    const owners = new Set(ran.map(({ owner }) => owner))
    const sum = (values) => [...values].reduce((all, each) => all + each, 0)
    return {
      files: files.size,
      lines: sum([...files].map((file) => this.#sources.lines.get(file))),
      functions: functions.size,
      calls: sum(scenarios.flatMap(({ counts }) => [...counts.values()])),
      objects: sum(scenarios.map(({ objects }) => objects)),
      crossings: sum(scenarios.map(({ crossings }) => crossings)),
      fields: sum([...owners].map((owner) => this.#sources.mutableFieldsOf(owner))),
    }
  }

  #goTo(id) {
    this.#current = id
    const room = this.#rooms[id]
    if (room === undefined || room === this.#room) return
    if (this.#room !== undefined) this.#run.crossings += 1
    this.#room = room
  }
}

const emptyRun = () => ({ counts: new Map(), calls: 0, objects: 0, crossings: 0 })

/** The calls that every round of a scenario made. A timer that fired beside some of them does not count. */
export const common = (rounds) => {
  const [first, ...others] = rounds
  const least = (figureOf) => Math.min(...rounds.map(figureOf))
  const shared = [...first.counts.keys()].filter((id) => others.every(({ counts }) => counts.has(id)))
  return {
    counts: new Map(shared.map((id) => [id, least(({ counts }) => counts.get(id))])),
    objects: least(({ objects }) => objects),
    crossings: least(({ crossings }) => crossings),
  }
}
