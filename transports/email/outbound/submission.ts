import type { SendMailOptions } from 'nodemailer'

/** A way to send mail: an SMTP server, or the API of a provider. */
export type Submission = {
  /** The host or the provider, for people. */
  name: string
  isApi: boolean
  /**
   * Hands one mail over. Resolves with the response, and with the recipients that were refused although the mail was accepted for
   * others. Calls `beforeEnd` just before the mail is complete, and does not complete it if that rejects. Throws `send_rejected`
   * (because of this mail), `send_failed` (network, session or account: it was not accepted), `send_ambiguous` (complete, but
   * without a response), or `SendPostponed`.
   */
  send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>): Promise<Taken>
  /** Checks whether it can be used. Rejects if not. */
  verify(): Promise<unknown>
  /** How long (ms) a response has been overdue; 0 if none is. */
  silence(): number
  /** How long (ms) repeated calls with the same key send only one mail. */
  repeatable: number
  close(): void
}

export type Taken = {
  response: string
  /** The Message-ID that the provider gave to the mail, if it replaced ours. */
  messageId?: string | undefined
  /** `isPermanent`: retrying this recipient makes no sense. */
  refused: { address: string; reason: string; isPermanent: boolean }[]
}
