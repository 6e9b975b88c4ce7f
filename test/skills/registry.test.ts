import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createFolder, writeIn } from './support/folder.ts'
import { startManager } from './support/manager.ts'

const codeSkill = (name: string, body: string, before = '') => `
import { defineSkill } from 'trivium'
import { z } from 'zod'
${before}
export default defineSkill({ name: '${name}', description: 'd', args: z.object({}), run: () => ${body} })
`

describe('discovery', () => {
  test('finds code skills by folder, with trivium and zod at hand', async (t) => {
    const folder = await createFolder(t, {
      'one/index.ts': codeSkill('one', '1'),
      'readme.md': '# not a skill',
    })
    const manager = await startManager(t, { folders: [folder] })
    assert.deepEqual(manager.list(), [
      { name: 'one', description: 'd', kind: 'code', path: join(folder, 'one/index.ts') },
    ])
    assert.equal(await manager.invoke('one'), 1)
  })

  test('takes a name that is in two folders from the first', async (t) => {
    const mine = await createFolder(t, { 'one/index.ts': codeSkill('one', '"mine"') })
    const shipped = await createFolder(t, {
      'one/index.ts': codeSkill('one', '"shipped"'),
      'two/index.ts': codeSkill('two', '2'),
    })
    const manager = await startManager(t, { folders: [mine, shipped] })
    assert.equal(await manager.invoke('one'), 'mine')
    assert.equal(await manager.invoke('two'), 2)
  })

  test('takes the export named skill where there is no default export', async (t) => {
    const text = codeSkill('one', '1').replace('export default', 'export const skill =')
    const manager = await startManager(t, { folders: [await createFolder(t, { 'one/index.ts': text })] })
    assert.equal(await manager.invoke('one'), 1)
  })
})

describe('a broken skill', () => {
  const broken: Record<string, [string, RegExp]> = {
    'with a syntax error': ['export default {{', /Expression expected|Unexpected token|Expected/],
    'without an export': ['export const other = 1', /no default export/],
    'with no run': ['export default { description: "d" }', /run/],
    'with arguments that are no schema': ['export default { description: "d", args: {}, run() {} }', /zod/],
    'whose name is not its folder': [
      'export default { name: "other", description: "d", run() {} }',
      /its folder is bad/,
    ],
  }
  for (const [what, [text, reason]] of Object.entries(broken)) {
    test(`${what} says why, with its path, and leaves the others running`, async (t) => {
      const folder = await createFolder(t, { 'bad/index.ts': text, 'good/index.ts': codeSkill('good', '1') })
      const manager = await startManager(t, { folders: [folder] })
      assert.equal(await manager.invoke('good'), 1)
      const path = join(folder, 'bad/index.ts')
      await assert.rejects(manager.invoke('bad'), (error: Error) => {
        assert.ok(error.message.startsWith(`Skill bad cannot be loaded from ${path}: `))
        assert.match(error.message, reason)
        return true
      })
      assert.equal(manager.errors()[0]?.path, path)
    })
  }
})

describe('reloading', () => {
  test('takes up the new version of one skill and of what it imports', async (t) => {
    const text = codeSkill('one', 'answer', "import { answer } from './answer.ts'")
    const folder = await createFolder(t, { 'one/index.ts': text, 'one/answer.ts': 'export const answer = 1' })
    const manager = await startManager(t, { folders: [folder] })
    assert.equal(await manager.invoke('one'), 1)
    await writeIn(folder, 'one/answer.ts', 'export const answer = 2')
    await manager.reload('one')
    assert.equal(await manager.invoke('one'), 2)
  })

  test('keeps the last good version of a skill that broke, and says why', async (t) => {
    const folder = await createFolder(t, { 'one/index.ts': codeSkill('one', '1') })
    const manager = await startManager(t, { folders: [folder] })
    await writeIn(folder, 'one/index.ts', 'export default {{')
    await manager.reload('one')
    assert.equal(await manager.invoke('one'), 1)
    assert.equal(manager.errors()[0]?.kept, true)
    await writeIn(folder, 'one/index.ts', codeSkill('one', '3'))
    await manager.reload('one')
    assert.equal(await manager.invoke('one'), 3)
    assert.deepEqual(manager.errors(), [])
  })

  test('forgets a skill that was removed and finds one that was added', async (t) => {
    const folder = await createFolder(t, { 'one/index.ts': codeSkill('one', '1') })
    const manager = await startManager(t, { folders: [folder] })
    await rm(join(folder, 'one'), { recursive: true })
    await writeIn(folder, 'two/index.ts', codeSkill('two', '2'))
    await manager.reload()
    assert.deepEqual(
      manager.list().map(({ name }) => name),
      ['two'],
    )
  })

  test('happens by itself when a watched file is saved', async (t) => {
    const folder = await createFolder(t, { 'one/index.ts': codeSkill('one', '1') })
    const manager = await startManager(t, { folders: [folder] })
    const reloaded = new Promise((resolve) =>
      manager.watch(resolve).then(() => writeIn(folder, 'one/index.ts', codeSkill('one', '2'))),
    )
    assert.equal(await reloaded, 'one')
    assert.equal(await manager.invoke('one'), 2)
  })
})
