import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import type { ReplyLog } from '../../../src/core/transport.ts'
import { followReplies } from '../../../transports/websocket/outbound.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'

describe('following a reply log', () => {
  test('sees a reply that is appended while an empty read is under way', async () => {
    const { replies } = createMemoryStore()
    const gates: (() => void)[] = []
    const slow: ReplyLog = {
      ...replies,
      async read(...request) {
        const found = await replies.read(...request)
        await new Promise<void>((resolve) => gates.push(resolve))
        return found
      },
    }
    const written: JsonObject[] = []
    const follower = followReplies({
      replies: slow,
      conversation: 'c',
      after: 0,
      mayWrite: () => true,
      write: (frame) => written.push(frame),
      failed: assert.fail,
    })
    await until(() => gates.length === 1, 'the first read')
    await replies.append('c', { key: 'k', data: { text: 'hi' } })
    // Both signals of the log come while the read that saw nothing is still under way.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    const opening = setInterval(() => gates.shift()?.(), 1).unref()
    await until(() => written.length === 1, 'the reply')
    clearInterval(opening)
    follower.stop()
    assert.deepEqual(written, [{ text: 'hi', type: 'message', seq: 1 }])
  })

  test('writes nothing after it was stopped, even what was already read', async () => {
    const { replies } = createMemoryStore()
    const written: JsonObject[] = []
    await replies.append('c', { key: 'k', data: { text: 'hi' } })
    const follower = followReplies({
      replies,
      conversation: 'c',
      after: 0,
      mayWrite: () => true,
      write: (frame) => written.push(frame),
      failed: assert.fail,
    })
    follower.stop()
    await new Promise(setImmediate)
    assert.deepEqual(written, [])
  })
})
