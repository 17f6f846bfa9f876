import { InvalidArgumentError } from 'commander'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The longest time of Node's timers: 2^31 - 1 ms, 24 days. */
const LONGEST_MS = 2_147_483_647

/** `500ms`, `30s`, `5m`, `2h`, `1d`; a bare number is seconds, as of sleep and flock. @returns milliseconds */
export function parseDuration(text: string): number {
  const [, number = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? []
  const ms = Math.round(Number(number) * (UNITS[unit] ?? 0))
  if (number === '' || ms > LONGEST_MS) {
    throw new InvalidArgumentError(
      'A duration is a number with a unit, as in 500ms, 30s, 5m, 2h; at most 24d.',
    )
  }
  return ms
}

/** A duration as people say it: 850 ms, 12.3 s, 5 min 3 s, 2 h 4 min. */
export function spoken(ms: number): string {
  if (Math.round(ms) < 1_000) {
    return `${Math.max(0, Math.round(ms))} ms`
  }
  if (ms < 59_950) {
    return `${Math.round(ms / 100) / 10} s`
  }
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) {
    return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  }
  const minutes = Math.round(seconds / 60)
  return minutes < 2_880
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.round(minutes / 1_440)} days`
}
