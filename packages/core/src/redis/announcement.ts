import { isHeardEverywhere } from '../keys.js'

/** Sharded messages (SPUBLISH, Redis 7) go to the nodes of one slot, others to every node of a cluster. */
export type PublishCommand = 'PUBLISH' | 'SPUBLISH'

/** Placeholder until the command is known. A lone surrogate cannot occur in text sent to Redis. */
export const UNDECIDED = '\uD800announcement'

/** How to publish. '': do not. */
export type Announcement = PublishCommand | typeof UNDECIDED | ''

/** The command whose messages the channel's subscribers receive. */
export function announcementOn(channel: string, command: PublishCommand | null): Announcement {
  return command === 'PUBLISH' || isHeardEverywhere(channel) ? 'PUBLISH' : (command ?? UNDECIDED)
}

/** Replaces the placeholder by the command. */
export function decided(args: readonly string[], command: PublishCommand): readonly string[] {
  return args.map((each) => (each === UNDECIDED ? command : each))
}
