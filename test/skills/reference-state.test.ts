import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'
import { storeKinds } from './support/store.ts'

// The reference, "State", statement by statement; `shared` is beyond it.

for (const kind of storeKinds()) {
  for (const store of ['file', 'memory', 'shared']) {
    describe(`state in ${store} on the ${kind.kind} store`, () => {
      const start = async (t: Parameters<typeof startRuntime>[0]) => {
        const { manager } = await startRuntime(t, { store: await kind.open(t, await kind.place(t)) })
        return (skill: string, args: object) => manager.invoke(skill, { ...args, store })
      }

      test('all skills accept an optional store argument to choose the backend', async (t) => {
        const invoke = await start(t)
        await invoke('state-set', { key: 'a', value: 1 })
        assert.equal(await invoke('state-get', { key: 'a' }), 1)
        assert.equal(await invoke('state-wait', { key: 'a' }), 1)
        assert.deepEqual(await invoke('state-list', {}), ['a'])
        assert.deepEqual(await invoke('state-delete', { key: 'a' }), { ok: true, existed: true })
      })

      test('state-get reads a value by key, and returns null if not found', async (t) => {
        const invoke = await start(t)
        assert.equal(await invoke('state-get', { key: 'none' }), null)
      })

      test('state-set overwrites existing', async (t) => {
        const invoke = await start(t)
        for (const value of [{ theme: 'dark' }, 'light']) await invoke('state-set', { key: 'a', value })
        assert.equal(await invoke('state-get', { key: 'a' }), 'light')
      })

      test('state-set notifies state-wait listeners on write, all of them', async (t) => {
        const invoke = await start(t)
        const waiting = [1, 2, 3].map(() => invoke('state-wait', { key: 'job', timeout: 30000 }))
        await invoke('state-set', { key: 'other', value: 0 })
        await invoke('state-set', { key: 'job', value: 'done' })
        assert.deepEqual(await Promise.all(waiting), ['done', 'done', 'done'])
      })

      test('state-delete returns { ok, existed }', async (t) => {
        const invoke = await start(t)
        assert.deepEqual(await invoke('state-delete', { key: 'none' }), { ok: true, existed: false })
      })

      test('state-list lists all keys, optionally filtered by prefix', async (t) => {
        const invoke = await start(t)
        for (const key of ['user:bob', 'user:alice:prefs', 'job:1'])
          await invoke('state-set', { key, value: 1 })
        assert.deepEqual(await invoke('state-list', {}), ['job:1', 'user:alice:prefs', 'user:bob'])
        assert.deepEqual(await invoke('state-list', { prefix: 'user:alice:' }), ['user:alice:prefs'])
      })

      test('state-wait returns immediately if already set, otherwise waits up to timeout ms', async (t) => {
        const invoke = await start(t)
        await invoke('state-set', { key: 'set', value: 1 })
        assert.equal(await invoke('state-wait', { key: 'set', timeout: 0 }), 1)
        const began = Date.now()
        assert.equal(await invoke('state-wait', { key: 'unset', timeout: 50 }), null)
        assert.ok(Date.now() - began >= 45)
      })
    })
  }

  test(`one skill sets a key, another waits for it, on the ${kind.kind} store`, async (t) => {
    const waiter = skillOf(({ manager }) => manager.invoke('state-wait', { key: 'job:123:done' }), {
      name: 'waiter',
    })
    const setter = skillOf(
      ({ manager }) => manager.invoke('state-set', { key: 'job:123:done', value: 'yes' }),
      {
        name: 'setter',
      },
    )
    const { manager } = await startRuntime(t, {
      store: await kind.open(t, await kind.place(t)),
      skills: [waiter, setter],
    })
    const waiting = manager.invoke('waiter')
    await manager.invoke('setter')
    assert.equal(await waiting, 'yes')
  })
}

describe('the backends of state', () => {
  test('file is the default, and persists as JSON files across process restarts', async (t) => {
    const before = await startRuntime(t)
    await before.manager.invoke('state-set', { key: 'user:alice:prefs', value: { theme: 'dark' } })
    const folder = join(before.dataDir, 'state')
    const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    assert.deepEqual(JSON.parse(await readFile(join(folder, file), 'utf8')).value, { theme: 'dark' })
    await before.manager.close()
    before.services.close()
    const { manager } = await startRuntime(t, { dataDir: before.dataDir })
    assert.deepEqual(await manager.invoke('state-get', { key: 'user:alice:prefs' }), { theme: 'dark' })
  })

  test('memory is a process-lifetime Map on globals, and lost on exit', async (t) => {
    const look = skillOf(({ globals }) => globals.state)
    const { manager, dataDir } = await startRuntime(t, { skills: [look] })
    await manager.invoke('state-set', { key: 'counter', value: 42, store: 'memory' })
    const map = await manager.invoke('subject')
    assert.ok(map instanceof Map)
    assert.equal(map.get('counter').value, 42)
    const later = await startRuntime(t, { dataDir })
    assert.equal(await later.manager.invoke('state-get', { key: 'counter', store: 'memory' }), null)
  })

  test('state-wait waits 60000 ms by default', async (t) => {
    const { manager } = await startRuntime(t)
    const { properties } = manager.describe('state-wait').args
    assert.equal(pathGet(properties, 'timeout.default'), 60_000)
    assert.equal(pathGet(properties, 'store.default'), 'file')
  })
})
