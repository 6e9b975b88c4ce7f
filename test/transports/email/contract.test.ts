import type { JsonObject } from '../../../src/core/json.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import type { TransportKind } from '../../../src/core/transport.ts'
import { email } from '../../../transports/email/index.ts'
import { type EmailOptions, emailOptions } from '../../../transports/email/options.ts'
import type { Hosts } from '../../../transports/registry.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, mail, readMails, serversOf, startMailServer } from './harness.ts'

const mailServer = await startMailServer()

/** Reply targets by message id. The outbox would add them to the replies. */
const targets = new Map<string, JsonObject>()

const kind: TransportKind<EmailOptions, Hosts> = {
  ...email,
  async create(options, deps) {
    const transport = await email.create(options, deps)
    return {
      ...transport,
      send: (reply) => {
        const target = targets.get(reply.inReplyTo ?? '')
        return transport.send(target ? { ...reply, target } : reply)
      },
    }
  },
}

transportContract({
  kind,
  options: emailOptions.parse(
    serversOf(mailServer.dovecot.imapPort, mailServer.smtp.port, mailServer.dovecot.password),
  ),
  async converse(fixture) {
    const user = `peer-${crypto.randomUUID()}@example.net`
    await until(() => cursorOf(fixture.store, 'under-test'), 'the cursor')
    await mailServer.deliver(mail({ from: user, subject: 'contract' }))
    const message = await until(
      () => fixture.store.messages.find((each) => each.from.address === user),
      'the message',
    )
    const target = message.data.replyTarget
    if (isJsonObject(target)) targets.set(message.id, target)
    return {
      conversation: message.conversation,
      inReplyTo: message.id,
      received: async () => (await readMails(mailServer, user)).map((each) => each.text.trim()),
    }
  },
})
