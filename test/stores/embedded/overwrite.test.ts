import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createOverwrite } from '../../../src/stores/embedded/overwrite.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { silent } from '../../contract/store/kit.ts'
import { noFlush, temporaryDir, withStore } from './kit.ts'

const MARK = 'xyzzy-4711'

/**
 * Values of different sizes in an order that makes SQLite split pages, half of them with the mark.
 */
function values(): { key: string; text: string }[] {
  return Array.from({ length: 300 }, (_, n) => {
    const word = n % 2 === 0 ? MARK : 'harmless'
    return { key: `${word} ${(n * 7_919) % 997}`, text: word.padEnd((n * 613) % 1_500, '.') }
  })
}

test('nothing of removed rows is left in the file, and others are', async (t) => {
  const dir = temporaryDir(t)
  const bytes = () => readFileSync(join(dir, 'trivium.db')).toString('latin1')
  await withStore(dir, async (store) => {
    for (const { key, text } of values()) await store.kv.set(key, text)
    for (const { key } of values()) if (key.startsWith(MARK)) await store.kv.delete(key)
    const writing = store.kv.set('meanwhile', 'harmless')
    assert.deepEqual(await store.erasing.overwrite(), { isRewritten: true })
    await writing
    assert.equal(readFileSync(join(dir, 'trivium.db-wal')).length, 0)
    assert.equal(bytes().includes(MARK), false)
    assert.ok(bytes().includes('harmless'))
    assert.equal((await store.kv.get('meanwhile'))?.value, 'harmless')
    await store.kv.set('afterwards', 1)
    assert.equal((await store.kv.get('afterwards'))?.value, 1)
  })
})

test('a large database is not rewritten, and says so', async (t) => {
  const dir = temporaryDir(t)
  const path = join(dir, 'trivium.db')
  using db = openDatabase(dir)
  const writer = createWriter(db, path, noFlush)
  const overwrite = createOverwrite(writer, db, path, silent, { maxRewritten: 16_384 })
  assert.deepEqual(await overwrite(), { isRewritten: false })
  await writer.close()
})

test('a database that cannot be copied, as without space, stays as it is, and says so', async (t) => {
  const dir = temporaryDir(t)
  using db = openDatabase(dir)
  const writer = createWriter(db, dir, noFlush)
  // The worker cannot open this path.
  const overwrite = createOverwrite(writer, db, join(dir, 'missing', 'trivium.db'), silent)
  assert.deepEqual(await overwrite(), { isRewritten: false })
  assert.equal(await writer.write(() => 1), 1)
  await writer.close()
})
