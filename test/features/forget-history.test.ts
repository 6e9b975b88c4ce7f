import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createForgetting } from '../../src/features/assistant/forget-person.ts'
import { replayChanges } from '../../src/features/documents/events.ts'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager, type StateManager } from '../../src/features/documents/manager.ts'
import type { DocumentBackend } from '../../src/features/documents/spec.ts'
import { createStateCopy } from '../../src/features/documents/state-documents.ts'
import { createStoreBackend, type Values } from '../../src/features/documents/store-backend.ts'
import { createIdentities, createReferences } from '../../src/features/person/person.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createFolder } from '../runtime/support/folder.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

const SECRET = 'xyzzy-4711'
const NOBODY = { messages: new Set<string>(), conversations: new Set<string>(), files: new Set<string>() }
const identities = ['desk:alice@example.com']
const about = createReferences(
  { identities, ...NOBODY },
  createIdentities(identities, () => false),
)

const ALICE = {
  isTheirs: (record: Parameters<typeof about.refersTo>[0]) => about.refersTo(record),
  partsOf: about.partsAbout,
  without: about.without,
}

/** A note of Alice or Bob. */
const note = (who: string, text: string) => {
  const owner = `desk:${who}@example.com`
  return { id: `memory-${who}`, text, channel: 'desk', owner, time: new Date(0).toISOString() }
}

/** The files of a folder that contain a text. */
function filesWith(dir: string, text: string): string[] {
  return readdirSync(dir).filter((file) => readFileSync(join(dir, file)).includes(text))
}

/** Adds a note of Bob and one of Alice, and then removes that of Alice. */
async function forgetNote(manager: StateManager): Promise<void> {
  const state = manager.document(assistantDocument)
  await state.load()
  await state.update((draft) => void draft.memory.push(note('bob', 'harmless words'), note('alice', SECRET)))
  await state.update((draft) => void draft.memory.pop())
}

/** Finds the forgotten note in the history, erases it there, and checks that Bob's note stays. */
async function checkHistory(manager: StateManager): Promise<void> {
  const memory = createForgetting(manager, manager.document(assistantDocument))
  assert.deepEqual(await memory.find(ALICE), [], 'the document itself has it no longer')
  const found = JSON.stringify(await memory.findInHistory(ALICE))
  assert.match(found, new RegExp(SECRET))
  assert.doesNotMatch(found, /harmless/)
  await memory.eraseHistory()
  assert.deepEqual(await memory.findInHistory(ALICE), [])
  const { document } = await manager.document(assistantDocument).load()
  assert.deepEqual(
    document.memory.map(({ text }) => text),
    ['harmless words'],
  )
}

describe('the history of the assistant, when a person is erased', () => {
  test('is searched for notes that were forgotten earlier, in files', async (t) => {
    const dir = await createFolder(t)
    const manager = createStateManager({ dir, documents: [assistantDocument] })
    cleanup(t, () => manager.close())
    await forgetNote(manager)
    assert.deepEqual(filesWith(dir, SECRET), ['state.events.jsonl'])
    await checkHistory(manager)
    assert.deepEqual(filesWith(dir, SECRET), [])
  })

  test('is searched in backups and in events that a repair set aside, even without current events', async (t) => {
    const dir = await createFolder(t)
    const manager = createStateManager({ dir, documents: [assistantDocument] })
    cleanup(t, () => manager.close())
    await forgetNote(manager)
    renameSync(join(dir, 'state.events.jsonl'), join(dir, 'state.events.jsonl.repair-1'))
    writeFileSync(
      join(dir, 'state.repair-1.backup.json'),
      JSON.stringify({ memory: [note('alice', SECRET)] }),
    )
    assert.equal(filesWith(dir, SECRET).length, 2)
    const memory = createForgetting(manager, manager.document(assistantDocument))
    assert.match(JSON.stringify(await memory.findInHistory(ALICE)), new RegExp(SECRET))
    await memory.eraseHistory()
    assert.deepEqual(filesWith(dir, SECRET), [])
  })

  for (const { kind, place, open } of storeKinds())
    test(`is searched for notes that were forgotten earlier, on the ${kind} store`, async (t) => {
      const { kv } = await open(t, await place(t))
      const backend = createStoreBackend({ values: kv })
      const manager = createStateManager({ backend, documents: [assistantDocument] })
      await forgetNote(manager)
      await checkHistory(manager)
    })

  test('does not get a note back from a copy that was in progress during the erasure', async (t) => {
    const { dir, copy, memory, original, hasRead, letWrite } = await startCopy(t)
    copy.start()
    await hasRead
    await original.erase(ALICE)
    const erased = memory.erase(ALICE)
    letWrite()
    await erased
    assert.deepEqual(filesWith(dir, SECRET), [])
    await copy.stop()
    assert.deepEqual(filesWith(dir, SECRET), [])
    assert.match(readFileSync(join(dir, 'state.json'), 'utf8'), /harmless words/)
  })
})

describe('a history that is read while it is erased', () => {
  /** Commits one value after the other. */
  const commit = (backend: DocumentBackend, value: number) =>
    backend.transact('notes', ({ revision }) => {
      const document = { list: Array.from({ length: value }, (_, at) => at + 1) }
      const change = {
        seq: revision + 1,
        time: new Date(value).toISOString(),
        event: 'update' as const,
        actor: 'system:test',
      }
      const patch = [{ op: 'add' as const, path: `/list/${value - 1}`, value }]
      return { change: { ...change, ...(revision === 0 ? { document } : { patch }) }, document }
    })
  /** Replays a history of 40 commits that is erased, and gets one more commit, after its first event. */
  const replayErased = async (backend: DocumentBackend) => {
    for (let value = 1; value <= 40; value++) await commit(backend, value)
    return replayChanges(async function* () {
      let isErased = false
      for await (const change of backend.changes('notes')) {
        yield change
        if (isErased) continue
        isErased = true
        await backend.forgetHistory('notes')
        await commit(backend, 41)
      }
    })
  }

  test('ends with the newest document, in files', async (t) => {
    const backend = createFileBackend({ dir: await createFolder(t), maxLogSize: 1 })
    cleanup(t, () => backend.close())
    const { found, error } = await replayErased(backend)
    assert.equal(error, undefined)
    assert.deepEqual(
      [found?.document.list, found?.revision],
      [Array.from({ length: 40 }, (_, at) => at + 1), 40],
    )
  })

  for (const { kind, place, open } of storeKinds())
    test(`ends with the newest document, on the ${kind} store`, async (t) => {
      const { kv } = await open(t, await place(t))
      const { found, error } = await replayErased(createStoreBackend({ values: kv }))
      assert.equal(error, undefined)
      assert.deepEqual(
        [found?.document.list, found?.revision],
        [Array.from({ length: 40 }, (_, at) => at + 1), 40],
      )
    })

  test('has the newest document if it is erased before its events are listed', async (t) => {
    const { kv } = await openStore(t)
    const original = createStoreBackend({ values: kv })
    for (let value = 1; value <= 3; value++) await commit(original, value)
    const values: Values = {
      ...kv,
      async list(...args) {
        await original.forgetHistory('notes')
        return kv.list(...args)
      },
    }
    const { found } = await replayChanges(() => createStoreBackend({ values }).changes('notes'))
    assert.deepEqual([found?.document.list, found?.revision], [[1, 2, 3], 3])
  })

  test('is corrupt in files if a log is missing', async (t) => {
    const dir = await createFolder(t)
    const backend = createFileBackend({ dir, maxLogSize: 1 })
    cleanup(t, () => backend.close())
    for (let value = 1; value <= 40; value++) await commit(backend, value)
    const [, second = ''] = readdirSync(dir)
      .filter((name) => /^notes\.events\.\d/.test(name))
      .sort()
    rmSync(join(dir, second))
    const { error } = await replayChanges(() => backend.changes('notes'))
    assert.match(String(error), /not \d+/)
  })
})

describe('the document of the assistant, when a person is erased', () => {
  test('loses their part of the content of an older file, and keeps the rest', async (t) => {
    const { memory, state } = await openState(t)
    await state.update((draft) => {
      draft.extra = { contacts: [{ name: 'alice@example.com' }, { name: 'bob@example.com' }], colour: 'red' }
    })
    assert.deepEqual(await memory.find(ALICE), [{ kind: 'other', record: { name: 'alice@example.com' } }])
    await memory.erase(ALICE)
    assert.deepEqual((await state.load()).document.extra, {
      contacts: [{ name: 'bob@example.com' }],
      colour: 'red',
    })
    await state.update((draft) => void Object.assign(draft, { extra: { contact: 'alice@example.com' } }))
    await memory.erase(ALICE)
    assert.equal((await state.load()).document.extra, undefined)
    assert.deepEqual(await memory.find(ALICE), [])
  })

  test('loses results that are notes which no longer exist; only those of the person are exported', async (t) => {
    const { memory, state } = await openState(t)
    const result = (ref: string) => ({
      source: 'note' as const,
      ref,
      text: SECRET,
      channel: 'desk',
      score: 1,
    })
    const search = {
      id: 'search-1',
      query: 'x',
      channel: 'desk',
      owner: 'operator/http',
      time: new Date(0).toISOString(),
    }
    const results = [result('memory-gone'), result('memory-alice'), result('memory-bob')]
    await state.update((draft) => {
      draft.memory.push(note('alice', SECRET), note('bob', 'harmless words'))
      draft.searches.push({ ...search, results })
    })
    const found = JSON.stringify(await memory.find(ALICE))
    assert.deepEqual([/memory-alice/.test(found), /memory-(gone|bob)/.test(found)], [true, false])
    await memory.erase(ALICE)
    const { searches } = (await state.load()).document
    assert.deepEqual(searches, [{ ...search, results: [result('memory-bob')] }])
  })
})

test('unreadable records about a person are found and erased, and those of others stay', async (t) => {
  const dir = await createFolder(t)
  const manager = createStateManager({ dir, documents: [assistantDocument] })
  cleanup(t, () => manager.close())
  const state = manager.document(assistantDocument)
  const { document } = await state.load()
  const [ofAlice, ofBob] = ['alice', 'bob'].map((who) => {
    return { id: `schedule-${who}`, rule: 7, by: { id: `desk:${who}@example.com` } }
  })
  const path = join(dir, 'state.json')
  writeFileSync(path, JSON.stringify({ ...document, schedules: [ofAlice, ofBob] }))
  const memory = createForgetting(manager, state)
  assert.deepEqual(await memory.find(ALICE), [{ kind: 'other', record: ofAlice }])
  await memory.erase(ALICE)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')).schedules, [ofBob])
  assert.deepEqual(filesWith(dir, 'alice'), [])
})

async function openState(t: TestContext) {
  const documents = createStateManager({ dir: await createFolder(t), documents: [assistantDocument] })
  cleanup(t, () => documents.close())
  const state = documents.document(assistantDocument)
  await state.load()
  return { state, memory: createForgetting(documents, state) }
}

/**
 * A document with a note of Alice, and a copy of it, which reads the document and then waits for
 * `letWrite`.
 */
async function startCopy(t: TestContext) {
  const [dir, from] = [await createFolder(t), await createFolder(t)]
  const log = createMemoryLog()
  const documents = createStateManager({ dir: from, documents: [assistantDocument] })
  cleanup(t, () => documents.close())
  const state = documents.document(assistantDocument)
  await state.load()
  await state.update((draft) => void draft.memory.push(note('bob', 'harmless words'), note('alice', SECRET)))
  const { promise: hasRead, resolve: read } = Promise.withResolvers<void>()
  const permission = Promise.withResolvers<void>()
  const slow = {
    async load() {
      const loaded = await state.load()
      read()
      await permission.promise
      return loaded
    },
  }
  const copy = createStateCopy(assistantDocument, slow, dir, log)
  const memory = createForgetting(
    copy.documents,
    copy.documents.document(assistantDocument),
    copy.betweenUpdates,
  )
  const original = createForgetting(documents, state)
  return { dir, copy, memory, original, hasRead, letWrite: permission.resolve }
}
