import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createFolder, writeIn } from './support/folder.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

const remember = { name: 'remember', prefixes: ['remember', 'note:'], ref: 'subject' }

async function start(t: TestContext, entries: unknown) {
  const text = typeof entries === 'string' ? entries : JSON.stringify(entries)
  const folder = await createFolder(t, { 'skills.json': text })
  const runtime = await startRuntime(t, {
    skills: [skillOf((ctx) => ctx.args)],
    manager: { folders: [folder] },
  })
  return { ...runtime, folder }
}

describe('skills.json', () => {
  test('a new entry is a skill with routes where people talk, without code', async (t) => {
    const strict = { ...remember, name: 'strict', verified: true, approval: true }
    const { manager, folder } = await start(t, [remember, strict])
    const route = { prefix: ['remember', 'note:'] }
    for (const chat of ['cli', 'slack', 'websocket']) {
      assert.deepEqual(manager.get('remember')?.metadata?.[chat], { route })
      assert.deepEqual(manager.get('strict')?.metadata?.[chat], { route: { ...route, verified: true } })
    }
    // Mail reaches everybody, and who sends a webhook reads no answers unless it waits for them.
    const { email, webhook } = manager.get('remember')?.metadata ?? {}
    assert.deepEqual(email, { route: { ...route, 'data.allowed': true, automatic: false } })
    assert.deepEqual(webhook, { route: { ...route, 'data.respond': 'result', verified: true } })
    const { kind, path, layers } = manager.describe('strict')
    assert.deepEqual([kind, path, layers[0]?.name], ['prefix', join(folder, 'skills.json'), 'approval'])
  })

  test('hands what follows the prefix to its skill, with the other arguments', async (t) => {
    const { manager } = await start(t, [remember])
    const texts = {
      'remember to call Ada': 'to call Ada',
      '  Remember: milk': 'milk',
      'NOTE:x': 'x',
      'remembering things': 'remembering things',
      'buy milk': 'buy milk',
      remember: '',
    }
    for (const [text, rest] of Object.entries(texts)) {
      assert.deepEqual(await manager.invoke('remember', { text, from: 'a' }), { text: rest, from: 'a' })
    }
  })

  test('that cannot be read is an error with its path, and keeps the entries it had', async (t) => {
    const { manager, folder } = await start(t, [remember])
    await writeIn(folder, 'skills.json', '[{')
    await manager.reload()
    assert.equal(manager.errors()[0]?.path, join(folder, 'skills.json'))
    assert.deepEqual(await manager.invoke('remember', { text: 'remember x' }), { text: 'x' })
    await writeIn(folder, 'skills.json', '[]')
    await manager.reload()
    assert.deepEqual(manager.errors(), [])
    assert.equal(manager.get('remember'), undefined)
  })

  test('with an entry that refers to itself is an error that says so', async (t) => {
    const { manager } = await start(t, [{ ...remember, ref: 'remember' }])
    assert.match(manager.errors()[0]?.reason ?? '', /ref must name another skill/)
  })

  test('a folder of the same name wins', async (t) => {
    const folder = await createFolder(t, {
      'skills.json': JSON.stringify([remember]),
      'remember/index.ts': 'export default { description: "d", run: () => "folder" }',
    })
    const { manager } = await startRuntime(t, { manager: { folders: [folder] } })
    assert.equal(await manager.invoke('remember'), 'folder')
  })
})
