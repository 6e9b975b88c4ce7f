import type { MailWebhookOptions } from '../webhook-options.ts'
import { mailgun, sendgrid } from './form-providers.ts'
import { cloudflare, postmark, resend, ses } from './json-providers.ts'
import type { MailProvider } from './provider.ts'

/**
 * The providers that post mail. To add one: an entry here, its name in `webhook-options.ts` and a
 * row in docs/email-providers.md.
 */
export const MAIL_READERS: Record<MailWebhookOptions['provider'], MailProvider> = {
  cloudflare,
  mailgun,
  postmark,
  resend,
  sendgrid,
  ses,
}
