import { createHash } from 'node:crypto'
import { after } from 'node:test'
import { slack } from '../../../transports/slack/index.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, richText, socketOptions } from './harness.ts'

const server = await startSlackServer()
after(() => server.close())
let threads = 0

transportContract({
  kind: slack,
  options: socketOptions(server),
  async deliver({ logs }, text, key) {
    const ts = `1700000000.${Number.parseInt(createHash('sha256').update(key).digest('hex').slice(0, 8), 16)}`
    const event = callback({ ts, text, blocks: richText(text) }, `Ev${key}`)
    // A refused envelope gets no acknowledgement. The log shows a refusal at once, so that the test
    // does not wait. The limit prevents that the envelope is sent again over the socket of the next
    // test.
    const refusals = () => logs.filter(({ message }) => message === 'an envelope was refused').length
    const before = refusals()
    let acked: boolean | undefined
    const delivery = server.sockets.deliver('events_api', event, { within: 30_000, socketWithin: 3000 })
    void delivery.then((outcome) => {
      acked = outcome.acked
    })
    await until(() => acked !== undefined || refusals() > before, 'an ack or a refusal')
    return acked ? { outcome: 'acknowledged' } : { outcome: 'refused' }
  },
  async converse() {
    const thread = `1690000000.${String(++threads).padStart(6, '0')}`
    return {
      conversation: `slack:T0TEAM:C0GEN:${thread}`,
      received: () => server.posts.filter((post) => post.thread_ts === thread).map((post) => post.text),
    }
  },
})
