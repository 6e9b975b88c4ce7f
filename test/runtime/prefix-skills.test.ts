import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
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
  test('an entry becomes a skill with routes on every transport', async (t) => {
    const strict = { ...remember, name: 'strict', verified: true, approval: true }
    const { manager, folder } = await start(t, [remember, strict])
    const route = { prefix: ['remember', 'note:'] }
    for (const chat of ['cli', 'slack', 'websocket']) {
      assert.deepEqual(manager.get('remember')?.metadata?.[chat], { route })
      assert.deepEqual(manager.get('strict')?.metadata?.[chat], { route: { ...route, verified: true } })
    }
    // Anyone can send mail, and the sender of a webhook gets no reply unless it waits for one.
    const { email, webhook } = manager.get('remember')?.metadata ?? {}
    assert.deepEqual(email, { route: { ...route, 'data.allowed': true, automatic: false } })
    assert.deepEqual(webhook, { route: { ...route, 'data.respond': 'result', verified: true } })
    const { kind, path, layers } = manager.describe('strict')
    assert.deepEqual([kind, path, layers[0]?.name], ['prefix', join(folder, 'skills.json'), 'approval'])
  })

  test('an entry passes the text after the prefix to its skill, with the other arguments', async (t) => {
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

  test('an unreadable file is an error with its path, and keeps its last entries', async (t) => {
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

  test('an invalid entry is an error with its line, and other entries still work', async (t) => {
    const text = `[
  { "name": "first", "prefixes": ["first"], "ref": "subject" },
  { "name": "Bad Name", "prefixes": ["bad"], "ref": "subject" },
  "no entry at all",
  { "name": "first", "prefixes": ["again"], "ref": "subject" },
  { "name": "last", "prefixes": ["last"], "ref": "subject", "perfixes": [] }, { "name": "good", "prefixes": ["good"], "ref": "subject" }
]`
    const { manager } = await start(t, text)
    assert.deepEqual(await manager.invoke('first', { text: 'first x' }), { text: 'x' })
    assert.deepEqual(await manager.invoke('good', { text: 'good x' }), { text: 'x' })
    const errors = manager.errors().map(({ name, reason }) => `${name}: ${reason.split(':')[0]}`)
    assert.deepEqual(errors.sort(), ['Bad Name: line 3', 'entry 3: line 4', 'first: line 5', 'last: line 6'])
  })

  test('an entry without `ref`, or with an unknown skill, invokes the help', async (t) => {
    const help = { ...skillOf(() => 'the help'), name: 'assistant-help' }
    const folder = await createFolder(t, {
      'skills.json': JSON.stringify([
        { name: 'new', prefixes: ['weather'] },
        { name: 'lost', prefixes: ['lost'], ref: 'nowhere' },
        { name: 'own', prefixes: ['own'], ref: 'subject' },
      ]),
    })
    const failing = skillOf(() => {
      throw new TriviumError('skill_not_found', { name: 'another', hint: '' })
    })
    const { manager } = await startRuntime(t, { skills: [help, failing], manager: { folders: [folder] } })
    assert.equal(await manager.invoke('new', { text: 'weather in Oslo' }), 'the help')
    assert.equal(await manager.invoke('lost', { text: 'lost it' }), 'the help')
    // An unknown skill inside the skill is still an error.
    await assert.rejects(manager.invoke('own', { text: 'own' }), /another/)
  })

  test('an entry that refers to itself is an error', async (t) => {
    const { manager } = await start(t, [{ ...remember, ref: 'remember' }])
    assert.match(manager.errors()[0]?.reason ?? '', /ref must name another skill/)
  })

  test('a skill folder takes precedence over an entry with its name', async (t) => {
    const folder = await createFolder(t, {
      'skills.json': JSON.stringify([remember]),
      'remember/index.ts': 'export default { description: "d", run: () => "folder" }',
    })
    const { manager } = await startRuntime(t, { manager: { folders: [folder] } })
    assert.equal(await manager.invoke('remember'), 'folder')
  })
})
