import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createEraseKind } from '../../src/features/person/erase.ts'
import { createIdentities, createReferences } from '../../src/features/person/person.ts'
import { definePlace } from '../../src/features/person/place.ts'
import { storeKinds } from '../runtime/support/store.ts'

const person = {
  identities: ['chat:ada'],
  messages: new Set<string>(),
  conversations: new Set<string>(),
  files: new Set<string>(),
}

for (const { kind, place, open } of storeKinds())
  test(`an erasure that is cancelled within a place counts what was open there, on the ${kind} store`, async (t) => {
    const store = await open(t, await place(t))
    const letters = [['first', 'second'], ['third']]
    const erased: string[] = []
    const deadLetters = definePlace<string>({
      name: 'dead letters',
      where: 'store',
      async *find() {
        yield* letters
      },
      record: (letter) => letter,
      openIn: () => [{ kind: 'dead letters' }],
      erase: async (found) => erased.push(...found),
    })
    const erasure = createEraseKind({
      store,
      outside: async () => ({ mailboxes: [], chats: [], models: [], receivers: [] }),
      places: [deadLetters],
      collect: async () => person,
      subjectOf: () => ({
        person,
        about: createReferences(
          person,
          createIdentities(['chat:ada'], () => false),
        ),
      }),
      dirs: { eraseOthers: async () => [] },
      dataDir: '.',
      record: async () => {},
    })
    let data = {}
    const { signal } = new AbortController()
    const save = async (progress: { data?: unknown }) => {
      data = structuredClone(progress.data ?? data)
      if (erased.length === 2) throw new TriviumError('job_cancelled', { id: 'j1' })
    }
    const job = { id: 'j1', by: 'ada', target: {}, data: { identities: ['chat:ada'] }, done: 0, total: 1 }
    await assert.rejects(async () => erasure.run(job, { save, signal }), { code: 'job_cancelled' })
    const result = Object(erasure.soFar?.({ ...job, data: JSON.parse(JSON.stringify(data)) }))
    assert.partialDeepStrictEqual(result, { records: 2, open: { 'dead letters': 2 }, left: ['dead letters'] })
  })
