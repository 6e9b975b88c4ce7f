import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR } from '../../src/core/units.ts'
import { createLastOfRoutes } from '../../src/engine/last-of-routes.ts'
import { openStore } from '../runtime/support/store.ts'
import { newMessage } from './kit.ts'

test('the last message of a route is found also after a restart, and later ones replace it', async (t) => {
  const store = await openStore(t)
  const clock = { time: Date.now() }
  const accept = async (route: string) => {
    const [{ id = '' } = {}] = await store.journal.accept([newMessage()])
    await store.journal.note(id, [{ at: 1, road: 'dispatch', what: 'done', detail: { route } }])
    return (await store.journal.get(id))?.receivedAt
  }
  const first = await accept('refunds')
  await accept('orders')
  const lastOf = createLastOfRoutes(store.journal, () => clock.time)
  assert.equal(await lastOf('refunds'), first)
  assert.equal(await lastOf('nothing'), undefined)
  const second = await accept('refunds')
  assert.equal(await lastOf('refunds'), second)
  clock.time += HOUR
  for (let call = 0; call < 2; call++) assert.equal(await lastOf('refunds'), second, 'none came since')
})

test('an older last message is found part by part, whatever comes in between', async (t) => {
  const store = await openStore(t)
  const messages = ['old', 'new', 'new', 'new'].map((text) => newMessage({ text }))
  const [{ id = '' } = {}] = await store.journal.accept(messages)
  /** One message per page, of any route. */
  const search: typeof store.journal.search = async ({ before }) => {
    const { found, next } = await store.journal.search({ limit: 1, ...(before !== undefined && { before }) })
    return { found: found.filter(({ message }) => message.text === 'old'), ...(next && { next }) }
  }
  const lastOf = createLastOfRoutes({ search }, Date.now)
  const times = new Set<number | undefined>()
  for (let call = 0; call < 5; call++) times.add(await lastOf('refunds'))
  assert.deepEqual([...times], [undefined, (await store.journal.get(id))?.receivedAt])
})
