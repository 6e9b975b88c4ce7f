import { replyLogOf } from '../../../transports/reply-to-request.ts'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { webhook } from '../../../transports/webhook/index.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { post } from './harness.ts'

let conversations = 0

transportContract({
  kind: webhook,
  options: webhookOptions.parse({ path: '/hook' }),
  async deliver(fixture, text, key) {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': key }
    const { status, body } = await post(`${fixture.url}/hook`, text, headers)
    if (status !== 202 && status !== 200) return { outcome: 'refused' }
    return { outcome: 'acknowledged', id: body.id ?? '', duplicate: body.duplicate ?? false }
  },
  async converse(fixture) {
    conversations++
    const { body } = await post(`${fixture.url}/hook`, `conversation ${conversations}`)
    const id = body.id ?? ''
    return {
      conversation: id,
      inReplyTo: id,
      async received() {
        const entries = await fixture.deps.replies.read(replyLogOf(id), 0, 100)
        return entries.map(({ data }) => String(data.text))
      },
    }
  },
})
