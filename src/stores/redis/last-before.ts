import { type Entry, parseHead, positionIn } from './codec.ts'
import type { Server } from './scripts.ts'

/** Whether an entry comes before what is looked for; true for the older ones. */
type IsBefore = (head: ReturnType<typeof parseHead>, position: number) => boolean

/** The position of the last entry of the journal that comes before something; 0: none. It reads one entry a step, and halves what is left. */
export async function lastBefore(call: Server['call'], main: string, isBefore: IsBefore): Promise<number> {
  const [last] = await call<Entry[]>('XREVRANGE', `${main}journal`, '+', '-', 'COUNT', 1)
  let [low, high] = [0, last ? positionIn(last) : 0]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [found] = await call<Entry[]>('XRANGE', `${main}journal`, `${middle}-0`, '+', 'COUNT', 1)
    if (found && isBefore(parseHead(found[1][1]), positionIn(found))) low = positionIn(found)
    else high = middle - 1
  }
  return low
}
