import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import type { DocumentBackend } from '../../src/state/documents/backend.ts'
import { createStateManager, type StateManager } from '../../src/state/documents/manager.ts'
import type { DocumentSpec } from '../../src/state/documents/spec.ts'

type Note = { id: string; text: string }
type Notes = { schema_version: number; count: number; notes: Note[] }

/** A small document of version 2: version 1 had `total` where 2 has `count`. */
export const notes: DocumentSpec<Notes> = {
  name: 'notes',
  version: 2,
  schema: {
    type: 'object',
    properties: {
      schema_version: { const: 2 },
      count: { type: 'integer', minimum: 0 },
      notes: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: 'string' }, text: { type: 'string', maxLength: 2000 } },
          required: ['id', 'text'],
          additionalProperties: false,
        },
      },
    },
    required: ['schema_version', 'count', 'notes'],
    additionalProperties: false,
  },
  migrations: {
    1: ({ total, ...rest }: JsonObject) => ({ ...rest, count: total ?? 0 }),
  },
  initial: () => ({ schema_version: 2, count: 0, notes: [] }),
}

/** The same document as an older program knows it. */
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

const increment = (document: JsonObject) => {
  document.count = Number(document.count) + 1
}

/** What the manager promises over every back end. `open` gives another back end on the same place, as another process has. */
export function describeManager(
  kind: string,
  start: (t: TestContext) => Promise<() => DocumentBackend>,
): void {
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
    test('a missing document is bootstrapped with its initial content', async (t) => {
      const { manager } = await make(t)
      assert.deepEqual(await manager().load('notes'), {
        document: { schema_version: 2, count: 0, notes: [] },
        revision: 1,
      })
      assert.equal((await manager().load('notes')).revision, 1)
    })

    test('an update is there for the next manager, with its revision', async (t) => {
      const { manager } = await make(t)
      const updated = await manager().update('notes', increment)
      assert.deepEqual([updated.document.count, updated.revision, updated.changed], [1, 2, true])
      assert.deepEqual(await manager().load('notes'), {
        document: { schema_version: 2, count: 1, notes: [] },
        revision: 2,
      })
    })

    test('a bad write is a refused write: every wrong path is named and nothing changes', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      await assert.rejects(
        state.update('notes', (draft) => {
          draft.count = -1
          draft.notes = [{ id: 'a' }]
          draft.mood = 'frustrated'
        }),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'state_invalid')
          for (const path of ['/count', '/notes/0/text', '/mood'])
            assert.match(error.message, new RegExp(path))
          return true
        },
      )
      assert.equal((await manager().load('notes')).revision, 1)
      assert.equal((await state.update('notes', increment)).revision, 2)
    })

    test('a mutation that throws changes nothing and holds up no other', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      const all = await Promise.allSettled([
        state.update('notes', increment),
        state.update('notes', () => {
          throw new Error('no')
        }),
        state.update('notes', increment),
      ])
      assert.deepEqual(
        all.map((one) => one.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.equal((await manager().load('notes')).document.count, 2)
    })

    test('an update that changes nothing writes no event', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      await state.load('notes')
      assert.deepEqual((await state.update('notes', () => undefined)).changed, false)
      assert.equal((await state.load('notes')).revision, 1)
    })

    test('a loaded document is the caller’s own: changing it changes nothing', async (t) => {
      const { manager } = await make(t)
      const state = manager()
      const { document } = await state.load('notes')
      document.count = 99
      assert.equal((await state.load('notes')).document.count, 0)
      const updated = await state.update('notes', increment)
      updated.document.count = 99
      assert.equal((await state.load('notes')).document.count, 1)
    })

    test('compare-and-set refuses a write on a revision that has passed', async (t) => {
      const { manager } = await make(t)
      const [one, two] = [manager(), manager()]
      const { revision } = await one.load('notes')
      await two.update('notes', increment)
      await assert.rejects(one.update('notes', increment, { expect: revision }), {
        code: 'document_conflict',
      })
      await one.update('notes', increment, { expect: revision + 1 })
      assert.equal((await two.load('notes')).document.count, 2)
    })

    test('two writers at once lose no update', async (t) => {
      const { manager } = await make(t)
      const [one, two] = [manager(), manager()]
      await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 ? one : two).update('notes', increment)))
      assert.equal((await manager().load('notes')).document.count, 60)
      assert.equal((await manager().load('notes')).revision, 61)
    })

    test('every mutation is one event, with its time, actor and patch', async (t) => {
      const { manager, tick } = await make(t)
      const state = manager()
      await state.load('notes')
      tick(1000)
      await state.update('notes', increment, { actor: { kind: 'agent', name: 'builder' } })
      const events = await Array.fromAsync(state.history('notes'))
      assert.deepEqual(
        events.map(({ seq, time, event, actor, patch }) => ({ seq, time, event, actor, patch })),
        [
          {
            seq: 1,
            time: '2026-01-01T00:00:00.000Z',
            event: 'bootstrap',
            actor: 'system:trivium',
            patch: undefined,
          },
          {
            seq: 2,
            time: '2026-01-01T00:00:01.000Z',
            event: 'update',
            actor: 'agent:builder',
            patch: [{ op: 'replace', path: '/count', value: 1 }],
          },
        ],
      )
      assert.equal((await Array.fromAsync(state.history('notes', 1))).length, 1)
    })

    test('replay shows any past moment and any past revision', async (t) => {
      const { manager, tick } = await make(t)
      const state = manager()
      await state.load('notes')
      const times: number[] = []
      for (let i = 0; i < 5; i += 1) {
        times.push(tick(1000))
        await state.update('notes', increment)
      }
      assert.equal((await state.replay('notes', times[2] ?? 0))?.document.count, 3)
      assert.equal((await state.replay('notes', (times[2] ?? 0) - 1))?.document.count, 2)
      assert.equal((await state.replay('notes', { revision: 5 }))?.document.count, 4)
      assert.equal(await state.replay('notes', Date.UTC(2025, 0, 1)), undefined)
      assert.deepEqual(await state.replay('notes', tick(0)), await state.load('notes'))
    })

    test('migrations run at start-up, keep a backup, and run again harmlessly', async (t) => {
      const { manager, open } = await make(t)
      await manager(notesV1).load('notes')
      const state = manager()
      assert.deepEqual(await state.migrate(), [{ name: 'notes', from: 1, to: 2 }])
      const migrated = { document: { schema_version: 2, count: 7, notes: [] }, revision: 2 }
      assert.deepEqual(await state.load('notes'), migrated)
      assert.deepEqual(await state.migrate(), [])
      assert.deepEqual(await manager().load('notes'), migrated)
      const before = await manager().replay('notes', { revision: 1 })
      assert.deepEqual(before?.document, { schema_version: 1, total: 7, notes: [] })
      assert.ok((await open().keep('notes', 'again'))?.includes('again'))
    })

    test('the manager refuses a version from the future, with its number and what to do', async (t) => {
      const { manager } = await make(t)
      await manager().load('notes')
      await assert.rejects(manager(notesV1).load('notes'), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'state_version')
        assert.match(error.message, /schema_version 2; this Trivium knows version 1.*newer Trivium/)
        return true
      })
      await assert.rejects(manager(notesV1).update('notes', increment), { code: 'state_version' })
      assert.equal((await manager().load('notes')).revision, 1)
    })

    test('the manager refuses an older version it cannot migrate, with the command that migrates', async (t) => {
      const { manager } = await make(t)
      await manager(notesV1).load('notes')
      const { migrations: _, ...without } = notes
      await assert.rejects(
        manager(without).load('notes'),
        /no migration from version 1.*trivium state migrate notes/,
      )
      assert.equal((await manager(notesV1).load('notes')).document.total, 7)
    })

    test('a migration that breaks the schema changes nothing', async (t) => {
      const { manager } = await make(t)
      await manager(notesV1).load('notes')
      const broken = {
        ...notes,
        migrations: { 1: (document: JsonObject) => ({ ...document, count: 'many' }) },
      }
      await assert.rejects(manager(broken).load('notes'), { code: 'state_corrupt' })
      assert.equal((await manager(notesV1).load('notes')).document.total, 7)
    })

    test('a key named __proto__ is data', async (t) => {
      const { manager } = await make(t)
      const open: DocumentSpec = {
        ...notes,
        schema: { type: 'object' },
        initial: () => ({ schema_version: 2 }),
      }
      const odd = JSON.parse('{"__proto__":{"a":1}}')
      await manager(open).update('notes', (draft) =>
        Object.defineProperty(draft, '__proto__', {
          ...Object.getOwnPropertyDescriptor(odd, '__proto__'),
        }),
      )
      const { document } = await manager(open).load('notes')
      assert.deepEqual(Object.keys(document).sort(), ['__proto__', 'schema_version'])
      assert.deepEqual(Object.getOwnPropertyDescriptor(document, '__proto__')?.value, { a: 1 })
    })

    test('an unknown document is an error that names the known ones', async (t) => {
      const { manager } = await make(t)
      await assert.rejects(manager().load('nots'), /no document nots.*notes/)
    })

    test('a typed document gives and takes its own type', async (t) => {
      const { manager } = await make(t)
      const document = manager().document(notes)
      const updated = await document.update((draft) => {
        draft.notes.push({ id: 'note-1', text: 'typed' })
      })
      assert.equal(updated.document.notes[0]?.text, 'typed')
      assert.equal((await document.load()).document.notes.length, 1)
    })
  })
}
