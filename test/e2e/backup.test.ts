import assert from 'node:assert/strict'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { create, extract } from 'tar'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const SITE = {
  routes: `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: bad, match: { text: "bad" }, skill: fail, retry: { attempts: 1 } }
  - { name: rest, skill: echo }
`,
  skills: { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` },
}
/** A key whose file name is too long for the plain header of a tar archive. */
const LONG_KEY = 'A key'.repeat(50)
const SENDERS = 8
/** Messages that are acknowledged before the backup begins. */
const MESSAGES_BEFORE = 1_500

/** The files of a site's data directory with their contents, without locks. */
function contentOf(site: Site): [string, string][] {
  const paths = globSync('.trivium/**', { cwd: site.dir })
    .filter((path) => !/lock/.test(path))
    .sort()
  return paths
    .filter((path) => statSync(join(site.dir, path)).isFile())
    .map((path) => [path, readFileSync(join(site.dir, path), 'latin1')])
}

/** The error code of a command. */
async function errorCodeOf(site: Site, args: string[], env?: Record<string, string>): Promise<string> {
  const { err } = await site.run([...args, '--json'], env)
  return JSON.parse(err).error.code
}

describe('trivium backup and restore', { timeout: 300_000 }, async () => {
  const site = openSite(SITE)
  const archive = join(site.dir, 'backup.tgz')
  const daemon = await site.start()
  await site.run(['message', 'cli', 'remember the milk'])
  await site.run(['message', 'cli', 'bad'])
  await daemon.invoke('state-set', { key: LONG_KEY, value: 1 })
  const topic = { topic: 'gateway-message', queue: 'audit' }
  await daemon.invoke('event-subscribe', { ...topic, replay: true })
  const read = async (from: typeof daemon) =>
    JSON.stringify(await from.invoke('event-wait', { ...topic, timeout: 9 }))
  // The group reads both messages of the command line before the backup.
  const readBefore = (await read(daemon)) + (await read(daemon))
  assert.match(readBefore, /remember the milk.*"bad"/s)
  const upload = { method: 'POST', headers: { authorization: `Bearer ${daemon.token}` }, body: 'a file' }
  const artifact = Object(await (await fetch(`${daemon.control}/v1/artifacts?name=x`, upload)).json()).result
  // A link to a folder, which could be on another disk.
  mkdirSync(join(site.dir, 'disk'))
  writeFileSync(join(site.dir, 'disk', '.far.json'), '{}')
  symlinkSync(join(site.dir, 'disk'), join(site.dir, '.trivium', 'linked'))

  const acknowledged: string[] = []
  let isOver = false
  const send = async () => {
    while (!isOver) {
      const { status, body } = await daemon.post(
        '/hooks/demo',
        JSON.stringify({ n: acknowledged.length, pad: 'x'.repeat(500) }),
      )
      assert.equal(status, 202)
      acknowledged.push(Object(body).id)
    }
  }
  const sending = Promise.all(Array.from({ length: SENDERS }, send))
  await until(() => acknowledged.length >= MESSAGES_BEFORE, 'messages before the backup', 180_000)
  const before = [...acknowledged]
  const umask = process.umask(0)
  const made = await site.run(['backup', archive, '--json'])
  process.umask(umask)
  const during = acknowledged.length - before.length
  isOver = true
  await sending

  test('a backup during load succeeds, and only its owner can read it', () => {
    assert.equal(made.code, 0, made.err)
    assert.equal(JSON.parse(made.out).bytes, statSync(archive).size)
    assert.equal(statSync(archive).mode & 0o777, 0o600)
    assert.ok(during > 0, 'messages during the backup')
    assert.deepEqual(globSync('{.trivium/,}*.tmp*', { cwd: site.dir }), [])
  })

  test('a restored site has all earlier messages once, and dead letters, group positions, documents and files', async () => {
    const there = openSite(SITE)
    const { code, err, out } = await there.run(['restore', archive, '--json'])
    assert.equal(code, 0, err)
    assert.equal(JSON.parse(out).files, JSON.parse(made.out).files)
    const next = await there.start()
    assert.notEqual(next.token, daemon.token)
    const ids: string[] = []
    let page: string[]
    do {
      const args = { gateway: 'demo', limit: 1000, ...(ids.length > 0 && { before: ids.at(-1) }) }
      page = Array.from(Object(await next.invoke('message-list', args)), (message) => Object(message).id)
      ids.push(...page)
    } while (page.length > 0)
    const counts = new Map<string, number>()
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
    assert.deepEqual(
      before.filter((id) => counts.get(id) !== 1),
      [],
    )
    assert.match((await there.run(['message', 'cli', 'recall milk'])).out, /the milk/)
    assert.equal(Object(await next.invoke('dead-letter-list')).length, 1)
    assert.match(JSON.stringify(await next.invoke('state-get', { key: LONG_KEY })), /1/)
    const readAfter = await read(next)
    assert.match(readAfter, /"n":0/, 'the group goes on with the first delivery')
    assert.doesNotMatch(readAfter, /remember the milk|"bad"/)
    assert.equal(readFileSync(join(there.dir, '.trivium', artifact.path), 'utf8'), 'a file')
    assert.ok(statSync(join(there.dir, '.trivium', 'linked', '.far.json')).isFile())
    assert.equal(await next.end(), 0)
  })

  test('a truncated, changed or newer archive is refused before the data are changed', async () => {
    const there = openSite(SITE)
    await there.run(['message', 'cli', 'remember the bread'])
    const old = contentOf(there)
    const whole = readFileSync(archive)
    // A single changed bit may have no effect, as in a run of zeros.
    const changed = Buffer.from(whole).fill(0x55, whole.length >> 1, (whole.length >> 1) + 64)
    const bad = join(there.dir, 'bad.tgz')
    for (const content of [
      whole.subarray(0, whole.length >> 1),
      whole.subarray(0, -9),
      changed,
      Buffer.from('no archive'),
    ]) {
      writeFileSync(bad, content)
      assert.equal(await errorCodeOf(there, ['restore', bad, '--force']), 'backup_unreadable')
      assert.deepEqual(contentOf(there), old)
    }
    const newer = openSite(SITE)
    await newer.run(['message', 'cli', 'hello'])
    using db = new DatabaseSync(join(newer.dir, '.trivium', 'trivium.db'))
    db.exec('PRAGMA user_version = 99')
    assert.equal((await newer.run(['backup', bad])).code, 0)
    assert.equal(await errorCodeOf(there, ['restore', bad, '--force']), 'store_version')
    assert.deepEqual(contentOf(there), old)
  })

  test('a hostile archive cannot restore a control token, locks or file modes', async () => {
    const folder = join(site.dir, 'evil')
    mkdirSync(folder)
    await extract({ file: archive, cwd: folder })
    const data = join(folder, 'data')
    for (const name of ['control-token', 'trivium.lock', 'search.db', 'before-restore-x'])
      writeFileSync(join(data, name), 'evil')
    // Folders with the names of such files would break the daemon or the restore.
    for (const name of ['daemon.json', 'backup.lock', 'artifacts/incoming']) {
      mkdirSync(join(data, name), { recursive: true })
      writeFileSync(join(data, name, 'inside'), 'evil')
    }
    mkdirSync(join(data, 'open'), { mode: 0o777 })
    writeFileSync(join(data, 'open', 'tool'), '#!/bin/sh')
    chmodSync(join(data, 'open', 'tool'), 0o4777)
    chmodSync(join(data, 'open'), 0o777)
    // Of the new files, the restore accepts only `open/tool`: more would not match this count.
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, files: manifest.files + 1 }))
    const evil = join(site.dir, 'evil.tgz')
    await create({ file: evil, cwd: folder, gzip: true }, ['data', 'manifest.json'])

    const there = openSite(SITE)
    assert.equal((await there.run(['restore', evil])).code, 0)
    assert.equal(existsSync(join(there.dir, '.trivium', 'daemon.json')), false)
    const restored = join(there.dir, '.trivium')
    const modes = readdirSync(restored, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path, entry.isDirectory(), statSync(path).mode & 0o7777] as const
    })
    for (const [path, isFolder, mode] of modes) assert.equal(mode, isFolder ? 0o700 : 0o600, path)
    const contents = contentOf(there)
    assert.ok(contents.some(([path]) => path.endsWith('open/tool')))
    assert.deepEqual(
      contents.filter(([, text]) => text === 'evil'),
      [],
    )
  })

  test('a data directory that is not empty is kept, or moved aside with --force', async () => {
    const there = openSite(SITE)
    await there.run(['message', 'cli', 'remember the bread'])
    assert.equal(await errorCodeOf(there, ['restore', archive]), 'backup_refused')
    assert.match((await there.run(['message', 'cli', 'recall bread'])).out, /the bread/)
    const { aside } = JSON.parse((await there.run(['restore', archive, '--force', '--json'])).out)
    assert.match(readFileSync(join(aside, 'state.json'), 'utf8'), /the bread/)
    assert.match((await there.run(['message', 'cli', 'recall milk'])).out, /the milk/)
  })

  test('errors in routes.yaml are a warning for a backup, unless they may be about the store', async () => {
    const there = openSite(SITE)
    await there.run(['message', 'cli', 'remember the bread'])
    const file = join(there.dir, 'routes.yaml')
    const copy = join(there.dir, 'copy.tgz')
    writeFileSync(file, SITE.routes.replace('skill: echo', 'skil: echo'))
    for (const args of [
      ['backup', copy],
      ['restore', '--check', copy],
    ]) {
      const { code, err } = await there.run(args)
      assert.equal(code, 0, err)
      assert.match(err, /unknown key "skil"/)
    }
    for (const wrong of ['demon: { data-dir: other }', 'daemon: { data-dir: 7 }']) {
      writeFileSync(file, `${SITE.routes}${wrong}\n`)
      assert.equal(await errorCodeOf(there, ['backup', copy]), 'config_invalid')
    }
  })

  test('commands fail with a code for a running daemon, Redis, an unwritable path and a missing store', async () => {
    assert.equal(await errorCodeOf(site, ['restore', archive, '--force']), 'store_locked')
    assert.equal(await errorCodeOf(site, ['compact']), 'store_locked')
    const onRedis = { REDIS_URL: 'redis://127.0.0.1:1' }
    assert.equal(await errorCodeOf(site, ['backup', archive], onRedis), 'store_unavailable')
    assert.equal(await errorCodeOf(site, ['compact'], onRedis), 'usage')
    assert.equal(await errorCodeOf(site, ['backup', join(site.dir, 'none', 'x')]), 'state_unwritable')
    assert.equal(await errorCodeOf(openSite(SITE), ['backup', archive]), 'backup_refused')
    assert.equal(await daemon.end(), 0)
  })
})

test('backup copies a log to which lines are appended meanwhile', async () => {
  const site = openSite(SITE)
  await site.run(['message', 'cli', 'remember the milk'])
  const log = join(site.dir, '.trivium', 'events.jsonl')
  writeFileSync(log, `${JSON.stringify({ text: 'x'.repeat(1_000) })}\n`.repeat(40_000))
  let isOver = false
  const grow = async () => {
    while (!isOver) {
      appendFileSync(log, '{"a":1}\n')
      await setImmediate()
    }
  }
  const growing = grow()
  const { code, err } = await site.run(['backup', join(site.dir, 'backup.tgz')])
  isOver = true
  await growing
  assert.equal(code, 0, err)
})
