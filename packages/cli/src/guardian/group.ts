/**
 * Signals a process group.
 * @returns false: no process of it is left
 */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    // EPERM: its processes are there, and belong to another user by now.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
