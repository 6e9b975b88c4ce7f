import { createHmac } from 'node:crypto'
import type { Submission } from '../../core/message.ts'
import type { Sending } from './story.ts'

/** The gateways for messages of people, by their kind. */
const GATEWAYS: Partial<Record<Sending['kind'], string>> = {
  mail: 'support',
  slack: 'team',
  chat: 'chat',
  cli: 'cli',
}

/**
 * Makes the function that sends: messages of people are submitted to their gateways, and those of
 * providers are posted over HTTP, signed. Resolves once a message is accepted or refused. `listen`:
 * `host:port` of the daemon.
 */
export function createSend(deps: { listen: string; submit(submission: Submission): Promise<unknown> }) {
  let count = 0

  const submit = (gateway: string, { dialogue: conversation, from, subject, content }: Sending) =>
    deps.submit({ gateway, text: String(content), from, conversation, wait: 0, ...(subject && { subject }) })

  const post = async ({ kind, event, content, forged }: Sending) => {
    count += 1
    const body = JSON.stringify(content)
    const secret = forged ? 'a wrong secret' : 'demo-hooks-secret'
    const signature = createHmac('sha256', secret).update(body).digest('hex')
    const githubHeaders = {
      'x-github-event': event,
      'x-github-delivery': `${signature.slice(0, 32)}-${count}`,
      'x-hub-signature-256': `sha256=${signature}`,
    }
    const ofKind: Record<string, string> = kind === 'github' ? githubHeaders : { 'x-signature': signature }
    const headers = { 'content-type': 'application/json', ...ofKind }
    const response = await fetch(`http://${deps.listen}/hooks/${kind}`, { method: 'POST', headers, body })
    await response.arrayBuffer()
  }

  return async (sending: Sending): Promise<void> => {
    const gateway = GATEWAYS[sending.kind]
    await (gateway === undefined ? post(sending) : submit(gateway, sending))
  }
}
