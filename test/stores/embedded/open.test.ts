import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { compactDatabase, copyDatabase } from '../../../src/stores/embedded/copy.ts'
import {
  acceptAll,
  claimIds,
  claimJobs,
  claimOne,
  DAY,
  dataOf,
  failure,
  job,
  MINUTE,
  newest,
  publishAll,
  readGroup,
} from '../../contract/store/kit.ts'
import { openStore, temporaryDir, withStore } from './kit.ts'

/** Opens the store in a directory, says so, and stays. */
const HOLDER = `
  import { openStore } from '${import.meta.resolve('./kit.ts')}'
  const store = await openStore(process.argv[1])
  console.log(await store.kv.set('k', 1))
  setInterval(() => {}, 60_000)`

describe('opening the embedded store', () => {
  test('it makes the directory and works in one whose name has spaces and quotes', async (t) => {
    const dir = temporaryDir(t)
    const odd = join(dir, "it's a %20 ?mode=ro# dir", 'deep')
    await withStore(odd, async (store) => {
      await acceptAll(store, ['a'])
      assert.equal(store.address, join(odd, 'trivium.db'))
    })
    assert.ok(existsSync(join(odd, 'trivium.db')))
  })

  test('its messages are readable for their owner alone, in a folder that others may read', async (t) => {
    const dir = temporaryDir(t)
    chmodSync(dir, 0o755)
    const umask = process.umask(0)
    try {
      await withStore(dir, async (store) => {
        await acceptAll(store, ['a'])
        for (const name of readdirSync(dir).filter((each) => /\.db/.test(each)))
          assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
      })
    } finally {
      process.umask(umask)
    }
  })

  test('another process is refused too, and a SIGKILL frees the lock at once', async (t) => {
    const dir = temporaryDir(t)
    const args = ['--input-type=module', '-e', HOLDER, dir]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    await assert.rejects(openStore(dir), {
      code: 'store_locked',
      message: new RegExp(`process ${child.pid} `),
    })
    child.kill('SIGKILL')
    await closed
    await withStore(dir, async (store) => assert.equal((await store.kv.get('k'))?.value, 1))
  })

  test('a database of a newer Trivium is refused and left as it is', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, async (store) => {
      await acceptAll(store, ['a'])
      await store.topics.subscribe('t', 'g', 'now')
    })
    const db = new DatabaseSync(join(dir, 'trivium.db'))
    db.exec('PRAGMA user_version = 99')
    await assert.rejects(openStore(dir), {
      code: 'store_version',
      message: /version 99; this Trivium knows up to 5/,
    })
    db.exec(
      'DROP INDEX topic_emptied; ALTER TABLE topic DROP COLUMN emptied; DROP INDEX topic_oldest; ALTER TABLE topic DROP COLUMN oldest',
    )
    db.exec(
      'DROP TABLE key_batch; CREATE TABLE key_tail (n INTEGER PRIMARY KEY, hash BLOB NOT NULL, id BLOB NOT NULL)',
    )
    db.exec(
      'DROP TABLE conversation_taken; ALTER TABLE gateway DROP COLUMN taken; DROP INDEX journal_conversation; CREATE INDEX journal_conversation ON journal (conversation) WHERE conversation IS NOT NULL',
    )
    db.exec('DROP TABLE taken_ahead; ALTER TABLE pending DROP COLUMN deliveries')
    db.exec('PRAGMA user_version = 1; ALTER TABLE consumer DROP COLUMN used')
    db.close()
    await withStore(dir, async (store) => {
      await store.trim({ journal: { maxAge: DAY, maxCount: 9 } })
      assert.equal((await store.topics.groups()).length, 1, 'one of an older Trivium is brought up to date')
      assert.equal((await store.stats()).journal.messages, 1)
    })
  })

  test('a copy shows one moment and goes on though another connection writes at each step', async (t) => {
    const [dir, to] = [temporaryDir(t), temporaryDir(t)]
    await withStore(dir, async (store) => {
      await acceptAll(
        store,
        Array.from({ length: 2_000 }, () => 'x'.repeat(4_000)),
      )
      using db = new DatabaseSync(join(dir, 'trivium.db'))
      db.exec('CREATE TABLE later (n)')
      const parts: number[] = []
      await copyDatabase(dir, join(to, 'trivium.db'), (part) => {
        parts.push(part)
        if (parts.length < 50) db.exec('INSERT INTO later VALUES (1)')
      })
      assert.ok(parts.length > 3 && parts.length < 50, `${parts.length} steps`)
      using copy = new DatabaseSync(join(to, 'trivium.db'))
      assert.equal(copy.prepare('SELECT count(*) AS n FROM later').get()?.n, 0)
    })
  })

  test('what ran out does not pile up, however fast it comes', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    const names = Array.from({ length: 1_200 }, (_, n) => `name ${n}`)
    await Promise.all(names.map((name) => store.kv.set(name, 1, { ttl: 1_000 })))
    now += 2_000
    // As the daemon does each minute.
    while ((await store.trim({ journal: { maxAge: DAY, maxCount: 9 } })).removed > 0);
    await store.close()
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    assert.equal(db.prepare('SELECT count(*) AS n FROM kv').get()?.n, 0)
  })

  test('trimming does not go through all that waits in a lane at each step', async (t) => {
    await withStore(temporaryDir(t), async (store) => {
      const accept = (count: number) =>
        acceptAll(
          store,
          Array.from({ length: count }, () => 'x'),
        )
      const pump = async (lane?: string) => {
        for (;;) {
          const { cursor, items: messages } = await store.journal.unpumped(10_000)
          if (messages.length === 0) return
          const jobs = lane ? messages.map(({ id }) => ({ id, lane, group: 'r', messageId: id })) : []
          await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
        }
      }
      for (let part = 0; part < 10; part++) {
        await accept(10_000)
        await pump('stuck')
      }
      await accept(10_000)
      await pump()
      /** How many are removed by calls of which the fastest takes so long (ms of processor time); a first look may take longer. */
      const trim = async (maxCount: number, calls: number) => {
        let [all, fastest] = [0, Number.POSITIVE_INFINITY]
        for (let call = 0; call < calls; call++) {
          const began = process.cpuUsage()
          all += (await store.trim({ journal: { maxAge: DAY, maxCount } })).removed
          fastest = Math.min(fastest, process.cpuUsage(began).user / 1000)
        }
        return { all, fastest }
      }
      const nothing = await trim(1_000_000, 20)
      assert.ok(nothing.all === 0 && nothing.fastest < 10, `${nothing.fastest} ms for nothing`)
      const some = await trim(105_000, 6)
      assert.ok(some.all === 3_000 && some.fastest < 30, `${some.fastest} ms for 500`)
    })
  })

  test('what is too old goes, however many topics there are', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    for (let minute = 0; minute < 30; minute++) {
      const topics = Array.from({ length: 600 }, (_, n) => `replies/demo/${minute}-${n}`)
      await Promise.all(topics.map((topic) => publishAll(store, topic, ['a'])))
      await publishAll(store, 'replies/demo/0-7', ['b'])
      now += MINUTE
      while ((await store.trim({ journal: { maxAge: 5 * MINUTE, maxCount: 9 } })).removed > 0);
    }
    await store.close()
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    assert.equal(db.prepare('SELECT count(*) AS n FROM event').get()?.n, 5 * 601)
  })

  test('a topic is forgotten a week after its last event, but not where a group is', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    const pass = async (days: number) => {
      now += days * DAY
      while ((await store.trim({ journal: { maxAge: DAY, maxCount: 9 } })).removed > 0);
    }
    const topics = Array.from({ length: 1_200 }, (_, n) => `replies/demo/${n}`)
    await Promise.all(topics.map((topic) => publishAll(store, topic, ['a', 'b'])))
    await publishAll(store, 'read', ['a'])
    await store.topics.subscribe('read', 'g', 'now')
    await pass(2)
    assert.equal(await store.topics.end('replies/demo/7'), 2, 'a reader comes back within the week')
    await publishAll(store, 'replies/demo/8', ['c'])
    for (const days of [3, 3, 2]) {
      await readGroup(store, 'read', 'g', 'peek')
      await pass(days)
    }
    await store.close()
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    const left = db.prepare('SELECT name FROM topic ORDER BY name').all()
    assert.deepEqual(
      left.map(({ name }) => name),
      ['gateway-message', 'read', 'replies/demo/8'],
    )
  })

  test('a copy made by VACUUM INTO opens, and compacting gives back what trimming left free', async (t) => {
    const [dir, copied] = [temporaryDir(t), temporaryDir(t)]
    const size = () => statSync(join(dir, 'trivium.db')).size
    await withStore(dir, async (store) => {
      await acceptAll(
        store,
        Array.from({ length: 2_000 }, () => 'x'.repeat(1_000)),
      )
      await store.journal.pumped(0, (await newest(store, 1))[0]?.id ?? '', [])
      while ((await store.trim({ journal: { maxAge: DAY, maxCount: 1 } })).removed > 0);
    })
    const { before, after } = compactDatabase(dir)
    assert.ok(before > 1_000_000 && after < before / 4 && after === size(), `${before} to ${after}`)
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    db.exec(`VACUUM INTO '${join(copied, 'trivium.db')}'`)
    for (const each of [dir, copied])
      await withStore(each, async (store) => assert.equal((await store.stats()).journal.messages, 1))
  })

  test('a file that is no database is an error, and does not keep the lock', async (t) => {
    const dir = temporaryDir(t)
    const { writeFile, rm } = await import('node:fs/promises')
    await writeFile(join(dir, 'trivium.db'), 'x'.repeat(10_000))
    await assert.rejects(openStore(dir), { code: 'store_unavailable' })
    await rm(join(dir, 'trivium.db'))
    await withStore(dir, (store) => store.ping())
  })

  test('claims and leases of the process before are free at once: it is dead', async (t) => {
    const dir = temporaryDir(t)
    let held: { token: number } | undefined
    await withStore(dir, async (store) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await claimOne(store, 'q')
      held = await store.leases.acquire('mailbox', 'old', 60_000)
    })
    await withStore(dir, async (store) => {
      const again = await claimOne(store, 'q')
      assert.deepEqual([again.id, again.lost], ['a', 1])
      assert.deepEqual(await claimIds(store, 'q'), [])
      const next = await store.leases.acquire('mailbox', 'new', 60_000)
      assert.ok(held && next && next.token > held.token)
    })
  })

  for (const at of ['start', 'trim'])
    test(`a ${at} finds a clock that had jumped ahead set back, and lets nothing wait until then`, async (t) => {
      const dir = temporaryDir(t)
      // Opened before the jump, so that only what was done meanwhile tells of it.
      let time = Date.now()
      let store = await openStore(dir, () => time)
      t.after(() => store.close())
      time += 3 * DAY
      await store.jobs.add('q', [job('retried', 'l'), job('lost', 'm')])
      const { items: jobs } = await claimJobs(store, 'q')
      const { id = '', token = '' } = jobs.find((one) => one.id === 'retried') ?? {}
      const error = failure('x', time)
      await store.jobs.settle('q', [{ id, token, outcome: 'retry', delay: MINUTE, error }])
      await acceptAll(store, ['a'])
      await store.receive.take({}, MINUTE)
      await store.topics.subscribe('t', 'g', 'now')
      await publishAll(store, 't', ['a'])
      await readGroup(store, 't', 'g', 'lease', { lease: MINUTE })
      if (at === 'start') await store.close()
      time -= 3 * DAY
      if (at === 'start') store = await openStore(dir, () => time)
      else await store.trim({ journal: { maxAge: DAY, maxCount: 9 } })
      assert.deepEqual(await claimIds(store, 'q'), at === 'start' ? ['lost'] : [])
      time += MINUTE
      assert.deepEqual((await claimIds(store, 'q')).sort(), ['lost', 'retried'])
      assert.ok(await store.receive.take({}))
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'consume')), ['a'])
    })

  test('the log does not grow without end under load', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, async (store) => {
      const text = 'x'.repeat(8_192)
      const sizeOf = (name: string) => statSync(join(dir, name)).size
      while (sizeOf('trivium.db') < 50_000_000) {
        await Promise.all(Array.from({ length: 32 }, () => acceptAll(store, [text])))
        assert.ok(sizeOf('trivium.db-wal') < 300_000_000, 'the log is not moved')
      }
    })
  })
})
