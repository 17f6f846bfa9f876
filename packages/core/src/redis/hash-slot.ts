/**
 * The slot of a key on a cluster, as the
 * [specification](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model)
 * says: CRC16 (XMODEM) of the part between the first `{` and the next `}`, else of the whole key.
 */
export function hashSlot(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open)
  const bytes = Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)
  let crc = 0
  for (let i = 0; i < bytes.length; i += 1) {
    // One byte of the polynomial x^16 + x^12 + x^5 + 1 at a time, without a table.
    let x = (crc >> 8) ^ (bytes[i] as number)
    x ^= x >> 4
    crc = ((crc << 8) ^ (x << 12) ^ (x << 5) ^ x) & 0xffff
  }
  return crc & 0x3fff
}
