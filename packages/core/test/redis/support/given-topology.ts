import type { LockClientOptions } from '../../../src/index.js'

/** The Redis that the contract suites run on, as `npm run faults -- topologies` says; by default the one of `npm test`. */
export interface Topology {
  /** `pool`: one server, and a pool of node-redis. */
  readonly kind: 'single' | 'pool' | 'sentinel' | 'cluster'
  readonly endpoints: readonly { readonly host: string; readonly port: number }[]
  /** The name of the group that Sentinel watches. */
  readonly name?: string
  readonly clientOptions?: LockClientOptions
  /** Who the clients are, where tests are somebody else. */
  readonly credentials?: { readonly username: string; readonly password: string }
}

const given = process.env['HOLDFAST_TEST_TOPOLOGY']
export const topology = given === undefined ? null : (JSON.parse(given) as Topology)
