import type { Json } from '../../../src/core/json.ts'
import type { ReadyMail } from './ready-mail.ts'

export type ApiRequest = {
  url: string
  headers: Record<string, string>
  body: string | FormData
}

/** The requests and responses of a provider. */
export type MailApi = {
  provider: string
  /** The provider replaces the Message-ID of each mail. */
  isRenamed: boolean
  /** How long (ms) the same idempotency key sends only one mail. */
  repeatable: number
  request(mail: ReadyMail, key: string): Promise<ApiRequest>
  /** The provider's id of an accepted mail, and its new Message-ID. */
  taken(body: Json | undefined): { id: string; messageId?: string }
  /** Explains a refusal. `about`: only this mail, or the account, so that all mails must wait. */
  refusal(status: number, body: Json | undefined): { reason: string; about: 'mail' | 'account' }
  /** A request that shows whether the key is valid. */
  probe?: { url: string; headers: Record<string, string> }
}
