import { InvalidArgumentError } from '@holdfast/core'
import { type KnownKeys } from '@holdfast/core/siblings'
import { type Claim, claimOf, type FenceOptions, type TokenHolder } from './claim.js'

/** Where the library does not tell MariaDB from MySQL. */
export interface ServerOptions extends FenceOptions {
  /** MySQL has no RETURNING, so its fence is two statements. Default `'mariadb'`. */
  readonly server?: 'mariadb' | 'mysql' | undefined
}

const SERVER_OPTIONS: KnownKeys<ServerOptions> = { name: true, server: true }

/** @throws InvalidArgumentError */
export function claimOn(
  holder: TokenHolder,
  options: ServerOptions,
): { readonly claim: Claim; readonly server: 'mariadb' | 'mysql' } {
  const claim = claimOf(holder, options, SERVER_OPTIONS)
  const server: string = options.server ?? 'mariadb'
  if (server !== 'mariadb' && server !== 'mysql') {
    throw new InvalidArgumentError('options.server', server, "'mariadb' or 'mysql'")
  }
  return { claim, server }
}
