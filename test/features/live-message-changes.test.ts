import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { MessageSearch, Store } from '../../src/core/store.ts'
import { createMessageChanges } from '../../src/features/live/message-changes.ts'
import { createReaders } from '../../src/features/live/readers.ts'
import type { Reader } from '../../src/features/live/stream.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'

const AWAY = new TriviumError('store_unavailable', { store: 'redis', reason: 'it hangs' })

type Accepted = { partition: number; position: number }

/** The live messages of a store with two partitions. Messages are in the order of their arrival. */
function liveOver(store: Store) {
  const messages: Accepted[] = []
  const ends = [0, 0]
  const accept = (partition: number) => {
    const position = (ends[partition] ?? 0) + 1
    ends[partition] = position
    messages.push({ partition, position })
  }
  const sent: string[] = []
  const isAway = new Set<number>()
  const hooks = { beforeSearch() {} }
  const readers = createReaders(() => undefined)
  const reader: Reader = {
    filter: {},
    fits: undefined,
    after: undefined,
    wants: (event) => event === 'message',
    send: (_event, _data, id = '') => void sent.push(id),
    missed: (count) => void sent.push(`${count} missed`),
  }
  readers.add(reader)
  const search = async ({ before, limit }: MessageSearch) => {
    hooks.beforeSearch()
    const all = messages.map(({ partition, position }, at) => ({
      at,
      message: messageOf({ id: `${partition}:${position}` }),
      outcome: 'done' as const,
    }))
    const end = before === undefined ? all.length : Number(before)
    const found = all.slice(Math.max(0, end - limit), end).reverse()
    const last = found.at(-1)
    return { found, ...(last && last.at > 0 && { next: String(last.at) }) }
  }
  const live = createMessageChanges(
    {
      journal: { ...store.journal, search },
      topics: {
        ...store.topics,
        partitions: () => 2,
        end: async (_topic, partition = 0) => {
          if (isAway.has(partition)) throw AWAY
          return ends[partition] ?? 0
        },
        placeOf: (_topic, id) => {
          const [partition = 0, position = 0] = id.split(':').map(Number)
          return { partition, position }
        },
      },
    },
    readers,
    Date.now,
  )
  return { live, accept, sent, hooks, isAway }
}

test('a message that arrives on another shard during the poll does not hide one', async (t) => {
  const { live, accept, sent, hooks } = liveOver(await openStore(t))
  accept(0)
  accept(1)
  await live.start()
  accept(1)
  let isRace = true
  hooks.beforeSearch = () => {
    if (isRace) accept(0)
    isRace = false
  }
  await live.sendMessages()
  assert.deepEqual(sent, ['1:2'])
  await live.sendMessages()
  assert.deepEqual(sent, ['1:2', '0:2'])
})

test('the messages of a shard that comes back are sent, although others had newer ones', async (t) => {
  const { live, accept, sent, isAway } = liveOver(await openStore(t))
  accept(0)
  accept(1)
  await live.start()
  accept(1)
  isAway.add(1)
  for (let count = 0; count < 5; count++) {
    for (let each = 0; each < 100; each++) accept(0)
    await live.sendMessages()
  }
  assert.equal(sent.length, 500)
  isAway.delete(1)
  await live.sendMessages()
  assert.deepEqual(sent.slice(500), ['1:2'])
})
