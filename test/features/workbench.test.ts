import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createStateManager } from '../../src/features/documents/manager.ts'
import type { Actor } from '../../src/features/documents/spec.ts'
import { initWorkbench, openWorkbench } from '../../src/features/workbench/project.ts'
import {
  agentStateDocument,
  createWorkbench,
  taskBoardDocument,
} from '../../src/features/workbench/workbench.ts'
import { temporaryDir } from './kit.ts'

const agent: Actor = { kind: 'agent', name: 'builder' }

async function make(t: TestContext, dir = temporaryDir(t)) {
  const { manager, ...documents } = await openWorkbench(dir)
  t.after(() => manager.close())
  return { workbench: createWorkbench((work) => work(documents)), manager }
}

describe('the agent state of a workbench', () => {
  test('of version 1 is migrated once, with a backup: its blockers become risks', async (t) => {
    const dir = temporaryDir(t)
    const v1 = {
      schema_version: 1,
      active_task_id: 'task-1',
      touched_files: [],
      assumptions: [],
      blockers: ['no key'],
      next_action: 'ask',
    }
    writeFileSync(join(dir, 'agent_state.json'), JSON.stringify(v1))
    const { manager, workbench } = await make(t, dir)
    assert.deepEqual(await manager.migrate(), [{ name: 'agent_state', from: 1, to: 2 }])
    const { document } = (await workbench.get()).state
    assert.deepEqual(document.risks, ['no key'])
    assert.equal('blockers' in document, false)
    assert.deepEqual(await manager.migrate(), [])
    assert.equal(readdirSync(dir).filter((file) => file.endsWith('.backup.json')).length, 1)
  })

  test('names the task that was claimed last, until it is finished', async (t) => {
    const { workbench } = await make(t)
    const active = async () => (await workbench.get()).state.document.active_task_id
    for (const title of ['One', 'Two'])
      await workbench.add({ kind: 'build', title, acceptance: ['a'] }, agent)
    await workbench.claim({}, agent)
    assert.equal(await active(), 'task-1')
    await workbench.claim({ id: 'task-2' }, agent)
    await workbench.finish({ id: 'task-1' }, agent)
    assert.equal(await active(), 'task-2')
    await workbench.finish({ id: 'task-2' }, agent)
    assert.equal(await active(), null)
    assert.equal(await workbench.claim({}, agent), null)
  })

  test('can be changed by `set` and `add`, and back by `unset` and `remove`', async (t) => {
    const dir = temporaryDir(t)
    await initWorkbench(dir)
    const path = join(dir, 'agent_state.schema.json')
    const schema = JSON.parse(readFileSync(path, 'utf8'))
    schema.properties.sprint = { type: 'string' }
    writeFileSync(path, JSON.stringify(schema))
    const file = join(dir, 'agent_state.json')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), sprint: 'Q3' }))
    const { workbench } = await make(t, dir)
    const human: Actor = { kind: 'human', name: 'ada' }
    await workbench.update(
      { set: { next_action: 'go' }, add: { risks: ['a', 'b'], assumptions: ['c'] } },
      human,
    )
    await workbench.update(
      { unset: ['sprint', 'assumptions', 'next_action'], remove: { risks: ['a'] } },
      human,
    )
    const { document } = (await workbench.get()).state
    assert.deepEqual([document.risks, document.assumptions, document.next_action], [['b'], [], ''])
    assert.equal('sprint' in document, false)
    await assert.rejects(workbench.update({ unset: ['schema_version'] }, human), { code: 'usage' })
  })

  test('names the migration of the project that fails or cannot be loaded', async (t) => {
    const dir = temporaryDir(t)
    await initWorkbench(dir)
    const path = join(dir, 'agent_state.schema.json')
    const schema = JSON.parse(readFileSync(path, 'utf8'))
    schema.properties.schema_version.const = 3
    writeFileSync(path, JSON.stringify(schema))
    const migration = join(dir, 'migrations', 'agent_state.v2-to-v3.mjs')
    writeFileSync(migration, 'export default function migrate() { throw new Error("no risks here") }')
    const { manager } = await make(t, dir)
    await assert.rejects(manager.load('agent_state'), /version 2 failed: .*v2-to-v3\.mjs: no risks here/)
    writeFileSync(migration, 'export default {')
    await assert.rejects(make(t, dir), /v2-to-v3\.mjs cannot be read: it cannot be loaded/)
  })
})

describe('createStateManager', () => {
  const board = { name: 'board', version: 1, schema: {}, initial: () => ({ schema_version: 1 }) }

  test('refuses an invalid spec with the reason', () => {
    for (const [wrong, why] of [
      [{ ...board, name: 'My Board' }, /cannot be named "My Board": .*lower-case/],
      [{ ...board, version: 0 }, /board: `version` must be a positive integer/],
      [{ ...board, schema: undefined }, /board: `schema` must be a JSON Schema/],
      [{ ...board, initial: { schema_version: 1 } }, /board: `initial` must be a function/],
      [{ ...board, migrations: { 1: { risks: [] } } }, /board: `migrations\[1\]` must be a function/],
      [{ ...board, guard: true }, /board: `guard` must be a function/],
    ] as const) {
      const documents = [wrong] as unknown as [typeof board]
      assert.throws(() => createStateManager({ dir: '/nowhere', documents }), {
        name: 'TypeError',
        message: why,
      })
    }
    assert.throws(() => createStateManager({ dir: 'x', documents: [board, board] }), /two documents/)
    assert.throws(() => createStateManager({ documents: [board] } as never), /takes `dir`.*or `sqlite`/)
  })

  test('makes files that only their owner can read', async (t) => {
    const dir = join(temporaryDir(t), 'deep', 'state')
    const sqlite = join(temporaryDir(t), 'deep', 'state.db')
    for (const place of [{ dir }, { sqlite }]) {
      const manager = createStateManager({ ...place, documents: [board] })
      await manager.load('board')
      const folder = 'dir' in place ? dir : dirname(sqlite)
      for (const file of readdirSync(folder))
        assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file)
      await manager.close()
    }
  })
})

describe('the workbench', () => {
  test('runs on SQLite as well', async (t) => {
    const sqlite = join(temporaryDir(t), 'workbench.db')
    const manager = createStateManager({ sqlite, documents: [agentStateDocument, taskBoardDocument] })
    t.after(() => manager.close())
    const state = manager.document(agentStateDocument)
    const board = manager.document(taskBoardDocument)
    const workbench = createWorkbench((work) => work({ state, board }))
    await workbench.add({ kind: 'build', title: 'One', acceptance: ['a'] }, agent)
    assert.equal((await workbench.claim({ owner: 'a' }, agent))?.id, 'task-1')
  })
})
