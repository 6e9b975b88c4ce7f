import type { TransportKind } from '../../src/core/transport.ts'
import { lazyTransport } from '../lazy.ts'
import { type EmailOptions, emailOptions } from './options.ts'

/** `transport: email` in routes.yaml: one mailbox, read by IMAP and answered by SMTP. */
export const email: TransportKind<EmailOptions> = {
  kind: 'email',
  options: emailOptions,
  create: (options, deps) =>
    lazyTransport(
      async () => {
        const { createEmailTransport } = await import('./transport.ts')
        return createEmailTransport(options, deps)
      },
      { canProbe: true },
    ),
  eventData: (message) => ({
    from: message.from.address ?? message.from.id,
    to: message.to ?? '',
    subject: message.subject ?? '',
    body: message.text,
  }),
}
