import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import type { Json } from '../../src/core/json.ts'
import { createSavedViews } from '../../src/features/saved-views/service.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'
import { callOf } from '../engine/kit.ts'

const ADA: Caller = { kind: 'http', id: 'oidc:ada@example.com', roles: ['operator'] }
const BOB: Caller = { kind: 'http', id: 'oidc:bob@example.com', roles: ['operator'] }
const DEAD = { list: 'messages', name: 'Lost', query: { search: 'status:dead' } } as const

function stage() {
  const clock = { now: 1_000 }
  const kv = createMemoryBackend(() => clock.now, new Map<string, StateEntry>())
  const service = createSavedViews({ store: { kv }, now: () => clock.now })
  const save = (view: Parameters<typeof service.save>[0], caller = ADA) =>
    service.save(view, callOf({ caller }))
  const list = async (args: Parameters<typeof service.list>[0] = {}) =>
    Object(await service.list(args, callOf({ caller: BOB }))).views
  return { clock, kv, service, save, list }
}

test('a view is everybody’s, with the person who saved it last', async () => {
  const { clock, save, list } = stage()
  await save(DEAD)
  await save({ ...DEAD, list: 'audit' })
  clock.now = 2_000
  await save({ ...DEAD, query: { search: 'status:failed' } }, BOB)
  const ofBob = { ...DEAD, query: { search: 'status:failed' }, by: 'oidc:bob@example.com', at: 2_000 }
  assert.deepEqual(await list(), [{ ...DEAD, list: 'audit', by: 'oidc:ada@example.com', at: 1_000 }, ofBob])
  assert.deepEqual(await list({ list: 'messages' }), [ofBob])
})

test('views that are saved at the same time are all kept', async () => {
  const { save, list } = stage()
  const names = ['a', 'b', 'c', 'd', 'e']
  await Promise.all(names.map((name) => save({ ...DEAD, name })))
  assert.deepEqual(
    (await list()).map(({ name }: { name: string }) => name),
    names,
  )
})

test('an unknown view cannot be deleted, and a similar name is suggested', async () => {
  const { service, save } = stage()
  await save(DEAD)
  const remove = (name: string) => service.delete({ list: 'messages', name }, callOf({ caller: BOB }))
  await assert.rejects(remove('Losst'), { code: 'not_found', message: /Did you mean Lost\?/ })
  assert.deepEqual(await remove('Lost'), { ok: true, list: 'messages', name: 'Lost' })
})

test('there are at most 200 views, and one of them can still be replaced', async () => {
  const { kv, save } = stage()
  const views: Json = Array.from({ length: 200 }, (_, at) => ({ ...DEAD, name: `v${at}`, by: 'ada', at: 1 }))
  await kv.set('saved-views', { views })
  await assert.rejects(save({ ...DEAD, name: 'one more' }), { code: 'limit_reached' })
  await save({ ...DEAD, name: 'v7' })
})

test('a view of a newer version, with fields unknown here, stays as it is', async () => {
  const { kv, save } = stage()
  const newer = { ...DEAD, name: 'Newer', by: 'ada', at: 1, colour: 'red' }
  const other = { of: 'a list of later' }
  await kv.set('saved-views', { views: [newer, other] })
  await save(DEAD)
  const { views } = Object((await kv.get('saved-views'))?.value)
  assert.deepEqual(views, [newer, { ...DEAD, by: 'oidc:ada@example.com', at: 1_000 }, other])
})
