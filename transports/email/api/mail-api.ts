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
  replacesMessageId: boolean
  /** How long (ms) the provider sends only one mail per idempotency key. 0: it has no such keys. */
  repeatableMs: number
  /** Makes the request that sends a mail. `key`: its idempotency key. */
  request(mail: ReadyMail, key: string): Promise<ApiRequest>
  /** Reads the response to an accepted mail: the provider's id, and the new Message-ID. */
  accepted(body: Json | undefined): { id: string; messageId?: string }
  /** Explains a refusal. `about`: only this mail, or the account, so that all mails must wait. */
  refusal(status: number, body: Json | undefined): { reason: string; about: 'mail' | 'account' }
  /** A request that shows whether the key is valid. */
  probe?: { url: string; headers: Record<string, string> }
}
