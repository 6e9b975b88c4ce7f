import assert from 'node:assert/strict'
import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { attempt } from '../../src/lib/attempt.ts'
import { openPrivateDatabase } from '../../src/lib/private-database.ts'
import { temporaryDir } from '../fixtures/folder.ts'

/** The files in a folder that this process has open. */
function openFilesIn(dir: string): string[] {
  const paths = readdirSync('/proc/self/fd').map((fd) => attempt(() => readlinkSync(`/proc/self/fd/${fd}`)))
  return paths.filter((path) => path?.startsWith(dir)).map(String)
}

test('a database that is opened privately is readable by its owner only', (t) => {
  const dir = temporaryDir(t)
  using _ = openPrivateDatabase(join(dir, 'a.db'), 1_000, 'PRAGMA journal_mode = WAL; CREATE TABLE a (b)')
  const modes = readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777)
  assert.deepEqual(modes, [0o600, 0o600, 0o600])
})

test('a file that is not a database is closed again', (t) => {
  const dir = temporaryDir(t)
  const path = join(dir, 'a.db')
  writeFileSync(path, 'not a database '.repeat(1_000))
  assert.throws(() => openPrivateDatabase(path, 1_000, 'CREATE TABLE a (b)'), /not a database/)
  assert.deepEqual(openFilesIn(dir), [])
})
