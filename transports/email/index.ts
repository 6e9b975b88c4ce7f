import type { TransportKind } from '../../src/core/transport.ts'
import { type EmailOptions, emailOptions } from './options.ts'
import { createEmailTransport } from './transport.ts'

/** `transport: email` in routes.yaml: one mailbox, read by IMAP and answered by SMTP. */
export const emailTransport: TransportKind<EmailOptions> = {
  kind: 'email',
  options: emailOptions,
  create: (options, deps) => createEmailTransport(options, deps),
  eventData: (message) => ({
    from: message.from.address ?? message.from.id,
    to: message.to ?? '',
    subject: message.subject ?? '',
    body: message.text,
  }),
}
