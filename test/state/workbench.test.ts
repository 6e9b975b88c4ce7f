import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createStateManager } from '../../src/state/documents/manager.ts'
import type { Actor } from '../../src/state/documents/spec.ts'
import { agentStateDocument, taskBoardDocument } from '../../src/state/workbench/documents.ts'
import { initWorkbench } from '../../src/state/workbench/init.ts'
import { openWorkbench } from '../../src/state/workbench/project.ts'
import { createWorkbench } from '../../src/state/workbench/workbench.ts'
import { temporaryDir } from './kit.ts'

const agent: Actor = { kind: 'agent', name: 'builder' }

async function make(t: TestContext, dir = temporaryDir(t)) {
  // Ahead of the disk's clock until a test edits a file.
  let shift = 3_600_000
  const { workbench, manager } = await openWorkbench({ dir, now: () => Date.now() + shift })
  t.after(() => manager.close())
  const read = (name: string) => readFileSync(join(dir, name), 'utf8')
  const setShift = (ms: number) => {
    shift = ms
  }
  return { dir, workbench, manager, read, setShift }
}

describe('Exercise 1: last_human_touch', () => {
  test('an agent’s write within five seconds of a person’s edit in an editor is refused', async (t) => {
    const { dir, workbench, read, setShift } = await make(t)
    await workbench.get()
    setShift(0)
    const edited = read('agent_state.json').replace('"next_action": ""', '"next_action": "wait for me"')
    writeFileSync(join(dir, 'agent_state.json'), edited)
    await assert.rejects(workbench.update({ set: { next_action: 'mine' } }, agent), {
      code: 'state_human_touch',
    })
    assert.equal(read('agent_state.json'), edited)
    setShift(5001)
    await workbench.update({ add: { risks: ['early'] } }, agent)
    const { document } = await workbench.update({ add: { risks: ['late'] } }, agent)
    assert.equal(document.next_action, 'wait for me')
    assert.ok(Math.abs(Date.parse(document.last_human_touch ?? '') - Date.now()) < 60_000)
  })
})

describe('Exercise 2: oneOf, a task is either a build task or a review task', () => {
  test('each kind has required fields of its own', async (t) => {
    const { workbench, manager } = await make(t)
    await workbench.addTask({ kind: 'build', title: 'Make it', acceptance: ['it runs'] }, agent)
    await workbench.addTask({ kind: 'review', title: 'Look', target: 'src/', reviewer: 'ada' }, agent)
    const broken = (task: object) =>
      manager.update('task_board', (draft) => {
        draft.tasks = [{ id: 'x', title: 'x', status: 'open', ...task }]
      })
    await assert.rejects(
      broken({ kind: 'build', target: 'src/' }),
      /\/tasks\/0\/acceptance must have required/,
    )
    await assert.rejects(
      broken({ kind: 'review', acceptance: ['x'] }),
      /\/tasks\/0\/target must have required/,
    )
    await assert.rejects(broken({ kind: 'party' }), /\/tasks\/0 value of tag "kind" must be in oneOf/)
    assert.equal((await workbench.get()).board.document.tasks.length, 2)
  })
})

describe('Exercise 3: migration from v1 to v2', () => {
  test('blockers become risks, at start-up, with a backup, and once', async (t) => {
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
})

describe('Exercise 4: the storage backend moves to SQLite and the API stays', () => {
  test('the same workbench runs over SQLite', async (t) => {
    const sqlite = join(temporaryDir(t), 'workbench.db')
    const manager = createStateManager({ sqlite, documents: [agentStateDocument, taskBoardDocument] })
    t.after(() => manager.close())
    const state = manager.document(agentStateDocument)
    const board = manager.document(taskBoardDocument)
    const workbench = createWorkbench({ state, board, now: Date.now })
    await workbench.addTask({ kind: 'build', title: 'One', acceptance: ['a'] }, agent)
    assert.equal((await workbench.claim({ owner: 'a' }, agent))?.id, 'task-1')
  })
})

describe('state init', () => {
  test('writes a project’s own schema pair, first documents and a migration scaffold, and overwrites nothing', async (t) => {
    const dir = temporaryDir(t)
    assert.deepEqual((await initWorkbench(dir)).sort(), [
      '.gitignore',
      'agent_state.json',
      'agent_state.schema.json',
      'migrations/agent_state.v2-to-v3.mjs',
      'task_board.json',
      'task_board.schema.json',
    ])
    writeFileSync(join(dir, '.gitignore'), 'mine')
    assert.deepEqual(await initWorkbench(dir), [])
    const { workbench, read, setShift } = await make(t, dir)
    setShift(0)
    await workbench.update({ set: { next_action: 'go' } }, agent)
    assert.equal(read('.gitignore'), 'mine')
  })
})
