import { GIB } from './units.ts'

/**
 * Less free space for the data directory (bytes) is a trouble; on a small disk, less than a part of
 * its size.
 */
const LOW_SPACE = GIB
const LOW_PART = 1 / 20

/** Whether the disk of the data directory is almost full. `free` and `size`: bytes. */
export function isDiskLow({ free, size }: { free: number; size: number }): boolean {
  return free < Math.min(LOW_SPACE, size * LOW_PART)
}
