import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type Config, loadConfig } from '../../src/config/load-config.ts'
import { watchConfig } from '../../src/config/watch-config.ts'
import type { TriviumError } from '../../src/core/errors.ts'
import { givenFile, transports } from './given.ts'

const level = (name: string) => `daemon: { log-level: ${name} }\n`

describe('watching the configuration', () => {
  test('a saved change is told as a new frozen configuration', async (t) => {
    const { cwd, next, watcher } = await watching(t)
    await writeFile(join(cwd, 'routes.yaml'), level('warn'))
    const told = await next()
    assert.equal(told, 'warn')
    assert.equal(watcher.current().daemon.logLevel, 'warn')
    assert.ok(Object.isFrozen(watcher.current().daemon))
  })

  test('a file that an editor replaces is seen, again and again', async (t) => {
    const { cwd, next } = await watching(t)
    for (const name of ['warn', 'error', 'debug']) {
      await writeFile(join(cwd, '.routes.yaml.swp'), level(name))
      await rename(join(cwd, '.routes.yaml.swp'), join(cwd, 'routes.yaml'))
      assert.equal(await next(), name)
    }
  })

  test('a link that is swapped, as Kubernetes does with a ConfigMap, is seen', async (t) => {
    const { cwd, next } = await watching(t, async (folder) => {
      await writeFile(join(folder, '..one'), level('info'))
      await writeFile(join(folder, '..two'), level('warn'))
      await symlink('..one', join(folder, '..data'))
      await unlink(join(folder, 'routes.yaml'))
      await symlink('..data', join(folder, 'routes.yaml'))
    })
    await symlink('..two', join(cwd, '..tmp'))
    await rename(join(cwd, '..tmp'), join(cwd, '..data'))
    assert.equal(await next(), 'warn')
  })

  test('a bad file keeps the last good configuration and says why, until it is good again', async (t) => {
    const { cwd, next, watcher } = await watching(t)
    await writeFile(join(cwd, 'routes.yaml'), level('loud'))
    assert.match(await next(), /^routes\.yaml:1:22 {2}expected one of /)
    assert.equal(watcher.current().daemon.logLevel, 'info')
    await rm(join(cwd, 'routes.yaml'))
    assert.match(await next(), /there is no such file/)
    assert.equal(watcher.current().daemon.logLevel, 'info')
    assert.equal((await watcher.reload()).daemon.logLevel, 'info')
    assert.match(await next(), /there is no such file/)
    await writeFile(join(cwd, 'routes.yaml'), level('warn'))
    assert.equal(await next(), 'warn')
  })

  test('a change of .env is a change', async (t) => {
    const { cwd, next } = await watching(t)
    await writeFile(join(cwd, '.env'), 'TRIVIUM_LOG_LEVEL=fatal\n')
    assert.equal(await next(), 'fatal')
  })

  test('saves in quick succession are one reload, other files none, and a reload on demand always is one', async (t) => {
    const { cwd, next, told, watcher } = await watching(t)
    // In one turn: on a busy machine there may be a second between two turns, and saves so far apart are two reloads.
    writeFileSync(join(cwd, 'routes.yaml'), level('info'))
    writeFileSync(join(cwd, 'other.yaml'), level('warn'))
    writeFileSync(join(cwd, 'routes.yaml'), level('error'))
    assert.equal(await next(), 'error')
    assert.deepEqual(told, ['error'])
    assert.equal((await watcher.reload()).daemon.logLevel, 'error')
    assert.deepEqual(told, ['error', 'error'])
  })

  test('what the receiver refuses is told, and the configuration before it stays', async (t) => {
    const { cwd, next, watcher } = await watching(t, undefined, (config) => {
      if (config.daemon.logLevel === 'warn') throw new Error('the port is taken')
    })
    await writeFile(join(cwd, 'routes.yaml'), level('warn'))
    assert.match(await next(), /the port is taken/)
    assert.equal(watcher.current().daemon.logLevel, 'info')
  })

  test('reloads run one after the other', async (t) => {
    let running = 0
    let most = 0
    const { watcher } = await watching(t, undefined, async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
    })
    await Promise.all(Array.from({ length: 10 }, () => watcher.reload()))
    assert.equal(most, 1)
  })

  test('after close nothing is told, and a reload changes nothing', async (t) => {
    const { cwd, told, watcher } = await watching(t)
    await watcher.close()
    await writeFile(join(cwd, 'routes.yaml'), level('warn'))
    assert.equal((await watcher.reload()).daemon.logLevel, 'info')
    assert.deepEqual(told, [])
  })
})

/** A watched folder; `next` waits for the next thing told: a log level, or the message of an error. */
async function watching(
  t: TestContext,
  prepare: (cwd: string) => Promise<void> = async () => {},
  refuse: (config: Config) => void | Promise<void> = () => {},
) {
  const cwd = await givenFile(t, level('info'))
  await prepare(cwd)
  const load = () => ({ env: {}, cwd, transports })
  const told: string[] = []
  let taken = 0
  let wake = () => {}
  const tell = (what: string) => {
    told.push(what)
    wake()
  }
  const watcher = await watchConfig({
    initial: await loadConfig(load()),
    load,
    debounce: 20,
    async onChange(config) {
      await refuse(config)
      tell(config.daemon.logLevel)
    },
    onError: (error: TriviumError) => tell(error.message),
  })
  t.after(() => watcher.close())
  const next = async (): Promise<string> => {
    while (told.length <= taken) await new Promise<void>((resolve) => (wake = resolve))
    return told[taken++] ?? ''
  }
  return { cwd, next, told, watcher }
}
