import type { TransportDeps } from '../../../src/core/transport.ts'
import type { Ingested } from '../inbound/incoming.ts'
import type { EmailOptions } from '../options.ts'
import type { Aside, createCursorStore } from './cursor.ts'
import type { Failures, Fetched } from './fetch.ts'
import type { ImapConnection } from './imap-connection.ts'

/** Dependencies of reading, for all folders. */
export type ReadingParts = {
  deps: TransportDeps
  /** How long (ms) to wait until it is decided whether the sender of a mail is verified. */
  decisionTimeout: number
}

/**
 * A folder to read, and the handling of its mails. `waited` returns how long a mail has been
 * undecided (ms).
 */
export type FolderReading = {
  folder: string
  options: Pick<EmailOptions, 'since' | 'after' | 'quarantine' | 'max-size' | 'sweep'>
  ingest(batch: readonly Fetched[], waited: (mail: Fetched) => number): Promise<Ingested[]>
}

export type FolderParts = ReadingParts &
  FolderReading & {
    connection: ImapConnection
    /** The lease's fencing token for the cursor. */
    token: number
    /**
     * State across connections: failed fetches, and by UID the last retry of mails set aside (Unix
     * ms).
     */
    memory: { failures: Failures; triedAt: Map<number, number> }
    /** Start time, from which mail is new (Unix ms). */
    startedAt: number
    /** Called after mails were processed, and when the server has no more. */
    onProgress(aside: readonly Aside[]): void
  }

/** A folder that is open on a connection. */
export type OpenFolder = FolderParts & {
  uidValidity: string
  /** The UID that the next mail will get, as of the opening of the folder. */
  uidNext: number
  /** True if no option changes mails on the server. */
  readOnly: boolean
  save: ReturnType<typeof createCursorStore>['save']
  /** Aborts when reading is stopped. */
  stopped: AbortSignal
  /** Aborts when reading is stopped or the connection has ended. */
  signal: AbortSignal
}
