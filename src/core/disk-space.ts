import { GIB } from './units.ts'

/** Less free space (bytes) than this is low. */
const LOW_SPACE = GIB
/** On a small disk, free space is low below this part of its size. */
const LOW_PART = 1 / 20

/** Whether the disk of the data directory is almost full. `free` and `size`: bytes. */
export function isDiskLow({ free, size }: { free: number; size: number }): boolean {
  return free < Math.min(LOW_SPACE, size * LOW_PART)
}
