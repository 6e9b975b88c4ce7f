import type { Verdict } from '../proof/claim.ts'
import type { Mail } from './parse.ts'

/**
 * A mail as it came; of one over `max-size` `raw` has the headers only. `folder` and `uid`: where it is in the mailbox.
 * `source` and `id`: the provider that posted it, and what it calls the mail.
 */
export type Incoming = {
  folder?: string
  uid?: number
  source?: string
  id?: string
  /** Who wrote it, where that cannot be found out from `raw`. */
  verdict?: Verdict
  size: number
  /** Unix ms, from the server. */
  internalDate: number
  raw: Buffer
  mail: Mail
}
