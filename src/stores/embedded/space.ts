import { statfs } from 'node:fs/promises'
import { TriviumError } from '../../core/errors.ts'

/**
 * Bytes that must be free: about what a transaction of large messages adds to the write-ahead log.
 */
const LEAST = 4 * 1024 ** 2

/** Throws `store_unavailable` if the next messages may not fit, even if a small row still does. */
export async function checkSpace(dir: string, store: string): Promise<void> {
  // Some network file systems do not report their size.
  const space = await statfs(dir).catch(() => undefined)
  if (!space || space.blocks === 0) return
  const free = space.bavail * space.bsize
  if (free >= LEAST) return
  const reason = `its disk is almost full: ${Math.floor(free / 1024)} KiB free, less than ${LEAST / 1024 ** 2} MiB`
  throw new TriviumError('store_unavailable', { store, reason })
}
