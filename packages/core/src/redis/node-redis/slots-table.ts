const SLOTS = 16_384

/** Which primary has which slot. An address is `host:port`. */
export interface SlotsTable {
  readonly owners: readonly (string | undefined)[]
  readonly primaries: ReadonlySet<string>
  readonly replicas: ReadonlySet<string>
}

export const EMPTY_TABLE: SlotsTable = { owners: [], primaries: new Set(), replicas: new Set() }

/**
 * Reads a reply to CLUSTER SLOTS: `[from, to, primary, ...replicas]` for each range, a node as `[host, port, ...]`.
 * @param asked host of the node that replied: nodes that do not know their own host leave it out
 * @returns null: it is none, or no slot has an owner
 */
export function slotsIn(reply: unknown, asked: string): SlotsTable | null {
  if (!Array.isArray(reply) || reply.length === 0) {
    return null
  }
  const owners: (string | undefined)[] = Array.from({ length: SLOTS }, () => undefined)
  const [primaries, replicas] = [new Set<string>(), new Set<string>()]
  for (const range of reply as unknown[]) {
    const [from, to, ...nodes] = Array.isArray(range) ? (range as unknown[]) : []
    const [primary, ...others] = nodes.map((node) => addressIn(node, asked))
    if (primary === undefined) {
      return null
    }
    owners.fill(primary, Number(from), Number(to) + 1)
    primaries.add(primary)
    others.forEach((each) => each !== undefined && replicas.add(each))
  }
  return { owners, primaries, replicas }
}

function addressIn(node: unknown, asked: string): string | undefined {
  const [host, port] = Array.isArray(node) ? (node as unknown[]) : []
  if (typeof port !== 'number') {
    return undefined
  }
  return `${typeof host === 'string' && host !== '' ? host : asked}:${port}`
}

/** Where a node sends a command instead. `asks`: for this once, behind ASKING. */
export interface Redirection {
  readonly slot: number
  readonly address: string
  readonly asks: boolean
}

/** @param asked as for `slotsIn`. @returns null: the error is none */
export function redirectionIn({ message }: Error, asked: string): Redirection | null {
  const [, word, slot, host, port] = /^(MOVED|ASK) (\d+) (\S*):(\d+)$/.exec(message) ?? []
  return word === undefined
    ? null
    : { slot: Number(slot), address: `${host || asked}:${port}`, asks: word === 'ASK' }
}

export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'))
}
