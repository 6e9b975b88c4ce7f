import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { Journal } from '../../src/core/store.ts'
import { createAccept } from '../../src/engine/accept.ts'
import { openStore } from '../runtime/support/store.ts'
import { newMessage } from './kit.ts'

const OVERLOADED = { code: 'overloaded', retryable: true }

/** `createAccept` on a journal, with the refusals that it counts. */
function acceptTo(
  journal: Pick<Journal, 'accept'>,
  bounds: { maxPending?: number; maxBacklog?: number } = {},
) {
  const counts: string[] = []
  const refused = (gateway: string, reason: string) => counts.push(`refused ${gateway} ${reason}`)
  return {
    counts,
    ...createAccept({ journal, accepted() {}, refused, maxPending: 100, maxBacklog: 100, ...bounds }),
  }
}

describe('accept', () => {
  test('stores all messages of a turn in one call, in order', async (t) => {
    const store = await openStore(t)
    const calls: number[] = []
    const journal = {
      accept(messages: readonly NewMessage[]) {
        calls.push(messages.length)
        return store.journal.accept(messages)
      },
    }
    const { accept } = acceptTo(journal)
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => accept(newMessage({ text }))))
    assert.deepEqual(calls, [3])
    const ids = answers.map(({ id }) => id)
    assert.deepEqual(ids, ids.toSorted())
  })

  test('counts the messages of a batch by gateway, refused ones apart', async (t) => {
    const store = await openStore(t)
    const journal = {
      async accept(messages: readonly NewMessage[]): Promise<Accepted[]> {
        const answers = await store.journal.accept(messages)
        return answers.map((answer, index) => (index === 3 ? { ...answer, error: new Error('no') } : answer))
      },
    }
    const counts: unknown[] = []
    const { accept } = createAccept({
      journal,
      accepted: (gateway, { fresh, duplicates }) => counts.push([gateway, fresh, duplicates]),
      refused: (gateway, reason) => counts.push([gateway, reason]),
      maxPending: 100,
      maxBacklog: 100,
    })
    const names = ['a', 'a', 'b', 'b', 'a', 'a']
    const sent = names.map((gateway, index) => accept(newMessage({ gateway, key: `${index % 5}` })))
    const settled = await Promise.allSettled(sent)
    assert.deepEqual(
      settled.map(({ status }) => status === 'fulfilled'),
      [true, true, true, false, true, true],
    )
    assert.deepEqual(counts, [
      ['a', 2, 0],
      ['b', 'internal'],
      ['b', 1, 0],
      ['a', 1, 1],
    ])
  })

  test('counts a split delivery once, whether it is accepted or refused', async (t) => {
    const store = await openStore(t)
    let failing: 'none' | 'one' | 'all' = 'none'
    const journal = {
      async accept(messages: readonly NewMessage[]): Promise<Accepted[]> {
        if (failing === 'all') throw new Error('no')
        const answers = await store.journal.accept(messages)
        return failing === 'one' ? answers.map((answer) => ({ ...answer, error: new Error('no') })) : answers
      },
    }
    const counts: unknown[] = []
    const { acceptAll } = createAccept({
      journal,
      accepted: (_, { fresh, duplicates, deliveries }) => counts.push([fresh, duplicates, deliveries]),
      refused: (gateway) => counts.push(gateway),
      maxPending: 100,
      maxBacklog: 100,
    })
    const parts = ['1', '2', '3'].map((key) => newMessage({ gateway: 'a', key }))
    await acceptAll(parts)
    await acceptAll(parts)
    assert.deepEqual(counts.splice(0), [
      [3, 0, 1],
      [0, 3, 1],
    ])
    failing = 'one'
    await assert.rejects(acceptAll(parts), /no/)
    failing = 'all'
    await assert.rejects(acceptAll(parts), /no/)
    assert.deepEqual(counts, ['a', [0, 0, 0], 'a'])
  })

  test('refuses messages above the limits of number and size in memory, and accepts more later', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const journal = {
      async accept(messages: readonly NewMessage[]): Promise<Accepted[]> {
        await promise
        return messages.map(() => ({ id: 'x', duplicate: false }))
      },
    }
    const { accept, idle, counts } = acceptTo(journal, { maxPending: 2 })
    const two = [accept(newMessage()), accept(newMessage())]
    await assert.rejects(accept(newMessage()), OVERLOADED)
    assert.deepEqual(counts, ['refused demo overloaded'])
    // Three of these are 60 MB, and four are more than the limit.
    const text = 'x'.repeat(20_000_000)
    const large = acceptTo(journal)
    const three = [1, 2, 3].map(() => large.accept(newMessage({ text })))
    await assert.rejects(large.accept(newMessage({ text })), OVERLOADED)
    resolve()
    await Promise.all([...two, ...three, large.accept(newMessage())])
    await idle()
    await accept(newMessage())
    await large.accept(newMessage({ text }))
  })

  test('refuses messages while the backlog of dispatch is at its limit', async (t) => {
    const store = await openStore(t)
    const { accept, setBacklog } = acceptTo(store.journal, { maxBacklog: 10 })
    setBacklog(10)
    await assert.rejects(accept(newMessage()), OVERLOADED)
    assert.deepEqual(await store.journal.search({ limit: 10 }), { found: [] })
    setBacklog(9)
    await accept(newMessage())
  })
})
