import type { Json } from '../../../src/core/json.ts'
import type { ReadyMail } from './ready-mail.ts'

export type ApiRequest = {
  url: string
  headers: Record<string, string>
  body: string | FormData
}

/** What a provider wants to hear, and says. */
export type MailApi = {
  provider: string
  /** It gives each mail a Message-ID of its own. */
  isRenamed: boolean
  /** For so long (ms) the same key sends one mail. */
  repeatable: number
  request(mail: ReadyMail, key: string): Promise<ApiRequest>
  /** The provider's id of a mail that it took, and the Message-ID that the mail has then. */
  taken(body: Json | undefined): { id: string; messageId?: string }
  /** What it says in place of taking a mail. `about`: the mail alone, or the account, whose mails all wait. */
  refusal(status: number, body: Json | undefined): { reason: string; about: 'mail' | 'account' }
  /** What can be asked for to see that the key is good. */
  probe?: { url: string; headers: Record<string, string> }
}
