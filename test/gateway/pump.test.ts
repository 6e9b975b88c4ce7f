import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../src/core/message.ts'
import type { Journal } from '../../src/core/store.ts'
import { createPump } from '../../src/gateway/pump.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../skills/support/log.ts'
import { newMessage } from './kit.ts'

test('what a faster daemon left of a batch is read at once: no signal tells of it', async (t) => {
  const messages = ['a', 'b'].map((id, index): { position: number; message: Message } => ({
    position: index + 1,
    message: { ...newMessage(), conversation: 'c1', id, receivedAt: 0, attachments: [], trace: '' },
  }))
  let cursor = 0
  let rivals = 1
  const journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'> = {
    unpumped: async () => ({ cursor, messages: messages.filter(({ position }) => position > cursor) }),
    async pumped(from, to) {
      // The other one had read before the second message came.
      if (rivals-- > 0) cursor = 1
      if (from !== cursor) return false
      cursor = to
      return true
    },
    async note() {},
  }
  const pump = createPump({
    store: { journal, onSignal: () => () => {} },
    match: () => ({ name: 'all' }),
    unrouted() {},
    isWanted: () => true,
    log: createMemoryLog(),
    now: Date.now,
  })
  pump.start()
  t.after(() => pump.stop())
  await until(() => cursor === 2, 'the rest of the batch', 2_000)
  assert.equal(rivals, -1)
})
