import type { TransportKind } from '../../src/core/transport.ts'
import type { HandOverHost } from './host.ts'
import { type EmailOptions, emailOptions } from './options.ts'
import { unreachableIn } from './unreachable.ts'

/** `transport: email` in routes.yaml: a mailbox, read through IMAP and answered through SMTP. */
export const email: TransportKind<EmailOptions, HandOverHost> = {
  kind: 'email',
  caseless: true,
  options: emailOptions,
  create: async (options, deps) => (await import('./transport.ts')).createEmailTransport(options, deps),
  eventData: (message) => ({
    from: message.from.address ?? message.from.id,
    to: message.to ?? '',
    subject: message.subject ?? '',
    body: message.text,
  }),
  unreachable: unreachableIn,
}
