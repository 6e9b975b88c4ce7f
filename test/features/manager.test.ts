import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager, type StateManager } from '../../src/features/documents/manager.ts'
import type { DocumentBackend, DocumentSpec } from '../../src/features/documents/spec.ts'
import { createSqliteValues } from '../../src/features/documents/sqlite-values.ts'
import { createStoreBackend, type EventLimits } from '../../src/features/documents/store-backend.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { changesOf, increment, notes, temporaryDir, toEvent } from './kit.ts'

let server: RedisServer
let serial = 0
before(async () => {
  server = await startRedisServer()
})
after(() => server.stop())

/** Makes a place for documents. The result opens it again at each call, as another process does. */
type Start = (t: TestContext, limits?: EventLimits) => Promise<() => DocumentBackend>

const onRedis: Start = async (t, limits) => {
  const store = await openStore(server.url, { prefix: `documents-${serial++}`, toEvent })
  t.after(() => store.close())
  return () => createStoreBackend({ values: store.kv, ...(limits && { limits }) })
}

const KINDS: Record<string, Start> = {
  async files(t) {
    const dir = temporaryDir(t)
    return () => createFileBackend({ dir })
  },
  async SQLite(t) {
    const path = join(temporaryDir(t), 'documents.db')
    return () => {
      const values = createSqliteValues(path)
      return createStoreBackend({ values, close: values.close })
    }
  },
  Redis: onRedis,
}

/** The notes as an older program declares them. */
const notesV1: DocumentSpec = {
  name: 'notes',
  version: 1,
  schema: {
    type: 'object',
    properties: { schema_version: { const: 1 }, total: { type: 'integer' }, notes: { type: 'array' } },
    required: ['schema_version', 'total'],
  },
  initial: () => ({ schema_version: 1, total: 7, notes: [] }),
}

for (const [kind, start] of Object.entries(KINDS)) {
  const make = async (t: TestContext) => {
    const open = await start(t)
    let time = Date.UTC(2026, 0, 1)
    const tick = (ms: number) => {
      time += ms
      return time
    }
    const manager = (spec: DocumentSpec = notes): StateManager => {
      const made = createStateManager({ backend: open(), documents: [spec], now: () => time })
      t.after(() => made.close())
      return made
    }
    return { manager, tick, open }
  }

  describe(`StateManager over ${kind}`, () => {
    test('an update returns what a later read returns, in an object that its function does not have', async (t) => {
      const { manager } = await make(t)
      let kept: JsonObject = {}
      const { document } = await manager().update('notes', (draft) => {
        Object.assign(draft, { notes: [{ id: 'a', text: 'x', by: undefined }] })
        kept = draft
      })
      kept.count = 9
      assert.deepEqual(document, (await manager().load('notes')).document)
    })

    test('a missing document is created, and the next manager reads its updates and revision', async (t) => {
      const { manager } = await make(t)
      const first = { document: { schema_version: 2, count: 0, notes: [] }, revision: 1 }
      for (let i = 0; i < 2; i += 1) assert.deepEqual(await manager().load('notes'), first)
      const updated = await manager().update('notes', increment)
      assert.deepEqual([updated.document.count, updated.revision], [1, 2])
      const second = { document: { ...first.document, count: 1 }, revision: 2 }
      assert.deepEqual(await manager().load('notes'), second)
      assert.equal((await manager().update('notes', () => undefined)).revision, 2)
      assert.deepEqual(await manager().load('notes'), second)
    })

    test('an invalid update is refused with every wrong path, and changes nothing', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      const bad = state.update('notes', (draft) => {
        Object.assign(draft, { count: -1, notes: [{ id: 'a' }], mood: 'frustrated' })
      })
      await assert.rejects(bad, (error: Error & { code?: string }) => {
        assert.equal(error.code, 'state_invalid')
        for (const path of ['/count', '/notes/0/text', '/mood']) assert.ok(error.message.includes(path))
        return true
      })
      assert.equal((await manager().load('notes')).revision, 1)
      assert.equal((await state.update('notes', increment)).revision, 2)
    })

    test('a mutation that throws changes nothing and does not affect others', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      const all = await Promise.allSettled([
        state.update('notes', increment),
        state.update('notes', () => assert.fail()),
        state.update('notes', increment),
      ])
      assert.deepEqual(
        all.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.equal((await manager().load('notes')).document.count, 2)
    })

    test('compare-and-set refuses an update of an outdated revision', async (t) => {
      const { manager } = await make(t)
      const [one, two] = [manager(), manager()]
      const { revision } = await one.load('notes')
      await two.update('notes', increment)
      const outdated = one.update('notes', increment, { expect: revision })
      await assert.rejects(outdated, { code: 'document_conflict' })
      await one.update('notes', increment, { expect: revision + 1 })
      assert.equal((await two.load('notes')).document.count, 2)
    })

    test('two writers at once lose no update', async (t) => {
      const { manager } = await make(t)
      const [one, two] = [manager(), manager()]
      await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 ? one : two).update('notes', increment)))
      const { document, revision } = await manager().load('notes')
      assert.deepEqual([document.count, revision], [60, 61])
    })

    test('every mutation is one event, with its time, actor and patch', async (t) => {
      const { manager, tick, open } = await make(t)
      const state = manager()
      await state.load('notes')
      tick(1000)
      await state.update('notes', increment, { actor: { kind: 'agent', name: 'builder' } })
      const changes = await changesOf(open())
      assert.deepEqual(
        changes.map(({ seq, time, event, actor }) => `${seq} ${time} ${event} ${actor}`),
        [
          '1 2026-01-01T00:00:00.000Z bootstrap system:trivium',
          '2 2026-01-01T00:00:01.000Z update agent:builder',
        ],
      )
      assert.deepEqual(changes[1]?.patch, [{ op: 'replace', path: '/count', value: 1 }])
    })

    test('replay gives the document of any past time and any past revision', async (t) => {
      const { manager, tick } = await make(t)
      const state = manager()
      await state.load('notes')
      const times: number[] = []
      for (let i = 0; i < 5; i += 1) {
        times.push(tick(1000))
        await state.update('notes', increment)
      }
      const then = times[2] ?? 0
      const counts = [then, then - 1, { revision: 5 }].map(
        async (until) => (await state.replay('notes', until))?.document.count,
      )
      assert.deepEqual(await Promise.all(counts), [3, 2, 4])
      assert.equal(await state.replay('notes', Date.UTC(2025, 0, 1)), undefined)
      assert.deepEqual(await state.replay('notes', tick(0)), await state.load('notes'))
    })

    test('migrate runs each migration once and keeps the old version', async (t) => {
      const { manager, open } = await make(t)
      await manager(notesV1).load('notes')
      const state = manager()
      assert.deepEqual(await state.migrate(), [{ name: 'notes', from: 1, to: 2 }])
      assert.deepEqual(await state.migrate(), [])
      const migrated = { document: { schema_version: 2, count: 7, notes: [] }, revision: 2 }
      assert.deepEqual(await manager().load('notes'), migrated)
      const before = await manager().replay('notes', { revision: 1 })
      assert.deepEqual(before?.document, { schema_version: 1, total: 7, notes: [] })
      assert.ok((await open().backUp('notes', 'again'))?.includes('again'))
    })

    test('a document of a newer version is refused, with its number and what to do', async (t) => {
      const { manager } = await make(t)
      await manager().load('notes')
      const old = manager(notesV1)
      const refusal = { code: 'state_version', message: /schema_version 2;.*knows version 1.*newer Trivium/ }
      for (const attempt of [() => old.load('notes'), () => old.update('notes', increment)])
        await assert.rejects(attempt, refusal)
      assert.equal((await manager().load('notes')).revision, 1)
    })

    test('an older version that cannot be migrated is refused, and nothing changes', async (t) => {
      const { manager } = await make(t)
      await manager(notesV1).load('notes')
      const { migrations: _, ...without } = notes
      const missing = /no migration from version 1.*trivium state migrate notes/
      await assert.rejects(manager(without).load('notes'), missing)
      const many = (document: JsonObject) => ({ ...document, count: 'many' })
      const broken = manager({ ...notes, migrations: { 1: many } })
      const thrower = manager({
        ...notes,
        migrations: {
          1: () => {
            throw new Error('no field total')
          },
        },
      })
      for (const [failing, why] of [
        [broken, /migrations to version 2 made a document that does not match its schema: .*\/count/],
        [thrower, /migration from version 1 failed: no field total\. Fix the migration/],
      ] as const) {
        for (const work of ['load', 'migrate', 'repair'] as const)
          await assert.rejects(failing[work]('notes'), { code: 'state_version', message: why }, work)
      }
      assert.equal((await manager(notesV1).load('notes')).document.total, 7)
    })

    test('an initial document that its own schema refuses is never written', async (t) => {
      const { manager } = await make(t)
      const refused = { ...notes, initial: () => ({ schema_version: 2, count: -1, notes: [] }) }
      for (const work of ['load', 'repair'] as const)
        await assert.rejects(manager(refused)[work]('notes'), { code: 'state_invalid', message: /\/count/ })
      assert.equal((await manager().load('notes')).revision, 1)
    })

    test('a key named __proto__ is stored like any other', async (t) => {
      const { manager } = await make(t)
      const anyObject = { ...notes, schema: { type: 'object' }, initial: () => ({ schema_version: 2 }) }
      const value = { a: 1 }
      await manager(anyObject).update('notes', (draft) =>
        Object.defineProperty(draft, '__proto__', { value, enumerable: true }),
      )
      const loaded = await manager(anyObject).load('notes')
      const replayed = await manager(anyObject).replay('notes', { revision: 9 })
      for (const found of [loaded, replayed])
        assert.ok(JSON.stringify(found?.document).includes('"__proto__":{"a":1}'))
    })

    test('every method refuses an unknown document, and the error lists the known ones', async (t) => {
      const manager = (await make(t)).manager()
      const calls = {
        load: () => manager.load('nots'),
        update: () => manager.update('nots', () => {}),
        replay: () => manager.replay('nots', { revision: 1 }),
        repair: () => manager.repair('nots'),
        migrate: () => manager.migrate('nots'),
        changes: async () => manager.changes('nots'),
        forgetHistory: () => manager.forgetHistory('nots'),
      }
      for (const [method, call] of Object.entries(calls))
        await assert.rejects(call, /no document nots.*notes/, method)
    })
  })
}

describe('the event log of a document on a store', () => {
  const limits: EventLimits = { wholeEvery: 10, minKept: 30 }
  test('keeps the newest events and a complete document before them', async (t) => {
    const open = await onRedis(t, limits)
    const manager = createStateManager({ documents: [notes], backend: open() })
    t.after(() => manager.close())
    for (let i = 0; i < 140; i += 1) await manager.update('notes', increment)

    const kept = await changesOf(open())
    assert.ok(kept.length >= limits.minKept && kept.length <= limits.minKept + limits.wholeEvery + 1)
    const first = kept.findIndex((change) => change.document)
    assert.ok(first >= 0 && first < limits.wholeEvery, `the first complete document is number ${first}`)
    for (const { seq } of kept.slice(first)) {
      const replayed = await manager.replay('notes', { revision: seq })
      // Revision 1 has the count 0.
      assert.deepEqual([replayed?.revision, replayed?.document.count], [seq, seq - 1])
    }
  })
})
