import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager, type StateManager } from '../../src/features/documents/manager.ts'
import { rotatedFiles } from '../../src/lib/line-file.ts'
import { changesOf, increment, notes, temporaryDir } from './kit.ts'

function make(t: TestContext): { dir: string; path: string; events: string; open(): StateManager } {
  const dir = temporaryDir(t)
  const open = () => {
    const manager = createStateManager({ dir, documents: [notes] })
    t.after(() => manager.close())
    return manager
  }
  return { dir, path: join(dir, 'notes.json'), events: join(dir, 'notes.events.jsonl'), open }
}

describe('documents in files', () => {
  test('have sorted keys and one value a line, so that one change is one line in a review', async (t) => {
    const { path, open } = make(t)
    const manager = open()
    await manager.load('notes')
    const before = readFileSync(path, 'utf8').split('\n')
    await manager.update('notes', increment)
    const after = readFileSync(path, 'utf8').split('\n')
    assert.deepEqual(Object.keys(JSON.parse(after.join('\n'))), ['count', 'notes', 'schema_version'])
    assert.equal(after.filter((line, index) => line !== before[index]).length, 1)
  })

  test('keep the file mode that a person set', async (t) => {
    const { path, open } = make(t)
    const manager = open()
    await manager.load('notes')
    chmodSync(path, 0o644)
    await manager.update('notes', increment)
    assert.equal(statSync(path).mode & 0o777, 0o644)
  })

  test('begin anew when their file is deleted; the event log keeps the past', async (t) => {
    const { path, open } = make(t)
    await open().update('notes', increment)
    rmSync(path)
    const manager = open()
    assert.deepEqual((await manager.load('notes')).document, { schema_version: 2, count: 0, notes: [] })
    assert.equal((await manager.replay('notes', { revision: 2 }))?.document.count, 1)
    assert.equal((await manager.update('notes', increment)).revision, 4)
  })

  test('adopt a change made with an editor, with an event and without reformatting', async (t) => {
    const { dir, path, open } = make(t)
    const manager = open()
    await manager.update('notes', increment)
    const edited = '{"schema_version": 2, "count": 41, "notes": []}'
    writeFileSync(path, edited)
    assert.equal((await manager.load('notes')).document.count, 41)
    assert.equal(readFileSync(path, 'utf8'), edited)
    assert.equal((await open().load('notes')).revision, 3)
    assert.equal((await manager.update('notes', increment)).document.count, 42)
    const changes = await changesOf(createFileBackend({ dir }))
    assert.deepEqual(
      changes.map(({ event }) => event),
      ['bootstrap', 'update', 'outside', 'update'],
    )
  })

  test('get a lost schema_version back if the rest is valid', async (t) => {
    const { path, dir, open } = make(t)
    await open().update('notes', increment)
    const without = () => readFileSync(path, 'utf8').replace(/,?\s*"schema_version": 2/, '')
    writeFileSync(path, without())
    assert.deepEqual((await open().load('notes')).document, { schema_version: 2, count: 1, notes: [] })
    assert.ok(readdirSync(dir).some((file) => file.startsWith('notes.v0.')))

    const broken = without().replace('"count": 1', '"count": "one"')
    writeFileSync(path, broken)
    await assert.rejects(open().load('notes'), { code: 'state_version' })
    const { from, kept } = await open().repair('notes')
    assert.deepEqual([from, readFileSync(kept[0] ?? '', 'utf8')], ['events', broken])
    assert.equal((await open().load('notes')).document.count, 1)
  })

  test('are refused if they are links to other files, without showing their content', async (t) => {
    const { path, open } = make(t)
    await open().update('notes', increment)
    const secret = join(temporaryDir(t), 'secret')
    writeFileSync(secret, 'root:hunter2')
    rmSync(path)
    symlinkSync(secret, path)
    for (const attempt of [() => open().load('notes'), () => open().update('notes', increment)]) {
      const error = await attempt().then(() => assert.fail('it was read'), String)
      assert.match(error, /it is a link to a file without a JSON object/)
      assert.doesNotMatch(error, /root|hunter2/)
    }
  })

  test('are refused and left unchanged if they are not valid; repair restores invalid JSON from the events', async (t) => {
    const { path, open } = make(t)
    const manager = open()
    await manager.update('notes', increment)
    writeFileSync(path, '{"count": 1, oops')
    const refusal = { code: 'state_corrupt', message: /notes\.json cannot be read.*repair\('notes'\)/ }
    for (const attempt of [() => manager.load('notes'), () => manager.update('notes', increment)])
      await assert.rejects(attempt, refusal)
    assert.equal(readFileSync(path, 'utf8'), '{"count": 1, oops')
    const repaired = await manager.repair('notes')
    assert.equal(repaired.from, 'events')
    assert.equal(readFileSync(repaired.kept[0] ?? '', 'utf8'), '{"count": 1, oops')
    assert.equal((await open().load('notes')).document.count, 1)
    writeFileSync(path, '{"schema_version":2,"count":"one","notes":[{}]}')
    await assert.rejects(open().load('notes'), /\/count must be integer; \/notes\/0\/id/)
    const newer = '{"schema_version":9,"count":0,"notes":[]}'
    writeFileSync(path, newer)
    for (const attempt of [() => open().load('notes'), () => open().repair('notes')])
      await assert.rejects(attempt, { code: 'state_version' })
    assert.equal(readFileSync(path, 'utf8'), newer)
  })

  test('are repaired from the newest state before a broken event, also one of an older version', async (t) => {
    const { path, events, open } = make(t)
    const editing = open()
    for (let i = 0; i < 3; i += 1) await editing.update('notes', increment)
    await editing.close()
    writeFileSync(events, readFileSync(events, 'utf8').replace('"seq":4', '"seq:4'))
    writeFileSync(path, '{"count": 3')
    const { from, of, kept } = await open().repair('notes')
    assert.deepEqual([from, of, kept.length], ['events', 3, 2])
    assert.equal((await open().load('notes')).document.count, 2)
    assert.partialDeepStrictEqual(await open().repair('notes'), { from: 'nothing', kept: [] })

    const schema = JSON.parse(JSON.stringify(notes.schema).replace('"const":2', '"const":3'))
    const addOne = ({ count, ...rest }: JsonObject) => ({ ...rest, count: Number(count) + 1 })
    const newer = { ...notes, version: 3, schema, migrations: { 2: addOne } }
    writeFileSync(path, '')
    const manager = createStateManager({ dir: dirname(path), documents: [newer] })
    t.after(() => manager.close())
    assert.equal((await manager.repair('notes')).from, 'events')
    assert.equal((await manager.load('notes')).document.count, 3)
  })

  test('report a corrupt byte in the event log; repair keeps the document', async (t) => {
    const { events, open } = make(t)
    const first = open()
    for (let i = 0; i < 5; i += 1) await first.update('notes', increment)
    await first.close()
    const lines = readFileSync(events, 'utf8').split('\n')
    lines[2] = lines[2]?.replace('"seq"', '"s\u0000q"') ?? ''
    writeFileSync(events, lines.join('\n'))
    const manager = open()
    assert.equal((await manager.load('notes')).document.count, 5)
    await assert.rejects(manager.replay('notes', Date.now() + 1000), /line 3 is not an event/)
    const repaired = await manager.repair('notes')
    assert.deepEqual([repaired.from, repaired.kept.length], ['text', 1])
    assert.equal((await manager.load('notes')).document.count, 5)
    assert.equal((await manager.replay('notes', Date.now() + 1000))?.document.count, 5)
  })

  test('keep an unreadable entry of a list when they are repaired', async (t) => {
    const dir = temporaryDir(t)
    const path = join(dir, 'state.json')
    const manager = createStateManager({ dir, documents: [assistantDocument] })
    t.after(() => manager.close())
    const { document } = await manager.load('state')
    const damaged = { id: 'schedule-7', rule: 7 }
    writeFileSync(path, JSON.stringify({ ...document, schedules: [damaged] }))
    await manager.load('state')
    writeFileSync(join(dir, 'state.events.jsonl'), 'no event\n')
    assert.equal((await manager.repair('state')).from, 'text')
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')).schedules, [damaged])
    assert.deepEqual((await manager.load('state')).document.schedules, [])
  })

  test('forget earlier versions also after an edit, and in event logs that a repair set aside', async (t) => {
    const { dir, path, events, open } = make(t)
    const withText = (text: string) =>
      readdirSync(dir).filter((file) => readFileSync(join(dir, file)).includes(text))
    const manager = open()
    await manager.update(
      'notes',
      (draft) => void Object.assign(draft, { notes: [{ id: '1', text: 'xyzzy' }] }),
    )
    await manager.update('notes', (draft) => void Object.assign(draft, { notes: [] }))
    writeFileSync(path, readFileSync(path, 'utf8').replace('"count": 0', '"count": 7'))
    assert.deepEqual(withText('xyzzy'), ['notes.events.jsonl'])
    await manager.forgetHistory('notes')
    assert.deepEqual(withText('xyzzy'), [])
    assert.equal((await manager.load('notes')).document.count, 7)

    await manager.update(
      'notes',
      (draft) => void Object.assign(draft, { notes: [{ id: '1', text: 'plugh' }] }),
    )
    await manager.update('notes', (draft) => void Object.assign(draft, { notes: [] }))
    writeFileSync(events, readFileSync(events, 'utf8').replace('"seq"', '"seq'))
    assert.equal((await manager.repair('notes')).kept.length, 1)
    assert.equal(withText('plugh').length, 1)
    await manager.forgetHistory('notes')
    assert.deepEqual(withText('plugh'), [])
    assert.equal((await manager.load('notes')).document.count, 7)
  })

  test('archive a full event log, and replay every revision whose archive is kept', async (t) => {
    const { dir } = make(t)
    const open = () =>
      createStateManager({ backend: createFileBackend({ dir, maxLogSize: 4000 }), documents: [notes] })
    const first = open()
    for (let i = 0; i < 100; i += 1) await first.update('notes', increment)
    await first.close()
    const archives = rotatedFiles(join(dir, 'notes.events.jsonl'))
    assert.ok(archives.length >= 2, `${archives.length} archives`)
    assert.ok(statSync(join(dir, 'notes.events.jsonl')).size < 5000)

    const second = open()
    t.after(() => second.close())
    for (const revision of [1, 2, 40, 101]) {
      const replayed = await second.replay('notes', { revision })
      assert.deepEqual([replayed?.revision, replayed?.document.count], [revision, revision - 1])
    }
    for (const path of archives.slice(0, 2)) rmSync(path)
    assert.equal((await second.replay('notes', { revision: 101 }))?.document.count, 100)
    assert.equal(await second.replay('notes', { revision: 1 }), undefined)
    await second.update('notes', increment)
    assert.equal((await second.load('notes')).document.count, 101)
  })

  test('can be replayed while their event log is rotated', async (t) => {
    const { dir } = make(t)
    const backend = createFileBackend({ dir, maxLogSize: 2000 })
    const manager = createStateManager({ backend, documents: [notes] })
    t.after(() => manager.close())
    const archives = () => rotatedFiles(join(dir, 'notes.events.jsonl')).length
    const rotate = async () => {
      for (const before = archives(); archives() === before; ) await manager.update('notes', increment)
    }
    await rotate()
    const { revision } = await manager.load('notes')
    const seqs: number[] = []
    for await (const { seq } of manager.changes('notes')) {
      if (seqs.push(seq) === 1) await rotate()
    }
    assert.deepEqual(
      seqs.slice(0, revision),
      Array.from({ length: revision }, (_, index) => index + 1),
    )
  })
})
