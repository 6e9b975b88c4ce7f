import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { saying, silent, toEvent } from '../../contract/store/kit.ts'
import { temporaryDir, withStore } from './kit.ts'

test('opening a store corrects times that JavaScript cannot represent, and logs the tables', async (t) => {
  const dir = temporaryDir(t)
  await withStore(dir, async (store) => {
    await store.journal.accept([saying('leased'), saying('ready')])
    await store.receive.take({}, 60_000)
    await store.topics.subscribe('gateway-message', 'group', 'start')
    await store.topics.read('gateway-message', [{ group: 'group', max: 1, mode: 'lease', lease: 60_000 }])
    await store.kv.set('key', 1, { ttl: 60_000 })
  })
  const db = new DatabaseSync(join(dir, 'trivium.db'))
  const farFuture = BigInt(Number.MAX_SAFE_INTEGER) + 1_800_000_000_000n
  db.prepare('UPDATE leased SET until = ?').run(farFuture)
  db.prepare('UPDATE pending SET hidden_until = ?').run(farFuture)
  db.prepare('UPDATE kv SET expires = ?').run(farFuture)
  db.close()

  const logged: unknown[] = []
  const log = { ...silent, warn: (fields: object) => void logged.push(fields) }
  const store = await createEmbeddedStore({ dir, toEvent, log })
  t.after(() => store.close())
  const take = async () => (await store.receive.take({}))?.message.text
  assert.deepEqual([await take(), await take(), await take()].sort(), ['leased', 'ready', undefined])
  const [batch] = await store.topics.read('gateway-message', [{ group: 'group', max: 10, mode: 'consume' }])
  assert.equal(batch?.items.length, 2)
  assert.equal((await store.kv.get('key'))?.value, 1)
  assert.deepEqual(
    logged.map((fields) => Object(fields).table),
    ['leased', 'pending', 'kv'],
  )
})
