// The names of core that its entries use besides the public ones, which they import from `index.ts` like a user. An entry imports
// nothing else: whoever changes a name here sees who is built on it.
import { InvalidArgumentError } from '../errors.js'
import type { LockClient } from '../lock-client.js'
import type { LockServices } from '../locks/services.js'
export { ANSWER_MS, checkLevelLease, checkRenew } from '../acquire/acquire-options.js'
export { Acquisition } from '../acquire/acquisition.js'
export { unavailableOrThrow } from '../acquire/failed-try.js'
export type { LevelRequest } from '../acquire/levels.js'
export { ruleFor } from '../arguments/another-copy.js'
export { checkWork, refuseGenerator, refuseLazy, refuseLazyMethod } from '../arguments/lazy-result.js'
export { followed, nativeSignal } from '../arguments/native-signal.js'
export { refuseReleased } from '../arguments/released.js'
export type { KnownKeys } from '../arguments/unknown-key.js'
export {
  checkClient,
  checkDuration,
  checkFunction,
  checkMaxWaiting,
  checkInteger,
  checkLease,
  checkMethods,
  checkName,
  checkObject,
  checkOneOf,
  checkOptions,
  checkWait,
} from '../arguments/validate.js'
export type { Context } from '../context/context.js'
export { siteToAcquire } from '../context/ambient.js'
export { noteWish } from '../diagnostics/hold-note.js'
export type { ReportedWait } from '../diagnostics/wait-reporter.js'
export { ALONE, type AcquireTerms, type HoldChange } from '../entry/entry-commands.js'
export { SerialQueue } from '../entry/serial-queue.js'
export { type EventObserver, OncePerName, warn } from '../events.js'
export { Hold, refuseIfShared } from '../hold.js'
export { looksLikeToken, stepOf } from '../inspect-all.js'
export {
  INBOX_PREFIX,
  clientIdOf,
  electionChannel,
  fairQueueKeys,
  grantQueueKey,
  handedOverOwner,
  isInOneSlot,
  keptResultKey,
  keyPattern,
  localName,
  noteKey,
  observerChannels,
  partsOfOwner,
  probeKey,
  reportKeys,
  runResultKey,
  shareLock,
  shareLockInOneSlot,
  termsKey,
  ticksKey,
  tokenKey,
  tombstonePrefix,
  unlockChannel,
  waitingWriters,
  wellFormed,
} from '../keys.js'
export { FairProtocol } from '../kinds/fair.js'
export type { TokenRule } from '../kinds/fenced-options.js'
export { FencedProtocol } from '../kinds/fenced.js'
export type { LockProtocol } from '../kinds/lock-protocol.js'
export { PlainProtocol } from '../kinds/plain.js'
export { holderInWords, lockHolder } from '../lock-holder.js'
export { Lock } from '../locks/lock.js'
export type { AcquireServices } from '../acquire/services.js'
export type { LockServices } from '../locks/services.js'
export type { Announcement } from '../redis/announcement.js'
export { unansweredWait } from '../redis/failures.js'
export type { KeyScan, ScannedType } from '../redis/key-scan.js'
export { luaParts } from '../redis/lua-sources.js'
export type { ScriptCall } from '../redis/script-call.js'
export type { ScriptRunner } from '../redis/script-runner.js'
export { defineEntryScript } from '../redis/script.js'
export {
  type Shape,
  anyNumber,
  count,
  either,
  facts,
  isList,
  isScalar,
  isToken,
  numberFrom,
  numbers,
  pairsIn,
  parts,
  releasedOrGiven,
  texts,
  yesOrNo,
} from '../redis/shapes.js'
export { isForbidden, pause, untilKnown } from '../redis/until-known.js'
export { foreign } from '../runtime/format-value.js'
export { oncePerProcess } from '../runtime/once-per-process.js'
export { isPlainObject } from '../runtime/plain-object.js'
export { type ReplyHandler, handleReply, identity } from '../runtime/reply-handler.js'
export { afterAnswers, jittered, randomHex } from '../runtime/runtime.js'
export { showsOnly } from '../runtime/shows-only.js'
export { type AcquireReply, granted, parseAcquired } from '../scripts/acquire-reply.js'
export { wasDone } from '../scripts/counter.js'
export { type ReleaseReply, holdsIn, parseReleased } from '../scripts/lock.js'
export { type NoteRequest, wantedNote } from '../scripts/note.js'
export { type CommandStamp, REPLAY_GUARD_TTL_MS, argvOfStamp } from '../scripts/replay-guard.js'

/** @throws InvalidArgumentError it is no client, or a test double, which has nothing to observe */
export function sessionOf(locks: LockClient): LockServices {
  // Users without types pass anything.
  const session = (locks as Partial<LockClient> | null | undefined)?.session as
    Partial<LockServices> | undefined
  if (session?.runner === undefined) {
    throw new InvalidArgumentError('locks', locks, 'a LockClient, as from LockClient.connect(url)')
  }
  return session as LockServices
}
