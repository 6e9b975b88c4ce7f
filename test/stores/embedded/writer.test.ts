import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createSignals } from '../../../src/stores/embedded/signals.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { quiet, saying } from '../../contract/store/kit.ts'
import { noFlush, withDir, withStore } from './kit.ts'

describe('group commit', () => {
  test('the calls of one turn are one transaction, and none is answered before it is on the disk', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const other = new DatabaseSync(join(dir, 'trivium.db'), { readOnly: true })
      const seen = other.prepare('SELECT count(*) AS n FROM gateway')
      const writer = createWriter(db, 'test', noFlush)
      let commits = 0
      writer.follow({ committed: () => commits++ })
      const insert = db.prepare('INSERT INTO gateway (name) VALUES (?)')
      const calls = ['a', 'b', 'c'].map(async (name) => {
        await writer.write(() => insert.run(name))
        return seen.get()?.n
      })
      assert.equal(seen.get()?.n, 0)
      assert.deepEqual(await Promise.all(calls), [3, 3, 3])
      assert.equal(commits, 1)
      other.close()
      db.close()
    })
  })

  test('a call that throws is undone alone and rejects alone', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const writer = createWriter(db, 'test', noFlush)
      const insert = db.prepare('INSERT INTO gateway (name) VALUES (?)')
      const calls = [
        writer.write(() => insert.run('a')),
        writer.write(() => {
          insert.run('undone')
          throw new Error('on purpose')
        }),
        writer.write(() => insert.run('a')),
        writer.write(() => insert.run('b')),
      ]
      const states = (await Promise.allSettled(calls)).map(({ status }) => status)
      assert.deepEqual(states, ['fulfilled', 'rejected', 'rejected', 'fulfilled'])
      const names = db.prepare('SELECT name FROM gateway ORDER BY id').all()
      assert.deepEqual(
        names.map(({ name }) => name),
        ['a', 'b'],
      )
      db.close()
    })
  })

  test('a signal is raised only by a commit, once, and a listener that throws harms nobody', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const writer = createWriter(db, 'test', noFlush)
      const signals = createSignals(writer, quiet)
      let heard = 0
      signals.on('journal', () => {
        throw new Error('on purpose')
      })
      signals.on('journal', () => heard++)
      const failed = writer.write(() => {
        signals.raise('journal')
        throw new Error('undone')
      })
      await assert.rejects(failed, { message: 'undone' })
      assert.equal(heard, 0)
      await Promise.all([1, 2].map(() => writer.write(() => signals.raise('journal'))))
      assert.equal(heard, 1)
      db.close()
    })
  })

  test('closing commits what was asked for and refuses what comes after', async () => {
    await withDir(async (dir) => {
      await withStore(dir, async (store) => {
        const last = store.kv.set('k', 1)
        await store.close()
        assert.ok(await last)
        await assert.rejects(store.kv.set('k', 2), { code: 'store_unavailable' })
      })
      await withStore(dir, async (store) => assert.equal((await store.kv.get('k'))?.value, 1))
    })
  })

  test('a full disk refuses with store_unavailable, keeps what was there, and is over when there is room', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const writer = createWriter(db, 'test', noFlush)
      const insert = db.prepare('INSERT INTO kv (key, value, version) VALUES (?, ?, 1)')
      await writer.write(() => insert.run('before', 'x'))
      // What a full disk looks like to SQLite: SQLITE_FULL when the file would have to grow.
      const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count)
      db.exec(`PRAGMA max_page_count = ${pages + 4}`)
      const large = () => writer.write(() => insert.run('large', 'x'.repeat(1_000_000)))
      const refused = await Promise.allSettled([large(), writer.write(() => insert.run('same turn', 'x'))])
      for (const each of refused) {
        assert.ok(each.status === 'rejected')
        assert.equal(each.reason.code, 'store_unavailable')
        assert.equal(each.reason.retryable, true)
      }
      await writer.write(() => insert.run('small', 'x'))
      db.exec('PRAGMA max_page_count = 1000000')
      await large()
      const keys = db.prepare('SELECT key FROM kv ORDER BY key').all()
      assert.deepEqual(
        keys.map(({ key }) => key),
        ['before', 'large', 'small'],
      )
      db.close()
    })
  })
})

test('messages of one turn that repeat a key with a failing call between them stay one message', async () => {
  await withDir(async (dir) => {
    await withStore(dir, async (store) => {
      const [a, bad, b] = await Promise.allSettled([
        store.journal.accept([saying('1', { key: 'k' })]),
        // @ts-expect-error a transport that breaks the contract: no text can be stored for this gateway
        store.journal.accept([saying('2', { key: 'x', gateway: {} })]),
        store.journal.accept([saying('3', { key: 'k' })]),
      ])
      assert.equal(bad.status, 'rejected')
      assert.ok(a.status === 'fulfilled' && b.status === 'fulfilled')
      assert.equal(b.value[0]?.id, a.value[0]?.id)
      assert.equal((await store.stats()).journal.messages, 1)
    })
  })
})
