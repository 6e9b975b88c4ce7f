import assert from 'node:assert/strict'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createCheckpointer } from '../../../src/stores/embedded/checkpointer.ts'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { silent } from '../../contract/store/kit.ts'
import { noFlush, temporaryDir } from './kit.ts'

test('a long write-ahead log starts over under constant writes, and loses nothing', async (t) => {
  const dir = temporaryDir(t)
  const path = join(dir, 'trivium.db')
  const db = openDatabase(dir)
  // Otherwise SQLite would copy the log itself.
  db.exec('PRAGMA wal_autocheckpoint = 0')
  const writer = createWriter(db, path, noFlush)
  const end = createCheckpointer(db, writer, path, silent, { every: 4, long: 256 })
  const insert = db.prepare('INSERT INTO gateway (name) VALUES (?)')
  // https://www.sqlite.org/fileformat2.html, 4.1: the header counts how often the log has started
  // over.
  const log = openSync(`${path}-wal`, 'r')
  t.after(() => closeSync(log))
  const header = Buffer.alloc(32)
  const restartsOfLog = () => {
    readSync(log, header, 0, 32, 0)
    return header.readUInt32BE(12)
  }
  const atStart = restartsOfLog()
  let written = 0
  while (restartsOfLog() < atStart + 3) {
    await writer.write(() => insert.run(`${written++}`.padEnd(500_000)))
    assert.ok(written < 1_000, 'the log never starts over')
  }
  await end()
  db.close()
  const reopened = new DatabaseSync(path, { readOnly: true })
  t.after(() => reopened.close())
  assert.equal(reopened.prepare('SELECT count(*) AS n FROM gateway').get()?.n, written)
})
