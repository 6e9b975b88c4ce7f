import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createStateManager } from '../../src/state/documents/manager.ts'
import type { Actor } from '../../src/state/documents/spec.ts'
import { openWorkbench } from '../../src/state/workbench/project.ts'
import {
  agentStateDocument,
  createWorkbench,
  taskBoardDocument,
} from '../../src/state/workbench/workbench.ts'
import { temporaryDir } from './kit.ts'

const agent: Actor = { kind: 'agent', name: 'builder' }

async function make(t: TestContext, dir = temporaryDir(t)) {
  const { manager, ...documents } = await openWorkbench(dir)
  t.after(() => manager.close())
  return { workbench: createWorkbench((work) => work(documents)), manager }
}

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
    const workbench = createWorkbench((work) => work({ state, board }))
    await workbench.add({ kind: 'build', title: 'One', acceptance: ['a'] }, agent)
    assert.equal((await workbench.claim({ owner: 'a' }, agent))?.id, 'task-1')
  })
})
