import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, globSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'

const SITE = {
  routes: `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
`,
}
const MESSAGES = 3

/** A site whose daemon has some messages, and a backup of it. */
async function backedUp(env: Record<string, string>) {
  const site = openSite({ ...SITE, env })
  const daemon = await site.start()
  for (let n = 0; n < MESSAGES; n++) await daemon.post('/hooks/demo', JSON.stringify({ n }))
  await daemon.invoke('state-set', { key: 'k', value: 1 })
  const archive = join(site.dir, 'backup.tgz')
  const { code, err } = await site.run(['backup', archive])
  assert.equal(code, 0, err)
  return { site, daemon, archive }
}

/** Overwrites the first page of an index of the database, as a bad disk might. */
function damageIndex(path: string): void {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const size = Number(db.prepare('PRAGMA page_size').get()?.page_size)
  const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'journal_gateway'").get()
  db.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(size, 0xff), 0, size, (Number(page?.rootpage) - 1) * size)
  closeSync(file)
}

/** Checks an archive. Returns the exit code with the fields of the result or the error. */
async function checked(site: Site, archive: string) {
  const { code, out, err } = await site.run(['restore', '--check', archive, '--json'])
  return { code, ...JSON.parse(out || err) }
}

describe('trivium restore --check', { timeout: 300_000 }, async () => {
  const [redis, cluster] = await Promise.all([startRedisServer(), startRedisCluster()])
  after(() => Promise.all([redis.stop(), cluster.stop()]))
  const stores = {
    embedded: {},
    Redis: { REDIS_URL: redis.url },
    'a Redis Cluster': { REDIS_URL: cluster.url },
  }

  for (const [name, env] of Object.entries(stores)) {
    test(`counts the messages of an archive beside a running daemon, with the store: ${name}`, async () => {
      const { site, daemon, archive } = await backedUp(env)
      await daemon.post('/hooks/demo', '{"later":true}')
      const { code, messages, newestAt, store, at } = await checked(site, archive)
      assert.deepEqual([code, messages, store], [0, MESSAGES, name === 'embedded' ? 'embedded' : 'redis'])
      assert.ok(newestAt < at && Date.parse(at) - Date.parse(newestAt) < 60_000, newestAt)
      assert.deepEqual(globSync('.trivium/*{check.tmp,before-restore}*', { cwd: site.dir }), [])
      assert.match((await site.run(['restore', '--check', archive])).out, / can be restored: .* 3 messages, /)
      const { stats } = Object(Object(await daemon.get('/v1/status')).result)
      assert.equal(stats.journal.messages, MESSAGES + 1)
      assert.equal(await daemon.end(), 0)
    })
  }

  test('needs no Redis for an archive of Redis, and counts only the messages of its prefix', async () => {
    await backedUp({ REDIS_URL: redis.url })
    const { archive } = await backedUp({ REDIS_URL: redis.url, TRIVIUM_REDIS_PREFIX: 'trivium-2' })
    const checkWith = (TRIVIUM_REDIS_PREFIX: string) =>
      checked(openSite({ ...SITE, env: { TRIVIUM_REDIS_PREFIX } }), archive)
    assert.equal((await checkWith('trivium-2')).messages, MESSAGES)
    assert.ok((await checkWith('trivium')).messages >= MESSAGES, 'other tests have the same prefix')
    assert.equal((await checkWith('triv')).error.code, 'backup_refused')
  })

  test('fails for a truncated archive, a damaged database, and one of a newer Trivium', async () => {
    const { site, daemon, archive } = await backedUp({})
    const bad = join(site.dir, 'bad.tgz')
    writeFileSync(bad, readFileSync(archive).subarray(0, -9))
    const { code, error } = await checked(site, bad)
    assert.deepEqual([code, error.code], [2, 'backup_unreadable'])
    assert.equal(await daemon.end(), 0)

    damageIndex(join(site.dir, '.trivium', 'trivium.db'))
    assert.equal((await site.run(['backup', bad])).code, 0)
    assert.equal((await checked(site, bad)).error.code, 'backup_unreadable')

    const newer = openSite(SITE)
    await newer.run(['message', 'cli', 'hello'])
    using store = new DatabaseSync(join(newer.dir, '.trivium', 'trivium.db'))
    store.exec('PRAGMA user_version = 99')
    assert.equal((await newer.run(['backup', bad])).code, 0)
    assert.equal((await checked(site, bad)).error.code, 'store_version')
  })

  test('an archive can be written to stdout, and read from stdin', async () => {
    const { site, daemon } = await backedUp({})
    const bin = await bundledCommand()
    const run = (args: string[], input?: Buffer) => {
      const env = { PATH: process.env.PATH ?? '' }
      return spawnSync(process.execPath, [bin, ...args], {
        cwd: site.dir,
        env,
        maxBuffer: 1e9,
        ...(input && { input }),
      })
    }
    const made = run(['backup', '-'])
    assert.equal(made.status, 0, String(made.stderr))
    assert.match(String(made.stderr), /^\d+ files, .* as of /)
    const check = run(['restore', '--check', '-'], made.stdout)
    assert.match(String(check.stdout), /^the archive can be restored: .* 3 messages/)
    assert.equal(await daemon.end(), 0)
    const restored = run(['--data-dir', 'other', 'restore', '-'], made.stdout)
    assert.equal(restored.status, 0, String(restored.stderr))
    assert.match(String(run(['--data-dir', 'other', 'message', 'list', '--json']).stdout), /"demo"/)
    assert.equal(run(['restore', '--check', '-'], made.stdout.subarray(0, -9)).status, 2)
  })
})
