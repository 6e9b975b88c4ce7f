import { createHash } from 'node:crypto'
import { after } from 'node:test'
import { slack } from '../../../transports/slack/index.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { callback, richText, socketOptions } from './harness.ts'

const server = await startSlackServer()
after(() => server.close())
let threads = 0

transportContract({
  kind: slack,
  options: socketOptions(server),
  async deliver(_fixture, text, key) {
    const ts = `1700000000.${Number.parseInt(createHash('sha256').update(key).digest('hex').slice(0, 8), 16)}`
    const event = callback({ ts, text, blocks: richText(text) }, `Ev${key}`)
    const outcome = await server.sockets.deliver('events_api', event, { within: 1500, socketWithin: 500 })
    return outcome.acked ? { outcome: 'acknowledged' } : { outcome: 'refused' }
  },
  async converse() {
    const thread = `1690000000.${String(++threads).padStart(6, '0')}`
    return {
      conversation: `slack:T0TEAM:C0GEN:${thread}`,
      received: () => server.posts.filter((post) => post.thread_ts === thread).map((post) => post.text),
    }
  },
})
