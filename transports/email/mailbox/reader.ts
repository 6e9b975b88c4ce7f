import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../../src/core/errors.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import type { Aside } from './cursor.ts'
import { readFolder } from './folder.ts'
import { type FolderState, healthOf } from './health.ts'
import type { ConnectImap } from './imap-connection.ts'
import type { FolderReading, ReadingParts } from './reading.ts'

/**
 * `lease`: how long (ms) a dead daemon blocks the mailbox. `retry`, `maxRetry`: first and longest
 * pause (ms) after a lost connection.
 */
export const READER_TIMING = { lease: 4000, retry: 1000, maxRetry: 60_000 }

/** Why reading ends if another daemon holds the lease. */
const TAKEN = 'another daemon reads the mailbox now'
/** Why reading ends if the lease could not be renewed, for example because the store was slow. */
const NOT_RENEWED =
  'the lease of the mailbox could not be renewed in time; reading continues once this or another daemon gets it'

/** How long a stop waits for the server's response; the next reader repeats the request. */
const CLOSE_DELAY_MS = 2_000

export type ReaderTiming = typeof READER_TIMING

type ReaderParts = ReadingParts & {
  folders: readonly FolderReading[]
  /** A folder that was not read successfully for this time (ms) counts as unreadable. */
  maxSilence: number
  connect: ConnectImap
  timing: ReaderTiming
}

/** Reads a mailbox, on one daemon at a time. */
export function createReader(parts: ReaderParts) {
  const { folders, maxSilence, deps, connect, timing } = parts
  const { log, now } = deps
  const owner = randomUUID()
  const stopping = new AbortController()
  const states = new Map<string, FolderState>()
  let running: Promise<void> | undefined
  let startedAt = 0

  const run = async () => {
    while (!stopping.signal.aborted) {
      const lease = await acquireLease(parts, owner, stopping.signal)
      if (!lease) return
      const signal = AbortSignal.any([stopping.signal, lease.lost])
      await Promise.all(folders.map((reading) => keepReading(reading, lease.token, signal)))
      states.clear()
      await lease.release()
      if (lease.lost.aborted) log.warn({}, reasonOf(lease.lost.reason))
    }
  }

  /** Reads a folder, with retries, until `signal` aborts. */
  const keepReading = async (reading: FolderReading, token: () => number, signal: AbortSignal) => {
    const { folder } = reading
    let failures = 0
    const state: FolderState = { progressAt: now(), wasRead: false, aside: [] }
    states.set(folder, state)
    const memory = { failures: new Map(), triedAt: new Map() }
    const onProgress = (aside: readonly Aside[]) => {
      failures = 0
      Object.assign(state, { progressAt: now(), wasRead: true, aside, error: undefined })
    }
    while (!signal.aborted) {
      try {
        using connection = await connectUntil(signal)
        if (!connection || signal.aborted) return
        // At a stop, the server may no longer respond.
        const closeLater = () => setTimeout(() => connection.client.close(), CLOSE_DELAY_MS).unref()
        signal.addEventListener('abort', closeLater, { signal: connection.closed })
        const connected = { connection, token: token(), memory, startedAt, onProgress }
        await readFolder({ ...parts, ...reading, ...connected }, signal)
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
    health: () => healthOf(states, maxSilence, now()),
  }
}

/**
 * Waits for the mailbox's lease, then renews it until `release`. `token()` fences writes; `lost`
 * aborts when another daemon may hold the lease. Undefined if `signal` aborted first. While the
 * store is unreachable, no daemon gets the lease.
 */
async function acquireLease(
  { deps, timing: { lease: ttl } }: ReaderParts,
  owner: string,
  signal: AbortSignal,
) {
  const { leases, log } = deps
  const name = `email/${deps.gateway}`
  const lost = new AbortController()
  let token = 0
  let expiresAt = 0
  let isPending = false
  /** Whether the store has answered that another daemon holds the lease. */
  let isTaken = false
  /** Acquires or renews the lease. Resolves with false if it failed or another call is pending. */
  const acquire = async (): Promise<boolean> => {
    if (isPending) return false
    isPending = true
    const requestedAt = performance.now()
    isTaken = false
    const lease = await leases.acquire(name, owner, ttl).then(
      (found) => {
        isTaken = found === undefined
        return found
      },
      (error: unknown) => {
        log.warn({ lease: name, reason: reasonOf(error) }, 'the lease of the mailbox could not be taken')
      },
    )
    isPending = false
    if (lease) {
      token = lease.token
      expiresAt = requestedAt + ttl
    }
    return lease !== undefined
  }
  // A store that does not respond must not block a stop.
  while (!(await inTime(acquire(), signal))) {
    if (signal.aborted) return undefined
    await pause(ttl / 6, signal)
  }
  const timer = setInterval(async () => {
    // Gives the lease up before it expires, so that two daemons never hold it at once. A process
    // that was too busy to renew it in time continues if it still gets the lease.
    if (!(await acquire()) && performance.now() > expiresAt - ttl / 3)
      lost.abort(new Error(isTaken ? TAKEN : NOT_RENEWED))
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
