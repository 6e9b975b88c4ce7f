import type { Exchange } from './exchange.ts'
import { CHUNKS, type Records } from './records.ts'

/**
 * Number of exchanges in a chunk. A report adds at most as many, so that a fast push does not write
 * all of them.
 */
const CHUNK_SIZE = 20

export type Exchanges = ReturnType<typeof createExchanges>

/** `exchange` is only made for those that are stored, as a fast push has many others. */
type Kept = { exchange: () => Exchange; isFailed: boolean }

/**
 * The requests and answers of the newest attempts of a subscription, in a ring of chunks. `first`:
 * the chunk to begin with.
 */
export function createExchanges(records: Pick<Records, 'setExchanges' | 'addExchanges'>, first: number) {
  let chunk = first % CHUNKS
  /** Number of exchanges in this chunk. */
  let size = 0
  let added: Kept[] = []
  return {
    /** The chunk to begin with after a restart, which does not overwrite the present one. */
    chunk: () => (size === 0 ? chunk : (chunk + 1) % CHUNKS),
    /** Keeps an exchange. While too many come, the newest stay, and failed ones are preferred. */
    add(isFailed: boolean, exchange: () => Exchange): void {
      if (added.length === CHUNK_SIZE) {
        const oldestDelivered = added.findIndex((each) => !each.isFailed)
        if (oldestDelivered < 0 && !isFailed) return
        added.splice(Math.max(0, oldestDelivered), 1)
      }
      added.push({ exchange, isFailed })
    },
    /** Stores those that were added. */
    async write(): Promise<void> {
      const fresh = added.map(({ exchange }) => exchange())
      added = []
      while (fresh.length > 0) {
        const part = fresh.splice(0, CHUNK_SIZE - size)
        const store = size === 0 ? records.setExchanges : records.addExchanges
        size += part.length
        await store(chunk, part)
        if (size < CHUNK_SIZE) return
        chunk = (chunk + 1) % CHUNKS
        size = 0
      }
    },
  }
}
