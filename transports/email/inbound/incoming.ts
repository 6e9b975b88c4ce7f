import type { TriviumError } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Verdict } from '../proof/claim.ts'
import type { Mail } from './parse.ts'

/** A received mail. */
export type Incoming = {
  /** The folder, for a mail of a mailbox. */
  folder?: string
  /** The UID of the mail in the folder. */
  uid?: number
  /** The provider, for a mail that was posted. */
  source?: string
  /** The id of the mail at the provider. */
  id?: string
  /** The verdict on the author, if `raw` is not enough to verify them. */
  verdict?: Verdict
  size: number
  /** Unix ms, from the server. */
  internalDate: number
  /** The mail as received; of a mail over `max-size` only the headers. */
  raw: Buffer
  mail: Mail
}

/** The place of a mail, for the log. */
export function placeOf({ folder, uid, source, id }: Incoming) {
  return defined({ folder, uid, source, id })
}

/** What became of a mail. Only `accepted` ones are messages. */
type IngestOutcome =
  | 'accepted'
  | 'refused'
  /** A copy of a mail that this gateway sent. */
  | 'own'
  /** The bounce of a mail that this gateway sent. */
  | 'bounce'
  /** The bounce of another mail. */
  | 'foreign'
  /** The sender cannot be verified yet, and the mail must be offered again. */
  | 'undecided'

/** The result of ingesting a mail. */
export type Ingested = {
  outcome: IngestOutcome
  /** Why only a part of the mail could be read. */
  unreadable?: string
  /** Id of the message. */
  id?: string
  /** The reason of the refusal, if no option explains it. */
  fault?: TriviumError
  /** Counts and logs the outcome. Called once, even if the whole batch is offered again. */
  report?: () => void
}
