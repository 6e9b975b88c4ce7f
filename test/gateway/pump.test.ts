import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPump } from '../../src/gateway/pump.ts'
import { messageOf } from '../skills/support/message.ts'

const others = { match: () => ({ name: 'all' }), unrouted() {}, now: Date.now }

test('what a faster daemon left of a batch is read at once: no signal tells of it', async () => {
  const messages = ['a', 'b'].map((id) => messageOf({ id }))
  let cursor = 0
  let rivals = 1
  const journal = {
    unpumped: async () => ({ cursor, messages: messages.slice(cursor) }),
    async pumped(from: number, last: string) {
      // The other one had read before the second message came.
      if (rivals-- > 0) cursor = 1
      if (from !== cursor) return false
      cursor = messages.findIndex(({ id }) => id === last) + 1
      return true
    },
    async note() {},
  }
  const pump = createPump({ journal, ...others })
  while (await pump.add());
  assert.deepEqual([cursor, rivals], [2, -1])
})

test('short batches are read to the end, and then nothing more until there may be something', async () => {
  let cursor = 0
  let reads = 0
  const journal = {
    async unpumped() {
      reads += 1
      return { cursor, messages: ['a', 'b'].slice(cursor, cursor + 1).map((id) => messageOf({ id })) }
    },
    pumped: async () => Boolean(++cursor),
    async note() {},
  }
  const pump = createPump({ journal, ...others })
  const added = [await pump.add(), await pump.add(), await pump.add(), await pump.add()]
  assert.deepEqual([added, reads], [[true, true, false, false], 3])
  pump.look()
  await pump.add()
  assert.equal(reads, 4)
})
