import type { SendMailOptions } from 'nodemailer'

/** A way to send mail: an SMTP server, or the API of a provider. */
export type Submission = {
  /** The host or the provider, for display. */
  name: string
  isApi: boolean
  /**
   * Sends a mail. `key`: the idempotency key, for APIs that have one. Resolves with the response,
   * and with the recipients that were refused although the mail was accepted for others. Calls
   * `beforeEnd` just before the mail is complete, and does not complete it if that rejects. Throws
   * `send_rejected` (because of this mail), `send_failed` (network, session or account: it was not
   * accepted), `send_ambiguous` (complete, but without a response), or `SendPostponed`.
   */
  send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>): Promise<SubmissionResult>
  /**
   * Connects and logs in, or checks the key of an API that allows it. Rejects if that fails.
   */
  verify(): Promise<unknown>
  /** How long (ms) an awaited response has been missing; 0 if none is awaited. */
  silence(): number
  /**
   * How long (ms) repeated calls with the same key send only one mail; 0 if each call sends one.
   */
  repeatableMs: number
  close(): void
}

export type SubmissionResult = {
  response: string
  /** The Message-ID that the provider gave to the mail, if it replaced ours. */
  messageId?: string | undefined
  /** `isPermanent`: trying this recipient again would not help. */
  refused: { address: string; reason: string; isPermanent: boolean }[]
}
