/**
 * What can be waited for, and what Redis does once for each hold that is taken and once for each that is given back:
 * the difference to what callers were told is what came too late for its caller.
 *
 * @type {Record<string, { of: (client: any, name: string) => any, taking: string, givingBack: string }>}
 */
export const KINDS = {
  lock: { of: (client, name) => client.getLock(name), taking: 'hset', givingBack: 'publish' },
}
