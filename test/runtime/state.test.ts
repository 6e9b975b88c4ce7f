import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createFileBackend, fileNameOf } from '../../src/runtime/state/backends.ts'
import fc from '../fixtures/fast-check.ts'
import { cleanup } from './support/cleanup.ts'
import { createFolder } from './support/folder.ts'
import { startRuntime } from './support/runtime.ts'
import { storeKinds } from './support/store.ts'

const STORES = ['file', 'memory', 'shared'] as const

for (const kind of storeKinds()) {
  describe(`state on the ${kind.kind} store`, () => {
    for (const store of STORES) {
      describe(`in ${store}`, () => {
        const start = async (t: TestContext) => {
          const { manager } = await startRuntime(t, { store: await kind.open(t, await kind.place(t)) })
          return (name: string, args: object) => manager.invoke(`state-${name}`, { ...args, store })
        }

        test('a value is set, overwritten with a higher version, read, and deleted', async (t) => {
          const invoke = await start(t)
          assert.equal(await invoke('get', { key: 'a' }), null)
          const first = Object(await invoke('set', { key: 'a', value: 1 }))
          const second = Object(await invoke('set', { key: 'a', value: [2] }))
          assert.ok(first.ok && second.ok && second.version > first.version)
          assert.deepEqual(await invoke('get', { key: 'a' }), [2])
          assert.deepEqual(await invoke('delete', { key: 'a' }), { ok: true, existed: true })
          assert.deepEqual(await invoke('delete', { key: 'a' }), { ok: true, existed: false })
          assert.equal(await invoke('get', { key: 'a' }), null)
        })

        test('ifVersion writes only if it is the current version, and returns the current one', async (t) => {
          const invoke = await start(t)
          const set = async (ifVersion: number) =>
            Object(await invoke('set', { key: 'a', value: 1, ifVersion }))
          const { ok, version } = await set(0)
          assert.ok(ok)
          assert.deepEqual(await set(0), { ok: false, version })
          assert.ok((await set(version)).version > version)
        })

        test('state-get returns the version that ifVersion takes', async (t) => {
          const invoke = await start(t)
          const read = () => invoke('get', { key: 'a', withVersion: true })
          assert.deepEqual(await read(), { value: null, version: 0 })
          const { version } = Object(await invoke('set', { key: 'a', value: 'x', ifVersion: 0 }))
          assert.deepEqual(await read(), { value: 'x', version })
        })

        test('state-list filters by prefix, sorted, and continues after a key', async (t) => {
          const invoke = await start(t)
          for (const key of ['b:2', 'a:1', 'b:1', 'B:1']) await invoke('set', { key, value: 1 })
          assert.deepEqual(await invoke('list', {}), ['B:1', 'a:1', 'b:1', 'b:2'])
          assert.deepEqual(await invoke('list', { prefix: 'b:' }), ['b:1', 'b:2'])
          assert.deepEqual(await invoke('list', { limit: 2, after: 'B:1' }), ['a:1', 'b:1'])
          assert.deepEqual(await invoke('list', { prefix: 'b:', after: 'b:2' }), [])
        })

        test('a write ends all waits of state-wait; a timeout returns null', async (t) => {
          const invoke = await start(t)
          assert.equal(await invoke('wait', { key: 'a', timeout: 20 }), null)
          const waiting = [1, 2].map(() => invoke('wait', { key: 'a', timeout: 30_000 }))
          await invoke('set', { key: 'other', value: 0 })
          await invoke('set', { key: 'a', value: { n: 1 } })
          assert.deepEqual(await Promise.all(waiting), [{ n: 1 }, { n: 1 }])
          assert.deepEqual(await invoke('wait', { key: 'a', timeout: 0 }), { n: 1 })
        })
      })
    }
  })
}

describe('state in files', () => {
  test('a value expires after its ttl, for get, list and ifVersion', async (t) => {
    let now = 1000
    const { manager } = await startRuntime(t, { now: () => now })
    for (const store of ['file', 'memory']) {
      now = 1000
      await manager.invoke('state-set', { key: 'a', value: 1, ttl: 500, store })
      now = 1499
      assert.equal(await manager.invoke('state-get', { key: 'a', store }), 1)
      now = 1500
      assert.equal(await manager.invoke('state-get', { key: 'a', store }), null)
      assert.deepEqual(await manager.invoke('state-list', { store }), [])
      const created = await manager.invoke('state-set', { key: 'a', value: 2, ifVersion: 0, store })
      assert.deepEqual(created, { ok: true, version: 1 })
    }
  })

  test('a sweep removes the files of expired values, and no others', async (t) => {
    let now = 1000
    const { manager, services, dataDir } = await startRuntime(t, { now: () => now })
    await manager.invoke('state-set', { key: 'brief', value: 1, ttl: 500 })
    await manager.invoke('state-set', { key: 'lasting', value: 1 })
    now = 2000
    await services.sweep()
    const files = (await readdir(join(dataDir, 'state'))).filter((name) => !name.startsWith('.'))
    assert.deepEqual(files, ['lasting.json'])
  })

  test('a write in another process wakes state-wait, and concurrent writers lose no increment', async (t) => {
    const dir = await createFolder(t)
    const backend = createFileBackend(dir, Date.now)
    cleanup(t, () => backend.close())
    const woken = new Promise<void>((resolve) => {
      const stop = backend.onChange('n', () => {
        stop()
        resolve()
      })
    })
    const children = [startIncrementer(dir, 25), startIncrementer(dir, 25)]
    cleanup(t, () => children.forEach((child) => void child.kill()))
    const exits = await Promise.all(children.map((child) => once(child, 'exit')))
    await woken
    assert.deepEqual(
      exits.map(([code]) => code),
      [0, 0],
    )
    assert.deepEqual(await backend.get('n'), { value: 50, version: 50 })
  })

  test('an unreadable file is an error that names it, and other keys still work', async (t) => {
    const { manager, dataDir } = await startRuntime(t)
    await manager.invoke('state-set', { key: 'good', value: 1 })
    await writeFile(join(dataDir, 'state/bad.json'), '{"schema_version": 1, "ke')
    await assert.rejects(manager.invoke('state-get', { key: 'bad' }), /bad\.json cannot be read/)
    await writeFile(join(dataDir, 'state/new.json'), '{"schema_version": 9}')
    await assert.rejects(manager.invoke('state-get', { key: 'new' }), /schema_version 9/)
    assert.deepEqual(await manager.invoke('state-list'), ['good'])
  })

  test('every key has a safe file name, unique even if case is ignored', () => {
    const key = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
      fc.constantFrom('../../etc/passwd', '.', '..', '__proto__', 'CON', 'a/b', 'A', 'a', ' '),
    )
    fc.assert(
      fc.property(key, key, (first, second) => {
        const name = fileNameOf(first)
        assert.match(name, /^[a-z0-9_%~-][a-z0-9._%~-]*\.json$/)
        assert.ok(Buffer.byteLength(name) < 200)
        assert.equal(fileNameOf(second).toLowerCase() === name.toLowerCase(), first === second)
      }),
    )
  })
})

function startIncrementer(dir: string, times: number): ChildProcess {
  const backend = fileURLToPath(new URL('../../src/runtime/state/backends.ts', import.meta.url))
  const script = `
    import { createFileBackend } from ${JSON.stringify(backend)}
    const backend = createFileBackend(${JSON.stringify(dir)}, Date.now)
    for (let done = 0; done < ${times}; ) {
      const current = await backend.get('n')
      const value = (current?.value ?? 0) + 1
      if (await backend.set('n', value, { ifVersion: current?.version ?? 0 })) done++
    }
    backend.close()`
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
}
