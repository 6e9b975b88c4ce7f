import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageFilter } from '../../src/engine/operations/messages.ts'
import { createFeed } from '../../src/features/live/feed.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { acceptAll, silent, toEvent } from '../contract/store/kit.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

test('a returning reader gets the messages that it missed, also if the store fails once meanwhile', async (t) => {
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent })
  t.after(() => store.close())
  const [first, second] = await acceptAll(store, ['first', 'second'])
  assert.ok(first !== undefined && second !== undefined)
  let searches = 0
  const search: typeof store.journal.search = async (query) => {
    // The feed searches twice when it starts; the third search is for the reader.
    if (++searches === 3) throw new Error('the store is away')
    return store.journal.search(query)
  }
  const feed = createFeed({
    store: { ...store, journal: { ...store.journal, search } },
    history: { every: 5_000, points: () => [] },
    overview: async () => ({ roads: [] }),
    approvals: async () => [],
    approval: async () => undefined,
    troubles: async () => [],
    routeOf: () => undefined,
    now: Date.now,
  })
  const shown: (string | undefined)[] = []
  const leave = feed.read({
    filter: messageFilter.parse({}),
    fits: undefined,
    wants: () => true,
    send: (event, _, id) => void (event === 'message' && shown.push(id)),
    missed: () => {},
    after: first,
  })
  t.after(leave)
  await until(() => shown.length > 0, 'the missed message')
  assert.deepEqual(shown, [second])
})
