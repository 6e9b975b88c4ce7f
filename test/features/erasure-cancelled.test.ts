import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createDataDirs } from '../../src/features/person/data-dirs.ts'
import { createEraseKind, KIND } from '../../src/features/person/erase.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { definePlace } from '../../src/features/person/place.ts'
import type { OpenKind } from '../../src/lib/open-kinds.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'

const ADA: Person = {
  identities: ['chat:ada'],
  messages: new Set(),
  conversations: new Set(),
  files: new Set(),
}
const subjectOf = (person: Person) => {
  return {
    person,
    about: createReferences(
      person,
      createIdentities(person.identities, () => false),
    ),
  }
}

/** A place with one record, which is open. */
function placeOf(name: string, kind: OpenKind, erase: () => Promise<void> = async () => {}) {
  return definePlace<string>({
    name,
    where: 'store',
    async *find() {
      yield [name]
    },
    record: (found) => found,
    erase,
    openIn: (id) => [{ kind, id }],
  })
}

test('an erasure that is cancelled midway names what was open in the places that it erased', async (t) => {
  const store = await openStore(t)
  const log = createMemoryLog()
  const now = Date.now
  const work = createLongWork({ store, owner: 'a', log, now })
  cleanup(t, () => work.stop())
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const places = [
    placeOf('approvals', 'approvals'),
    placeOf('schedules', 'schedules', async () => {
      reached.resolve()
      await held.promise
    }),
    placeOf('calls', 'calls'),
  ]
  const entries: JsonObject[] = []
  const dataDir = temporaryDir(t)
  const place = { kv: store.kv, isShared: false, dataDir, places }
  work.offer(
    createEraseKind({
      store,
      places,
      outside: async () => ({ mailboxes: [], chats: [], models: [], receivers: [] }),
      collect: async () => ADA,
      subjectOf,
      dirs: createDataDirs({ ...place, subjectOf, log, now }),
      dataDir,
      record: async (entry) => {
        entries.push(Object(entry))
      },
    }),
  )
  const data = { identities: ['chat:ada'] }
  const caller = { caller: { kind: 'http', id: 'token:ada' } } as const
  const { id } = await work.begin({ kind: KIND, target: {}, data, total: places.length }, caller)
  await reached.promise
  await work.service.cancel({ id })
  held.resolve()
  const entry = await until(() => entries[0], 'the entry of the audit log')
  const { result } = await work.service.show({ id })
  assert.partialDeepStrictEqual(result, { left: ['schedules', 'calls'] })
  assert.deepEqual(Object(result).open, { approvals: 1, schedules: 1 })
  assert.deepEqual(Object(entry.result).open, '1 open approval, 1 schedule')
})
