/** Sharded messages (SPUBLISH, Redis 7) go to the nodes of one slot, others to every node of a cluster. */
export type PublishCommand = 'PUBLISH' | 'SPUBLISH'

/** Placeholder until the command is known. A lone surrogate cannot occur in text sent to Redis. */
export const UNDECIDED = '\uD800announcement'

/** How to publish. '': do not. */
export type Announcement = PublishCommand | typeof UNDECIDED | ''
