/**
 * What can be waited for.
 *
 * @type {Record<string, (client: any, name: string) => any>}
 */
export const KINDS = {
  lock: (client, name) => client.getLock(name),
}
