import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Health } from '../../../src/core/transport.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import type { Aside } from './cursor.ts'
import { readFolder } from './folder.ts'
import type { ConnectImap } from './imap-connection.ts'
import type { FolderReading, ReadingParts } from './reading.ts'

/**
 * `lease`: how long (ms) a dead daemon blocks the mailbox. `retry`, `maxRetry`: first and longest pause (ms) after a lost connection.
 */
export const READER_TIMING = { lease: 4000, retry: 1000, maxRetry: 60_000 }

/** How long (ms) a stop waits for the server's response; the next reader repeats the request. */
const LEAVE = 2_000

export type ReaderTiming = typeof READER_TIMING

/** `progressAt`: last successful read. `read`: succeeded since the start. `error`: current problem. */
type FolderState = { progressAt: number; read: boolean; aside: readonly Aside[]; error?: string | undefined }

type ReaderParts = ReadingParts & {
  folders: readonly FolderReading[]
  /** A folder without news for this time (ms) counts as unreadable. */
  maxSilence: number
  connect: ConnectImap
  timing: ReaderTiming
}

/** Reads a mailbox, on one daemon at a time. */
export function createReader(parts: ReaderParts) {
  const { folders, deps, connect, timing } = parts
  const { log, now } = deps
  const owner = randomUUID()
  const stopping = new AbortController()
  const states = new Map<string, FolderState>()
  let running: Promise<void> | undefined
  let startedAt = 0

  const run = async () => {
    while (!stopping.signal.aborted) {
      const lease = await holdLease(parts, owner, stopping.signal)
      if (!lease) return
      const signal = AbortSignal.any([stopping.signal, lease.lost])
      await Promise.all(folders.map((reading) => keepReading(reading, lease.token, signal)))
      states.clear()
      await lease.release()
      if (lease.lost.aborted) log.warn({}, 'another daemon reads the mailbox now')
    }
  }

  /** Reads a folder, with retries, until `signal` aborts. */
  const keepReading = async (reading: FolderReading, token: () => number, signal: AbortSignal) => {
    const { folder } = reading
    let failures = 0
    const state: FolderState = { progressAt: now(), read: false, aside: [] }
    states.set(folder, state)
    const memory = { failures: new Map(), tried: new Map() }
    const onProgress = (aside: readonly Aside[]) => {
      failures = 0
      Object.assign(state, { progressAt: now(), read: true, aside, error: undefined })
    }
    while (!signal.aborted) {
      try {
        using connection = await connectUntil(signal)
        if (!connection || signal.aborted) return
        // The server may not respond any more.
        const leave = () => setTimeout(connection.client.close.bind(connection.client), LEAVE).unref()
        signal.addEventListener('abort', leave, { signal: connection.closed })
        const held = { connection, token: token(), memory, startedAt, onProgress }
        await readFolder({ ...parts, ...reading, ...held }, signal)
      } catch (error) {
        if (signal.aborted) return
        const wait = backoff(++failures, { first: timing.retry, longest: timing.maxRetry })
        const reason = reasonOf(error)
        state.error = reason
        log.warn({ folder, reason, wait }, 'the mailbox cannot be read; trying again')
        await pause(wait, signal)
      }
    }
  }

  const connectUntil = async (signal: AbortSignal) => {
    const connecting = connect()
    const connection = await inTime(connecting, signal)
    if (!connection) connecting.then(({ client }) => client.close()).catch(() => {})
    return connection
  }

  return {
    start(): void {
      startedAt ||= now()
      running ??= run()
    },
    /** Stops reading. Resolves when nothing is being accepted any more. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
    health: () => healthOf(states, parts),
  }
}

function healthOf(
  states: ReadonlyMap<string, FolderState>,
  { folders, maxSilence, deps: { now } }: ReaderParts,
): Health {
  if (states.size === 0) return { ok: true, detail: 'another daemon reads the mailbox, or none yet' }
  for (const [folder, { progressAt, read, error }] of states) {
    const silence = now() - progressAt
    const why = error ? `: ${error}` : ''
    const detail = `${folder} could not be read for ${Math.round(silence / 1000)} s${why}`
    if (silence > maxSilence) return { ok: false, detail }
    if (error) return { ok: read, detail: `${folder} cannot be read${why}; trying again` }
  }
  return {
    ok: true,
    detail: [`reading ${folders.map(({ folder }) => folder).join(', ')}`, ...asideIn(states)].join('; '),
  }
}

/**
 * Waits for the mailbox's lease, then renews it. `token()` fences writes; `lost` aborts when another daemon may hold the lease.
 * Undefined if `signal` aborted first. While the store is unreachable, nobody holds it.
 */
async function holdLease({ deps, timing: { lease: ttl } }: ReaderParts, owner: string, signal: AbortSignal) {
  const { leases, log } = deps
  const name = `email/${deps.gateway}`
  const lost = new AbortController()
  let token = 0
  let safeUntil = 0
  let isAsking = false
  const take = async (): Promise<boolean> => {
    if (isAsking) return false
    isAsking = true
    const asked = performance.now()
    const held = await leases.acquire(name, owner, ttl).catch((error) => {
      log.warn({ lease: name, reason: reasonOf(error) }, 'the lease of the mailbox could not be taken')
    })
    isAsking = false
    if (held) [token, safeUntil] = [held.token, asked + ttl]
    return held !== undefined
  }
  // A store that does not respond must not block a stop.
  while (!(await inTime(take(), signal))) {
    if (signal.aborted) return undefined
    await pause(ttl / 6, signal)
  }
  const timer = setInterval(async () => {
    // Given up before it expires, so that two daemons never hold it at once. A process that was too busy to renew in time,
    // and still holds it, continues, because the load would return otherwise.
    if (!(await take()) && performance.now() > safeUntil - ttl / 3)
      lost.abort(new Error('the lease of the mailbox was lost'))
  }, ttl / 4)
  return {
    token: () => token,
    lost: lost.signal,
    async release() {
      clearInterval(timer)
      // If the store is unreachable, the lease expires.
      if (!lost.signal.aborted) await leases.release(name, owner).catch(() => {})
    },
  }
}

/** Describes the mails set aside. */
function asideIn(states: ReadonlyMap<string, FolderState>): string[] {
  const why = (each: Aside) => (each.unfetchable ? 'cannot be fetched' : 'its sender cannot be verified yet')
  const all = [...states].flatMap(([folder, { aside }]) =>
    aside.map((each) => `mail ${each.uid} of ${folder} (${why(each)})`),
  )
  return all.length > 0 ? [`set aside: ${all.length}: ${all.slice(0, 10).join(', ')}`] : []
}
