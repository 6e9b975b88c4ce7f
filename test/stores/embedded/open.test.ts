import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { Store } from '../../../src/core/store.ts'
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
  publishAll,
  pumpAll,
  readGroup,
} from '../../contract/store/kit.ts'
import { openStore, temporaryDir, withStore } from './kit.ts'

/** A program that opens the store, prints a line and keeps running. */
const HOLDER = `
  import { openStore } from '${import.meta.resolve('./kit.ts')}'
  const store = await openStore(process.argv[1])
  console.log(await store.kv.set('k', 1))
  setInterval(() => {}, 60_000)`

/** Undoes all upgrades, from the newest to the first. */
const DOWNGRADE = `
  DROP TABLE erased;
  ALTER TABLE dead DROP COLUMN first_run;
  ALTER TABLE job DROP COLUMN first_run;
  DROP INDEX topic_emptied;
  ALTER TABLE topic DROP COLUMN emptied;
  DROP INDEX topic_oldest;
  ALTER TABLE topic DROP COLUMN oldest;
  DROP TABLE key_batch;
  CREATE TABLE key_tail (n INTEGER PRIMARY KEY, hash BLOB NOT NULL, id BLOB NOT NULL);
  DROP TABLE conversation_taken;
  ALTER TABLE gateway DROP COLUMN taken;
  DROP INDEX journal_conversation;
  CREATE INDEX journal_conversation ON journal (conversation) WHERE conversation IS NOT NULL;
  DROP TABLE taken_ahead;
  DROP TABLE redelivered;
  ALTER TABLE consumer DROP COLUMN round;
  ALTER TABLE pending DROP COLUMN deliveries;
  ALTER TABLE consumer DROP COLUMN used;
  PRAGMA user_version = 1`

/** Trims until nothing more is removed, as the daemon does every minute. */
async function trimAll(store: Store, maxAge = DAY): Promise<void> {
  while ((await store.trim({ journal: { maxAge, maxCount: 9 } })).removed > 0);
}

describe('opening the embedded store', () => {
  test('creates the directory, even with spaces and quotes in its name', async (t) => {
    const dir = temporaryDir(t)
    const odd = join(dir, "it's a %20 ?mode=ro# dir", 'deep')
    await withStore(odd, async (store) => {
      await acceptAll(store, ['a'])
      assert.equal(store.address, join(odd, 'trivium.db'))
    })
    assert.ok(existsSync(join(odd, 'trivium.db')))
  })

  test('only the owner can read its files, even in a folder that others can read', async (t) => {
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

  test('a second process is refused, and SIGKILL releases the lock immediately', async (t) => {
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

  test('refuses a database of a newer Trivium', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, (store) => store.ping())
    const db = new DatabaseSync(join(dir, 'trivium.db'))
    db.exec('PRAGMA user_version = 99')
    db.close()
    await assert.rejects(openStore(dir), {
      code: 'store_version',
      message: /version 99; this Trivium knows up to 8/,
    })
  })

  test('upgrades a database of the first version', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, async (store) => {
      await acceptAll(store, ['a'])
      await store.topics.subscribe('t', 'g', 'now')
    })
    const db = new DatabaseSync(join(dir, 'trivium.db'))
    db.exec(DOWNGRADE)
    db.close()
    await withStore(dir, async (store) => {
      await trimAll(store)
      assert.equal((await store.topics.groups()).length, 1)
      assert.equal((await store.stats()).journal.messages, 1)
    })
  })

  test('a copy is consistent, and completes while another connection writes', async (t) => {
    const [dir, target] = [temporaryDir(t), temporaryDir(t)]
    await withStore(dir, async (store) => {
      await acceptAll(store, Array<string>(2_000).fill('x'.repeat(4_000)))
      using db = new DatabaseSync(join(dir, 'trivium.db'))
      db.exec('CREATE TABLE later (n)')
      let steps = 0
      await copyDatabase(dir, join(target, 'trivium.db'), () => {
        steps++
        if (steps < 50) db.exec('INSERT INTO later VALUES (1)')
      })
      assert.ok(steps > 3 && steps < 50, `${steps} steps`)
      using copy = new DatabaseSync(join(target, 'trivium.db'))
      assert.equal(copy.prepare('SELECT count(*) AS n FROM later').get()?.n, 0)
    })
  })

  test('trimming removes many expired keys', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    const names = Array.from({ length: 1_200 }, (_, n) => `name ${n}`)
    await Promise.all(names.map((name) => store.kv.set(name, 1, { ttl: 1_000 })))
    now += 2_000
    await trimAll(store)
    await store.close()
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    assert.equal(db.prepare('SELECT count(*) AS n FROM kv').get()?.n, 0)
  })

  test('a trim does not read all messages of a long lane', async (t) => {
    await withStore(temporaryDir(t), async (store) => {
      /** Accepts 10,000 messages and pumps them, with jobs in `lane`. */
      const add = async (lane?: string) => {
        await acceptAll(store, Array<string>(10_000).fill('x'))
        for (;;) {
          const { cursor, items: messages } = await store.journal.unpumped(10_000)
          if (messages.length === 0) return
          const jobs = lane ? messages.map(({ id }) => job(id, lane, { messageId: id })) : []
          await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
        }
      }
      for (let part = 0; part < 10; part++) await add('stuck')
      await add()
      /**
       * How much several calls removed, and the processor time of the fastest one in ms; the first
       * may take longer.
       */
      const trim = async (maxCount: number, calls: number) => {
        let total = 0
        let fastest = Number.POSITIVE_INFINITY
        for (let call = 0; call < calls; call++) {
          const began = process.cpuUsage()
          total += (await store.trim({ journal: { maxAge: DAY, maxCount } })).removed
          fastest = Math.min(fastest, process.cpuUsage(began).user / 1000)
        }
        return { total, fastest }
      }
      const moreThanAll = 1_000_000
      const nothing = await trim(moreThanAll, 20)
      assert.equal(nothing.total, 0)
      assert.ok(nothing.fastest < 10, `${nothing.fastest} ms for nothing`)
      // Of 110,000 messages, 500 per call are removed.
      const some = await trim(105_000, 6)
      assert.equal(some.total, 3_000)
      assert.ok(some.fastest < 30, `${some.fastest} ms for 500`)
    })
  })

  test('trimming removes expired events from thousands of topics', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    for (let minute = 0; minute < 30; minute++) {
      const topics = Array.from({ length: 600 }, (_, n) => `replies/demo/${minute}-${n}`)
      await Promise.all(topics.map((topic) => publishAll(store, topic, ['a'])))
      await publishAll(store, 'replies/demo/0-7', ['b'])
      now += MINUTE
      await trimAll(store, 5 * MINUTE)
    }
    await store.close()
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    const perMinute = 601
    assert.equal(db.prepare('SELECT count(*) AS n FROM event').get()?.n, 5 * perMinute)
  })

  test('a topic is removed a week after its last event, unless it has a group', async (t) => {
    const dir = temporaryDir(t)
    let now = Date.now()
    const store = await openStore(dir, () => now)
    const pass = async (days: number) => {
      now += days * DAY
      await trimAll(store)
    }
    const topics = Array.from({ length: 1_200 }, (_, n) => `replies/demo/${n}`)
    await Promise.all(topics.map((topic) => publishAll(store, topic, ['a', 'b'])))
    await publishAll(store, 'read', ['a'])
    await store.topics.subscribe('read', 'g', 'now')
    await pass(2)
    assert.equal(await store.topics.end('replies/demo/7'), 2, 'the topic still exists')
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

  test('compacting frees the space of trimmed messages', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, async (store) => {
      await acceptAll(store, Array<string>(2_000).fill('x'.repeat(1_000)))
      await pumpAll(store)
      while ((await store.trim({ journal: { maxAge: DAY, maxCount: 1 } })).removed > 0);
    })
    const { before, after } = compactDatabase(dir)
    assert.ok(before > 1_000_000 && after < before / 4, `${before} to ${after} bytes`)
    assert.equal(after, statSync(join(dir, 'trivium.db')).size)
    await withStore(dir, async (store) => assert.equal((await store.stats()).journal.messages, 1))
  })

  test('opens a copy made by VACUUM INTO', async (t) => {
    const [dir, copied] = [temporaryDir(t), temporaryDir(t)]
    await withStore(dir, async (store) => void (await acceptAll(store, ['a'])))
    using db = new DatabaseSync(join(dir, 'trivium.db'))
    db.exec(`VACUUM INTO '${join(copied, 'trivium.db')}'`)
    await withStore(copied, async (store) => assert.equal((await store.stats()).journal.messages, 1))
  })

  test('refuses a file that is not a database, and releases the lock', async (t) => {
    const dir = temporaryDir(t)
    writeFileSync(join(dir, 'trivium.db'), 'x'.repeat(10_000))
    await assert.rejects(openStore(dir), { code: 'store_unavailable' })
    rmSync(join(dir, 'trivium.db'))
    await withStore(dir, (store) => store.ping())
  })

  test('claims and leases of the previous process end immediately', async (t) => {
    const dir = temporaryDir(t)
    let old: { token: number } | undefined
    await withStore(dir, async (store) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await claimOne(store, 'q')
      old = await store.leases.acquire('mailbox', 'old', 60_000)
    })
    await withStore(dir, async (store) => {
      const { id, lost } = await claimOne(store, 'q')
      assert.deepEqual([id, lost], ['a', 1])
      assert.deepEqual(await claimIds(store, 'q'), [])
      const next = await store.leases.acquire('mailbox', 'new', 60_000)
      assert.ok(old && next && next.token > old.token)
    })
  })

  for (const corrector of ['start', 'trim'])
    test(`a ${corrector} corrects times that were stored while the clock was days ahead`, async (t) => {
      const dir = temporaryDir(t)
      // Opened before the jump, so that only the stored times reveal it.
      let time = Date.now()
      let store = await openStore(dir, () => time)
      t.after(() => store.close())
      time += 3 * DAY
      await store.jobs.add('q', [job('retried', 'l'), job('claimed', 'm')])
      const { items: jobs } = await claimJobs(store, 'q')
      const { id = '', token = '' } = jobs.find((each) => each.id === 'retried') ?? {}
      const error = failure('x', time)
      await store.jobs.settle('q', [{ id, token, outcome: 'retry', delay: MINUTE, error }])
      await acceptAll(store, ['a'])
      await store.receive.take({}, MINUTE)
      await store.topics.subscribe('t', 'g', 'now')
      await publishAll(store, 't', ['a'])
      await readGroup(store, 't', 'g', 'lease', { lease: MINUTE })
      if (corrector === 'start') {
        await store.close()
        time -= 3 * DAY
        store = await openStore(dir, () => time)
        assert.deepEqual(await claimIds(store, 'q'), ['claimed'], 'a start ends all claims')
      } else {
        time -= 3 * DAY
        await store.trim({ journal: { maxAge: DAY, maxCount: 9 } })
        assert.deepEqual(await claimIds(store, 'q'), [])
      }
      time += MINUTE
      assert.deepEqual((await claimIds(store, 'q')).sort(), ['claimed', 'retried'])
      assert.ok(await store.receive.take({}))
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'consume')), ['a'])
    })

  test('the write-ahead log stays bounded under load', async (t) => {
    const dir = temporaryDir(t)
    await withStore(dir, async (store) => {
      const text = 'x'.repeat(8_192)
      const sizeOf = (name: string) => statSync(join(dir, name)).size
      // If the log were never copied, the database would not grow, and the log would.
      while (sizeOf('trivium.db') < 50_000_000) {
        await Promise.all(Array.from({ length: 32 }, () => acceptAll(store, [text])))
        assert.ok(sizeOf('trivium.db-wal') < 300_000_000, 'the log is copied into the database')
      }
    })
  })
})
