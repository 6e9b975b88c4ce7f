import assert from 'node:assert/strict'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { defineBuiltInLayer } from '../../src/core/layers.ts'
import { until } from '../fixtures/until.ts'
import { createFolder, writeIn } from './support/folder.ts'
import { skillOf, startManager } from './support/manager.ts'
import { messageOf } from './support/message.ts'

const codeSkill = (name: string, body: string, before = '') => `
import { defineSkill } from 'trivium'
import { z } from 'zod'
${before}
export default defineSkill({ name: '${name}', description: 'd', args: z.object({}), run: () => ${body} })
`

/** A manager of one folder with these files. `save` writes a file and reloads the manager. */
async function start(t: TestContext, files: Record<string, string> = {}) {
  const folder = await createFolder(t, files)
  const manager = await startManager(t, { folders: [folder] })
  const save = async (path: string, text: string) => {
    await writeIn(folder, path, text)
    await manager.reload()
  }
  return { folder, manager, save }
}

describe('discovery', () => {
  test('takes a skill that is in two folders from the first', async (t) => {
    const mine = await createFolder(t, { 'one/index.ts': codeSkill('one', '"mine"') })
    const shipped = await createFolder(t, {
      'one/index.ts': codeSkill('one', '"shipped"'),
      'two/index.ts': codeSkill('two', '2'),
    })
    const manager = await startManager(t, { folders: [mine, shipped] })
    assert.equal(await manager.invoke('one'), 'mine')
    assert.equal(await manager.invoke('two'), 2)
  })

  test('takes only the skills in the shipped folder as shipped, not those of a folder beside it', async (t) => {
    const home = await createFolder(t, {
      'skills/one/index.ts': codeSkill('one', '1'),
      'skills-own/two/index.ts': codeSkill('two', '2'),
    })
    const shippedFolder = join(home, 'skills')
    const manager = await startManager(t, {
      folders: [join(home, 'skills-own'), shippedFolder],
      shippedFolder,
    })
    const shipped = manager.list().filter((skill) => skill.shipped)
    assert.deepEqual(
      shipped.map(({ name }) => name),
      ['one'],
    )
  })

  test('follows a folder that is a changing link, as in Kubernetes, also in a CommonJS project', async (t) => {
    const volume = async (answer: number) => {
      const skill = codeSkill('one', 'answer', "import { answer } from '../lib/answer.ts'")
      const helper = `import { z } from 'trivium'; export const answer = z.number().parse(${answer})`
      return createFolder(t, { 'one/index.ts': skill, 'lib/answer.ts': helper })
    }
    const home = await createFolder(t, { 'package.json': '{"type":"commonjs"}' })
    const folder = join(home, 'skills')
    await symlink(await volume(1), folder)
    const manager = await startManager(t, { folders: [folder] })
    for (const answer of [1, 2, 3]) {
      await rm(folder)
      await symlink(await volume(answer), folder)
      await manager.reload()
      assert.deepEqual([await manager.invoke('one'), manager.errors()], [answer, []])
    }
  })
})

describe('a broken skill', () => {
  const broken: Record<string, [string, RegExp]> = {
    'with a syntax error': ['const a = 1\nconst b == 2', /line 2: /],
    'that throws when it is loaded': ['\n\nmissing.value', /line 3: missing is not defined/],
    'with TypeScript that is more than types': [
      '\nenum Colour { Red }',
      /line 2: TypeScript enum is not supported/,
    ],
    'that imports an unknown package': ["import 'no-such-package'", /Cannot find package 'no-such-package'/],
    'with a broken helper': ["import '../broken/helper.ts'", /broken\/helper\.ts line 2: /],
    'without an export': ['export const other = 1', /no default export/],
    'without `run`': ['export default { description: "d" }', /run/],
    'with arguments that are not a zod schema': [
      'export default { description: "d", args: {}, run() {} }',
      /zod/,
    ],
    'with arguments that JSON Schema cannot express': [
      `import { z } from 'zod'
const id = (shape) => z.object(shape).meta({ id: 'same' })
export default { description: 'd', args: z.object({ a: id({ x: z.any() }), b: id({ y: z.any() }) }), run() {} }`,
      /args or output cannot be converted to JSON Schema: Duplicate schema id/,
    ],
    'whose name differs from its folder': [
      'export default { name: "other", description: "d", run() {} }',
      /its folder is bad/,
    ],
    'with `allowed-tools` outside of its metadata': [
      'export default { description: "d", "allowed-tools": "state-*", run() {} }',
      /`allowed-tools` belongs in metadata/,
    ],
  }
  for (const [title, [text, reason]] of Object.entries(broken)) {
    test(`${title} has an error with its path and the reason, and others still run`, async (t) => {
      const { folder, manager } = await start(t, {
        'bad/index.ts': text,
        'broken/helper.ts': 'const a = 1\nconst b == 2',
        'good/index.ts': codeSkill('good', '1'),
      })
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

test('a skill that waits at its top level does not delay others', async (t) => {
  const both = { 'one/index.ts': codeSkill('one', '1'), 'slow/index.ts': codeSkill('slow', '1') }
  const { folder, manager, save } = await start(t, both)
  await writeIn(folder, 'one/index.ts', codeSkill('one', '2'))
  void save('slow/index.ts', codeSkill('slow', '2', 'await new Promise(() => {})'))
  await until(async () => (await manager.invoke('one')) === 2, 'the new version')
  assert.equal(await manager.invoke('slow'), 1)
})

describe('a broken middleware', () => {
  const guard = `export default { order: 1, description: 'g', setup: () => () => 'guarded' }`
  const guarded = `export default { description: 'd', metadata: { guard: true }, run: () => 'unguarded' }`

  test('breaks the skills that name it, so that none runs without it', async (t) => {
    const files = {
      'middleware/guard.ts': 'export default {{',
      'one/index.ts': guarded,
      'two/index.ts': codeSkill('two', '2'),
    }
    const { manager, save } = await start(t, files)
    await assert.rejects(manager.invoke('one'), /metadata.guard: the middleware .*guard\.ts cannot be loaded/)
    assert.equal(await manager.invoke('two'), 2)
    await save('middleware/guard.ts', guard)
    assert.equal(await manager.invoke('one'), 'guarded')
    assert.deepEqual(manager.errors(), [])
  })

  test('that applies to every skill breaks all of them at the start, and messages do not pass', async (t) => {
    const always = `export default { order: 1, description: 'g', always: true, setup: () => () => 'guarded' }`
    const folder = await createFolder(t, {
      'middleware/guard.ts': always.replace('export', 'throw new Error("no network")\nexport'),
      'two/index.ts': codeSkill('two', '2'),
    })
    const builtIn = skillOf(() => 'built in')
    const manager = await startManager(t, { folders: [folder], skills: [builtIn] })
    await assert.rejects(manager.invoke('two'), { code: 'skill_broken' })
    assert.equal(await manager.invoke(builtIn.name), 'built in')
    await manager.reload()
    const message = messageOf()
    await assert.rejects(manager.invoke(builtIn.name, {}, { message }), { code: 'skill_broken' })
    await writeIn(folder, 'middleware/guard.ts', always)
    await manager.reload()
    assert.deepEqual(
      [await manager.invoke('two'), await manager.invoke(builtIn.name)],
      ['guarded', 'guarded'],
    )
  })

  test('that declares another name breaks the skills with that name', async (t) => {
    const named = "export default {{ name: 'watch', order: 1 }"
    const skill = guarded.replace('guard:', 'watch:')
    const { manager } = await start(t, { 'middleware/guard.ts': named, 'one/index.ts': skill })
    await assert.rejects(manager.invoke('one'), { code: 'skill_broken' })
  })

  test('that is added later leaves skills that run without it', async (t) => {
    const { manager, save } = await start(t, { 'two/index.ts': codeSkill('two', '2') })
    await save('middleware/guard.ts', 'export default {{ always: true }')
    assert.equal(await manager.invoke('two'), 2)
  })

  test('keeps its last working version until its file is removed', async (t) => {
    const named = guard.replace('order', "name: 'watch', order")
    const skill = guarded.replace('guard:', 'watch:')
    const files = { 'middleware/guard.ts': named, 'one/index.ts': skill }
    const { folder, manager, save } = await start(t, files)
    await save('middleware/guard.ts', 'export default {{')
    assert.equal(await manager.invoke('one'), 'guarded')
    assert.deepEqual(
      manager.errors().map(({ name, kept }) => [name, kept]),
      [['middleware/guard', true]],
    )
    await rm(join(folder, 'middleware/guard.ts'))
    await manager.reload()
    assert.deepEqual(manager.errors(), [])
    assert.equal(await manager.invoke('one'), 'unguarded')
  })
})

describe('a file with the name of something built in', () => {
  const layer = (name: string) =>
    `export default { name: '${name}', order: 1, description: 'own', always: true, setup: () => () => 'own' }`
  const builtIn = (name: 'audit') =>
    defineBuiltInLayer({
      name,
      order: 50,
      description: 'd',
      always: true,
      setup: () => (_ctx, next) => next(),
    })

  test('a layer named like a built-in one is refused, also one that is off, and the built-in one stays', async (t) => {
    const folder = await createFolder(t, { 'one/index.ts': codeSkill('one', '"result"') })
    const manager = await startManager(t, { folders: [folder], middleware: [builtIn('audit')] })
    for (const name of ['audit', 'trace', 'approval']) {
      await writeIn(folder, 'middleware/watch.ts', layer(name))
      await manager.reload()
      assert.equal(await manager.invoke('one'), 'result', name)
      const { path, reason } = manager.errors()[0] ?? {}
      assert.deepEqual([path, manager.errors().length], [join(folder, 'middleware/watch.ts'), 1])
      assert.match(String(reason), new RegExp(`${name} .*choose another name`))
    }
    await writeIn(folder, 'middleware/watch.ts', layer('watch'))
    await manager.reload()
    assert.deepEqual([await manager.invoke('one'), manager.errors()], ['own', []])
  })

  test('a skill with settings for a refused layer is broken, unless the built-in layer reads them', async (t) => {
    const withKey = (key: string) =>
      `export default { description: 'd', metadata: { ${key}: false }, run: () => 'result' }`
    const { manager } = await start(t, {
      'middleware/audit.ts': layer('audit'),
      'middleware/approval.ts': layer('approval'),
      'audited/index.ts': withKey('audit'),
      'approved/index.ts': withKey('approval'),
    })
    await assert.rejects(manager.invoke('audited'), /metadata.audit: .*audit\.ts/)
    assert.equal(await manager.invoke('approved'), 'result')
  })

  test('a second layer of one name is refused, and the first folder wins, as for skills', async (t) => {
    const first = await createFolder(t, { 'middleware/watch.ts': layer('watch') })
    const second = await createFolder(t, {
      'middleware/watch.ts': layer('watch').replace("'own' }", "'second' }"),
      'one/index.ts': codeSkill('one', '"result"'),
    })
    const manager = await startManager(t, { folders: [first, second] })
    assert.deepEqual([await manager.invoke('one'), manager.errors()], ['own', []])
    await writeIn(second, 'middleware/other.ts', layer('watch'))
    await manager.reload()
    const [error] = manager.errors()
    assert.equal(error?.path, join(second, 'middleware/other.ts'))
    assert.match(error.reason, new RegExp(`${join(first, 'middleware/watch.ts')}.*choose another name`))
  })
})

describe('reloading', () => {
  test('reloads helpers that several skills import, and skills that import each other', async (t) => {
    const helped = (name: string) => codeSkill(name, 'answer', "import { answer } from '../lib/answer.ts'")
    const { manager, save } = await start(t, {
      'lib/answer.ts': "export * from './deep.ts'",
      'lib/deep.ts': 'export const answer = 1',
      'one/index.ts': helped('one'),
      'two/index.ts': helped('two'),
      'three/index.ts': codeSkill('three', 'ref.run()', "import ref from '../one/index.ts'"),
    })
    await save('lib/deep.ts', 'export const answer = 2')
    for (const name of ['one', 'two', 'three']) assert.equal(await manager.invoke(name), 2, name)
    await save('one/index.ts', codeSkill('one', '5'))
    for (const [name, result] of Object.entries({ one: 5, two: 2, three: 5 })) {
      assert.equal(await manager.invoke(name), result, name)
    }
  })

  test('uses the version saved last, even if an earlier one takes longer to load', async (t) => {
    const gate = Promise.withResolvers<void>()
    Object.assign(globalThis, { gateOfTest: gate.promise, isReading: false })
    t.after(() => Reflect.deleteProperty(globalThis, 'gateOfTest'))
    const { manager, save } = await start(t)
    const waiting = codeSkill('one', '1', 'globalThis.isReading = true; await globalThis.gateOfTest')
    const slow = save('one/index.ts', waiting)
    await until(() => Reflect.get(globalThis, 'isReading'), 'the slow version to be read')
    // If both were loaded concurrently, the new version would be ready first.
    setTimeout(gate.resolve, 100)
    await Promise.all([slow, save('one/index.ts', codeSkill('one', '2'))])
    assert.equal(await manager.invoke('one'), 2)
  })

  test('removes a deleted skill and adds a new one', async (t) => {
    const { folder, manager, save } = await start(t, { 'one/index.ts': codeSkill('one', '1') })
    await rm(join(folder, 'one'), { recursive: true })
    await save('two/index.ts', codeSkill('two', '2'))
    assert.deepEqual(
      manager.list().map(({ name }) => name),
      ['two'],
    )
  })

  test('notices a change in a folder below a hidden one', async (t) => {
    const home = await createFolder(t, { '.agents/skills/one/index.ts': codeSkill('one', '1') })
    const folder = join(home, '.agents/skills')
    const manager = await startManager(t, { folders: [folder, await createFolder(t)] })
    await manager.watch()
    await writeIn(folder, 'one/index.ts', codeSkill('one', '2'))
    await until(async () => (await manager.invoke('one')) === 2, 'the new version')
  })

  test('notices a skills folder that is created after the start', async (t) => {
    const home = await createFolder(t)
    const folder = join(home, 'skills')
    const manager = await startManager(t, { folders: [folder, await createFolder(t)] })
    await manager.watch()
    await writeIn(home, 'skills/one/index.ts', codeSkill('one', '1'))
    await until(async () => (await manager.invoke('one').catch(() => 0)) === 1, 'the new folder')
    await writeIn(home, 'skills/one/index.ts', codeSkill('one', '2'))
    await until(async () => (await manager.invoke('one')) === 2, 'the new version')
  })
})
