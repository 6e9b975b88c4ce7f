import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Message } from '../../src/core/message.ts'
import type { Journal } from '../../src/core/store.ts'
import { createPump } from '../../src/gateway/pump.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../skills/support/log.ts'
import { newMessage } from './kit.ts'

test('what a faster daemon left of a batch is read at once: no signal tells of it', async (t) => {
  const messages = ['a', 'b'].map(messageOf)
  let cursor = 0
  let rivals = 1
  const journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'> = {
    unpumped: async () => ({ cursor, messages: messages.slice(cursor) }),
    async pumped(from, last) {
      // The other one had read before the second message came.
      if (rivals-- > 0) cursor = 1
      if (from !== cursor) return false
      cursor = messages.findIndex(({ id }) => id === last) + 1
      return true
    },
    async note() {},
  }
  const pump = createPump({
    store: { journal, onSignal: () => () => {} },
    match: () => ({ name: 'all' }),
    unrouted() {},
    added() {},
    log: createMemoryLog(),
    now: Date.now,
  })
  pump.start()
  pump.wake()
  t.after(() => pump.stop())
  await until(() => cursor === 2, 'the rest of the batch', 2_000)
  assert.equal(rivals, -1)
})

test('it adds a batch only when the workers have nothing to do, and reads only when there may be something', async (t) => {
  const ids = ['a', 'b']
  let cursor = 0
  let reads = 0
  let added = 0
  let signal = () => {}
  const journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'> = {
    async unpumped() {
      reads += 1
      return { cursor, messages: ids.slice(cursor, cursor + 1).map(messageOf) }
    },
    async pumped() {
      cursor += 1
      return true
    },
    async note() {},
  }
  const pump = createPump({
    store: {
      journal,
      onSignal(_name, listener) {
        signal = listener
        return () => {}
      },
    },
    match: () => ({ name: 'all' }),
    unrouted() {},
    added: () => void added++,
    log: createMemoryLog(),
    now: Date.now,
  })
  pump.start()
  t.after(() => pump.stop())
  signal()
  await setImmediate()
  assert.deepEqual([reads, added], [0, 0])
  for (const wake of [1, 2, 3, 4, 5]) {
    pump.wake()
    await setImmediate()
    // Twice a batch, once nothing; after that no signal told of more.
    assert.deepEqual([reads, added], [Math.min(wake, 3), Math.min(wake, 2)])
  }
  signal()
  await setImmediate()
  assert.equal(reads, 4)
})

function messageOf(id: string): Message {
  return { ...newMessage(), conversation: 'c1', id, receivedAt: 0, attachments: [], trace: '' }
}
