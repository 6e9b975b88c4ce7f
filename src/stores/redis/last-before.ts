import { type Entry, parseHead, positionIn } from './codec.ts'
import type { Server } from './scripts.ts'

/** Whether an entry comes before the wanted one; true for all older entries. */
type IsBefore = (head: ReturnType<typeof parseHead>, position: number) => boolean

/**
 * Binary search for the last journal entry for which `isBefore` is true. Returns its position, 0 if
 * there is none.
 */
export async function lastBefore(call: Server['call'], main: string, isBefore: IsBefore): Promise<number> {
  const [last] = await call<Entry[]>('XREVRANGE', `${main}journal`, '+', '-', 'COUNT', 1)
  let low = 0
  let high = last ? positionIn(last) : 0
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [found] = await call<Entry[]>('XRANGE', `${main}journal`, `${middle}-0`, '+', 'COUNT', 1)
    if (found && isBefore(parseHead(found[1][1]), positionIn(found))) low = positionIn(found)
    else high = middle - 1
  }
  return low
}
