import { createHmac } from 'node:crypto'
import type { Submission } from '../../core/message.ts'
import type { Sending } from './story.ts'

/** The gateways for messages of people. */
const GATEWAYS: Partial<Record<Sending['kind'], string>> = {
  mail: 'support',
  slack: 'team',
  chat: 'chat',
  cli: 'cli',
}

/**
 * Makes the function that sends: messages of people go through their gateways, and those of
 * providers over HTTP, signed. Resolves once a message is accepted or refused. `listen`:
 * `host:port` of the daemon.
 */
export function createSend(deps: { listen: string; submit(submission: Submission): Promise<unknown> }) {
  let posted = 0

  const say = (gateway: string, { dialogue: conversation, from, subject, said }: Sending) =>
    deps.submit({ gateway, text: String(said), from, conversation, wait: 0, ...(subject && { subject }) })

  const post = async ({ kind, event, said, forged }: Sending) => {
    posted += 1
    const body = JSON.stringify(said)
    const secret = forged ? 'somebody else' : 'demo-hooks-secret'
    const proof = createHmac('sha256', secret).update(body).digest('hex')
    const github = {
      'x-github-event': event,
      'x-github-delivery': `${proof.slice(0, 32)}-${posted}`,
      'x-hub-signature-256': `sha256=${proof}`,
    }
    const own: Record<string, string> = kind === 'github' ? github : { 'x-signature': proof }
    const headers = { 'content-type': 'application/json', ...own }
    const response = await fetch(`http://${deps.listen}/hooks/${kind}`, { method: 'POST', headers, body })
    await response.arrayBuffer()
  }

  return async (sending: Sending): Promise<void> => {
    const gateway = GATEWAYS[sending.kind]
    await (gateway === undefined ? post(sending) : say(gateway, sending))
  }
}
