import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Health, TransportDeps } from '../../../src/core/transport.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { ConnectImap } from '../imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import { createPutAway, type PutAway } from './afterwards.ts'
import { createCursorStore } from './cursor.ts'
import { createDoubts, type Doubts } from './doubts.ts'
import { readFolder } from './folder.ts'
import type { Ingest } from './ingest.ts'
import { type HeldLease, holdLease } from './lease.ts'
import { createSpool, type Spool } from './spool.ts'

/** Reads the mailbox, on one daemon at a time. */
export type Reader = {
  start(): void
  /** Resolves when nothing is being taken in any more. */
  stop(): Promise<void>
  health(): Health
}

export type ReaderTiming = {
  /** How long a daemon that died keeps the mailbox from the others (ms). */
  lease: number
  /** First and longest pause before the next try after a lost connection (ms). */
  retry: number
  maxRetry: number
}

export const READER_TIMING: ReaderTiming = { lease: 8000, retry: 1000, maxRetry: 60_000 }

export function createReader(parts: {
  options: EmailOptions
  deps: TransportDeps
  connect: ConnectImap
  ingest: Ingest
  /** How long a mail may be undecided (ms). */
  patience: number
  timing: ReaderTiming
}): Reader {
  const { options, deps, connect, ingest, patience, timing } = parts
  const { log, gateway } = deps
  const owner = randomUUID()
  const stopping = new AbortController()
  const states = new Map<string, FolderState>()
  let role: 'waiting' | 'reading' = 'waiting'
  let running: Promise<void> | undefined

  const run = async () => {
    while (!stopping.signal.aborted) {
      const lease = await holdLease({
        leases: deps.leases,
        name: `email/${gateway}`,
        owner,
        ttl: timing.lease,
        log,
        signal: stopping.signal,
      })
      if (!lease) return
      await readUnder(lease)
    }
  }

  const readUnder = async (lease: HeldLease) => {
    role = 'reading'
    const signal = AbortSignal.any([stopping.signal, lease.lost])
    for (const folder of options.folders)
      states.set(folder, { progressAt: deps.now(), read: false, aside: 0 })
    await Promise.all(options.folders.map((folder) => keepReading(folder, lease.token, signal)))
    role = 'waiting'
    await lease.release()
    if (lease.lost.aborted) log.warn({}, 'the mailbox went to another daemon')
  }

  /** Reads one folder, and again after each failure, until `signal` aborts. */
  const keepReading = async (folder: string, token: number, signal: AbortSignal) => {
    const { after, quarantine } = options
    const spool = createSpool(deps.artifacts, options['max-size'])
    const doubts = createDoubts({ folder, log, refused: deps.refused, now: deps.now })
    const putAway = createPutAway({ folder, after, quarantine, log })
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await readOnce(folder, token, { spool, doubts, putAway }, signal, () => {
          attempt = 0
        })
      } catch (error) {
        if (signal.aborted) break
        const wait = backoff(attempt, { first: timing.retry, longest: timing.maxRetry })
        states.set(folder, { ...stateOf(folder), error: reasonOf(error) })
        log.warn(
          { folder, reason: reasonOf(error), wait: Math.round(wait) },
          'the mailbox cannot be read; trying again',
        )
        await pause(wait, signal)
      }
    }
    await spool.close()
  }

  const readOnce = async (
    folder: string,
    token: number,
    tools: { spool: Spool; doubts: Doubts; putAway: PutAway },
    signal: AbortSignal,
    onProgress: () => void,
  ) => {
    const connection = await connect()
    // The cursor is read again for each connection: it says how far the last one came.
    const cursors = createCursorStore(deps.kv, gateway, folder, token)
    try {
      await readFolder(
        connection,
        {
          folder,
          cursors,
          ingest,
          ...tools,
          since: options.since,
          readOnly: options.after === 'keep' && !options.quarantine,
          maxSize: options['max-size'],
          sweep: options.sweep,
          patience,
          onProgress() {
            const { aside } = stateOf(folder)
            states.set(folder, { progressAt: deps.now(), read: true, aside })
            onProgress()
          },
          onAside: (aside) => void states.set(folder, { ...stateOf(folder), aside }),
          log,
          now: deps.now,
        },
        signal,
      )
    } finally {
      await connection.end()
    }
  }

  const stateOf = (folder: string) => states.get(folder) ?? { progressAt: deps.now(), read: false, aside: 0 }

  return {
    start() {
      running ??= run()
    },
    async stop() {
      stopping.abort()
      await running
    },
    health() {
      if (role === 'waiting') return { ok: true, detail: 'another daemon reads the mailbox, or nobody yet' }
      for (const [folder, { progressAt, read, error }] of states) {
        const silence = deps.now() - progressAt
        const seconds = Math.round(silence / 1000)
        if (silence > options['max-silence']) {
          return {
            ok: false,
            detail: `${folder} could not be read for ${seconds} s${error ? `: ${error}` : ''}`,
          }
        }
        if (error && !read) return { ok: false, detail: `${folder} cannot be read: ${error}` }
        if (error) return { ok: true, detail: `${folder}: ${error}; trying again` }
      }
      const aside = [...states.values()].reduce((sum, each) => sum + each.aside, 0)
      const note = aside > 0 ? `; set aside while their sender cannot be told: ${aside}` : ''
      return { ok: true, detail: `reading ${options.folders.join(', ')}${note}` }
    },
  }
}

/** `progressAt`: when something could be read last. `read`: it could be since the start. `error`: why it cannot be right now. `aside`: mails that are undecided. */
type FolderState = { progressAt: number; read: boolean; aside: number; error?: string }
