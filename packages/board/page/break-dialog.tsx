import { useEffect, useRef, useState } from 'preact/hooks'
import { holderName } from './rows.js'
import type { Holder } from './wire.js'
import { serverNow } from './store.js'
import { counted, spoken } from './words.js'

interface Props {
  readonly name: string
  readonly holder: Holder
  readonly waiting: number
  /** With what to tell: '' when nothing was done. */
  readonly onDone: (text: string) => void
}

/** Asks once more, and names who would lose the lock. */
export function BreakDialog({ name, holder, waiting, onDone }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isSending, setSending] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const send = async (): Promise<void> => {
    setSending(true)
    onDone(await breakLock(name, holder.owner))
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby="break-title"
      aria-describedby="break-text"
      onCancel={() => onDone('')}
    >
      <h3 id="break-title">Break the lock “{name}”?</h3>
      <div id="break-text">
        <p>
          <strong>{holderName(holder)}</strong> has held it for {holder.isSinceExact ? '' : 'at least '}
          {spoken(serverNow() - holder.since)}, as <code>{holder.owner}</code>.
        </p>
        <p>
          Its work may go on until it hears of it, and{' '}
          {waiting === 0 ? 'another caller' : `the next of ${counted(waiting, 'waiter')}`} begins at once:
          both may work on the same thing. If another owner has the lock by then, nothing is done.
        </p>
      </div>
      <p class="buttons">
        <button type="button" autofocus onClick={() => onDone('')}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isSending} onClick={() => void send()}>
          Break the lock of {holderName(holder)}
        </button>
      </p>
    </dialog>
  )
}

/** Longer than the board waits for Redis. */
const LONGEST_ANSWER_MS = 30_000

async function breakLock(name: string, holder: string): Promise<string> {
  const signal = AbortSignal.timeout(LONGEST_ANSWER_MS)
  try {
    const token = await fetch('token', { signal })
    if (!token.ok) {
      return await token.text()
    }
    const query = new URLSearchParams({ lock: name, holder })
    const reply = await fetch(`break?${query.toString()}`, {
      method: 'POST',
      headers: { 'X-Holdfast-Token': ((await token.json()) as { token: string }).token },
      signal,
    })
    return ((await reply.json()) as { message: string }).message
  } catch (error) {
    if (signal.aborted) {
      return 'The board did not answer. Browsers open six connections to one host: close other pages of the board.'
    }
    return `The board did not answer: ${String(error)}`
  }
}
