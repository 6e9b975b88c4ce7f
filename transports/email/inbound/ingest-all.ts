import type { Incoming, Ingest, Ingested, Turn, Work } from './ingest.ts'

/** Mails of one batch that are worked on at once; each may wait for DNS or the disk. */
const CONCURRENCY = 32

/** `waited`: for how long a mail has been undecided (ms). */
type Working = Pick<Work, 'known' | 'signal'> & { waited(uid: number): number }

/**
 * Takes the mails of a batch in, side by side, accepted in order; the results stand in the same order. Rejects when
 * `signal` aborts, once nothing is being taken in any more.
 */
export async function ingestAll(
  incoming: Incoming[],
  ingest: Ingest,
  { known, waited, signal }: Working,
): Promise<Ingested[]> {
  const results: Ingested[] = new Array(incoming.length)
  const turns = takeTurns(incoming.length, signal)
  let next = 0
  const work = async () => {
    for (let at = next++; at < incoming.length; at = next++) {
      const each = incoming[at]
      const turn = turns[at]
      if (each && turn) results[at] = await ingest(each, { known, turn, waited: waited(each.uid), signal })
    }
  }
  const workers = Array.from({ length: Math.min(CONCURRENCY, incoming.length) }, work)
  // All of them have ended when this does, so that nothing is accepted after a stop.
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return results
}

function takeTurns(count: number, signal: AbortSignal): Turn[] {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  let last = Promise.resolve()
  return Array.from({ length: count }, () => {
    const before = last
    const passed = Promise.withResolvers<void>()
    last = before.then(() => passed.promise)
    return { wait: () => Promise.race([before, aborted]), pass: passed.resolve }
  })
}
