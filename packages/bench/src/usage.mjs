import { waitingByName } from './contestants/index.mjs'

/** CPU time of Redis, µs, and what clients have sent to it of the commands that a contestant sends. */
export const sentBy = async (contestant, { info }) => {
  const calls = await info.calls()
  const sent = Object.entries(waitingByName(contestant).sends).map(([command, part]) => [
    command,
    part * (calls.get(command) ?? 0),
  ])
  return { sent: Object.fromEntries(sent), cpuMicros: await info.cpuMicros() }
}

/** The same with the number of all these commands. */
export const usageOf = async (contestant, context) => {
  const { sent, cpuMicros } = await sentBy(contestant, context)
  return { commands: Object.values(sent).reduce((sum, count) => sum + count, 0), cpuMicros }
}
