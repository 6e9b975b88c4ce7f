import type { NewMessage } from '../../../src/core/message.ts'
import { githubBody } from './github-webhook.ts'

const text = githubBody()
const body = JSON.parse(text)
const headers = {
  'user-agent': 'GitHub-Hookshot/044aadd',
  'content-type': 'application/json',
  'x-github-event': 'push',
  'x-github-hook-id': '292430182',
}

/**
 * The message that the webhook transport makes from the signed 1 KB webhook. `delivery`: its id.
 */
export function sampleMessage(delivery: string): NewMessage {
  return {
    gateway: 'github',
    transport: 'webhook',
    key: delivery,
    from: { id: 'ada' },
    text,
    data: { headers: { ...headers, 'x-github-delivery': delivery }, format: 'json', body, event: 'push' },
  }
}
