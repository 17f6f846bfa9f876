import { waitingByName } from './contestants/index.mjs'

/** CPU time of Redis, µs, and how many commands clients have sent to it that a contestant sends. */
export const usageOf = async (contestant, { info }) => {
  const calls = await info.calls()
  const sent = Object.entries(waitingByName(contestant).sends)
  const commands = sent.reduce((sum, [command, part]) => sum + part * (calls.get(command) ?? 0), 0)
  return { commands, cpuMicros: await info.cpuMicros() }
}
