import type { TriviumError } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Verdict } from '../proof/claim.ts'
import type { Mail } from './parse.ts'

/**
 * A received mail. Over `max-size`, `raw` only has the headers. `folder` and `uid`: its place in
 * the mailbox. `source` and `id`: the provider that posted it, and its id there.
 */
export type Incoming = {
  folder?: string
  uid?: number
  source?: string
  id?: string
  /** The verdict on the author, if `raw` is not enough to verify them. */
  verdict?: Verdict
  size: number
  /** Unix ms, from the server. */
  internalDate: number
  raw: Buffer
  mail: Mail
}

/** The place of a mail, for the log. */
export function placeOf({ folder, uid, source, id }: Incoming) {
  return defined({ folder, uid, source, id })
}

/**
 * The outcome of a mail. `own`: a copy of a mail that this gateway sent. `bounce`: of a mail that this
 * gateway sent. `foreign`: of another mail. None of these becomes a message. `undecided`: the sender
 * cannot be verified yet, and the mail must be offered again. `unreadable`: why it was accepted only in
 * part.
 */
export type Ingested = {
  outcome: 'accepted' | 'refused' | 'own' | 'bounce' | 'foreign' | 'undecided'
  unreadable?: string
  /** Id of the message. */
  id?: string
  /** The reason of the refusal, if no option explains it. */
  fault?: TriviumError
  /** Counts and logs the outcome. Called once, even if the whole batch is offered again. */
  report?: () => void
}
