const KINDS = ['plain', 'fair', 'fenced'] as const

export type TravellingKind = (typeof KINDS)[number]

/** One lock, on which one journey begins after the other. */
export interface Lane {
  readonly lock: string
  readonly kind: TravellingKind
}

/** As many of each kind as of any other, if `count` allows it. Names of one length: none is the beginning of another. */
export const lanesOf = (count: number): Lane[] =>
  Array.from({ length: count }, (_, i) => {
    const kind = KINDS[i % KINDS.length] as TravellingKind
    return { lock: `travelling:${String(i).padStart(3, '0')}:${kind}`, kind }
  })
