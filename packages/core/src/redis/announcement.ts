import { isHeardEverywhere } from '../keys.js'

/** Sharded messages (SPUBLISH, Redis 7) go to the nodes of one slot, others to every node of a cluster. */
export type PublishCommand = 'PUBLISH' | 'SPUBLISH'

/** In place of the command while it is not known which one it will be. No text of a user's has a lone surrogate. */
export const UNDECIDED = '\uD800announcement'

/** How something is announced. '': it is not. */
export type Announcement = PublishCommand | typeof UNDECIDED | ''

/** The command that whoever listens to the channel hears. */
export function announcementOn(channel: string, command: PublishCommand | null): Announcement {
  return command === 'PUBLISH' || isHeardEverywhere(channel) ? 'PUBLISH' : (command ?? UNDECIDED)
}

/** The same arguments with what has been decided meanwhile. */
export function decided(args: readonly string[], command: PublishCommand): readonly string[] {
  return args.map((each) => (each === UNDECIDED ? command : each))
}
