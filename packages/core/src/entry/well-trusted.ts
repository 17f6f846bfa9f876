/** Whether enough trusted time is left not to ask Redis: with less, renewals are failing. */
export function isWellTrusted(trustedForMs: number, ttlMs: number): boolean {
  return trustedForMs >= ttlMs / 3
}
