import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createPeople } from '../../src/features/person/people.ts'
import type { Place } from '../../src/features/person/place.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callFrom, temporaryDir } from './kit.ts'

/** The files that belong to a person. */
const files: Place = {
  name: 'files',
  where: 'data dir',
  mayBeOpen: false,
  tally: async ({ person }) => ({ count: person.files.size, kinds: {}, open: [] }),
  async *records({ person }) {
    yield* person.files
  },
  async *erase() {},
}

/** Each person has a note, so that there is something to export. */
const notes: Place = {
  name: 'notes',
  where: 'store',
  mayBeOpen: false,
  tally: async () => ({ count: 1, kinds: {}, open: [] }),
  async *records() {},
  async *erase() {},
}

/** Exports and erasures of people on the gateways `email` and `slack`, with no messages. */
async function openPeople(t: TestContext) {
  const store = await openStore(t)
  const log = createMemoryLog()
  let saved = 0
  const { service } = createPeople({
    store,
    outside: () => ({ gateways: [], models: [] }),
    matchOf: async () => undefined,
    mayCallModel: () => false,
    work: createLongWork({ store, owner: 'test', log, now: Date.now }),
    artifacts: {
      async save(name, type, content) {
        const bytes = await text(Readable.from(content))
        saved += 1
        const sha256 = String(saved).padStart(64, '0')
        return { name, type, size: bytes.length, sha256, path: `files/${sha256}` }
      },
      has: async () => true,
      open: async () => Readable.from([]),
      remove: async () => {},
    },
    places: [files, notes],
    async *transcript() {},
    savedFor: async () => [],
    gateways: () => ['email', 'slack'],
    isCaseless: (gateway) => gateway === 'email',
    record: async () => {},
    dataDir: temporaryDir(t),
    log,
    now: Date.now,
  })
  /** The number of files that an erasure would remove. */
  const count = async (identity: string) => {
    const { counts } = Object(
      await service.erase({ identity: [identity], confirm: false, wait: 0 }, callFrom()),
    )
    return counts.files
  }
  const exported = (identity: string) =>
    service.export({ identity: [identity], format: 'jsonl', attachments: false }, callFrom())
  return { count, exported }
}

describe('the export of a person', () => {
  test('is erased with the person, however the identity was written for the export', async (t) => {
    const { count, exported } = await openPeople(t)
    await exported('email:Ada@Example.com')
    await exported('*:ada@example.com')
    await exported('email:bob@example.com')
    await exported('slack:U1')
    assert.equal(await count('email:ada@example.com'), 2)
    assert.equal(await count('*:ADA@example.com'), 2)
    assert.equal(await count('slack:u1'), 0, 'an id whose gateway distinguishes case')
    assert.equal(await count('email:U1'), 0, 'the same id on another gateway')
    assert.equal(await count('slack:U1'), 1)
  })
})
