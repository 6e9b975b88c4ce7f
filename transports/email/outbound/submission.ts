import type { SendMailOptions } from 'nodemailer'

/** What takes mail to be sent: an SMTP server, or the API of a provider. */
export type Submission = {
  /** For people: its host, or the provider. */
  name: string
  isApi: boolean
  /**
   * Hands one mail over; resolves with the answer, and with the recipients that were refused while the mail was taken for
   * others. `beforeEnd` is awaited when the whole mail is about to be handed over; where it rejects, it is not. Throws
   * `send_rejected` (about this mail), `send_failed` (network, session or account: it was not taken), `send_ambiguous`
   * (handed over, and no answer came), or `SendPostponed`.
   */
  send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>): Promise<Taken>
  /** Looks whether it can be used. Rejects where it cannot. */
  verify(): Promise<unknown>
  /** How long an answer has been owed (ms); 0 while none is. */
  silence(): number
  /** For so long (ms) the same key sends one mail, however often it is handed over. */
  repeatable: number
  close(): void
}

export type Taken = {
  response: string
  /** The Message-ID that the mail got, where that is another than its own. */
  messageId?: string | undefined
  /** `isPermanent`: it makes no sense to try this recipient again. */
  refused: { address: string; reason: string; isPermanent: boolean }[]
}
