import { partTester } from '../../core/message-query.ts'
import { type Entry, parseHead } from './codec.ts'
import type { Places } from './layout.ts'
import type { Server } from './scripts.ts'

/** Number of entries per command. */
const SLICE = 200
/** Maximum number of heads per script, which reads the entries in full but returns only these. */
const HEADS = 1_000

type Head = [entry: string, head: string]
/** The reply of `lua/heads.lua`. */
type Heads = [isEnd: number, heads: Head[]]

/** Consecutive entries of the journal. `last`: the oldest of them. */
type Slice = { entries: Entry[]; last: { id: string; place: number } | undefined; isEnd: boolean }

/**
 * Makes a function that reads a slice of the journal, from a place backwards. `part`: the beginning
 * or the end of an id. With it, a slice has only entries with such ids, and the others stay on the
 * server.
 */
export function readBack(
  { call, run }: Pick<Server, 'call' | 'run'>,
  main: string,
  places: Places,
  part: string | undefined,
): (from: number) => Promise<Slice> {
  const journal = `${main}journal`
  const placed = ([entry, text]: Head) => {
    const place = Number.parseInt(entry, 10)
    const { time, tail } = parseHead(text)
    return { entry, place, id: places.idAt(time, place, tail) }
  }
  if (part === undefined) {
    return async (from) => {
      const entries = await call<Entry[]>('XREVRANGE', journal, `${from}-0`, '-', 'COUNT', SLICE)
      const [last] = entries.slice(-1).map(([entry, [, head]]) => placed([entry, head]))
      return { entries, last, isEnd: entries.length < SLICE }
    }
  }
  const isWanted = partTester(part)
  return async (from) => {
    const [isEnd, found] = await run<Heads>('heads', main, from, HEADS)
    const heads = found.map(placed)
    const wanted = heads.filter(({ id }) => isWanted(id))
    const entries = wanted.map(({ entry }) => call<Entry[]>('XRANGE', journal, entry, entry))
    return { entries: (await Promise.all(entries)).flat(), last: heads.at(-1), isEnd: isEnd === 1 }
  }
}
