import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: {}
routes:
  - { name: rest, skill: echo }
`

describe('the workbench of a project', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  const path = (name: string) => join(site.dir, 'workbench', name)
  const json = (name: string) => JSON.parse(readFileSync(path(name), 'utf8'))
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(['workbench', ...args, '--json'])
    assert.equal(code, 0, err)
    return JSON.parse(out)
  }
  /** Calls a skill as an agent, which must wait for five seconds after the edit of a person. */
  const asAgent = (skill: string, args: object) =>
    until(
      () =>
        daemon.invoke(skill, args).catch((error: Error) => {
          if (error.message.startsWith('state_human_touch')) return undefined
          throw error
        }),
      `${skill} after a person's edit`,
      30_000,
    )

  test('agents add, claim and finish tasks, which people can see', async () => {
    const build = { title: 'build the parser', acceptance: ['its tests pass'] }
    const task = Object(await daemon.invoke('task-add', build))
    assert.deepEqual([task.id, task.kind, task.status], ['task-1', 'build', 'open'])
    const review = { kind: 'review', title: 'look at the parser', target: 'src/parser.ts' }
    assert.equal(Object(await daemon.invoke('task-add', review)).id, 'task-2')

    const claimed = Object(await daemon.invoke('task-claim', { owner: 'ada' }))
    assert.deepEqual([claimed.id, claimed.owner], ['task-1', 'ada'])
    await assert.rejects(
      daemon.invoke('task-claim', { id: 'task-1', owner: 'bob' }),
      /forbidden: .*ada has it/,
    )
    await assert.rejects(daemon.invoke('task-finish', { id: 'task-1', owner: 'bob' }), /forbidden/)
    await daemon.invoke('task-finish', { id: 'task-1', owner: 'ada', result: 'merged' })

    const { out } = await site.run(['workbench'])
    assert.match(out, /^Open tasks\ntask-2 {2}open {2}look at the parser \(review of src\/parser\.ts\)$/m)
    assert.doesNotMatch(out, /task-1/)
    const { board } = await run('show')
    assert.equal(board.document.tasks[0].result, 'merged')
  })

  test('an invalid task is refused with the reason, and not stored', async () => {
    const before = readFileSync(path('task_board.json'), 'utf8')
    await assert.rejects(
      daemon.invoke('task-add', { title: 'no acceptance' }),
      /state_invalid: .*acceptance must NOT have fewer than 1 items/,
    )
    await assert.rejects(daemon.invoke('task-add', { kind: 'review', title: 'of what?' }), /usage/)
    assert.equal(readFileSync(path('task_board.json'), 'utf8'), before)
  })

  test('an agent that read an older state gets document_conflict', async () => {
    const set = { active_task_id: 'task-2', next_action: 'read src/parser.ts' }
    const add = { touched_files: ['src/parser.ts'], risks: ['no fuzzing'] }
    await daemon.invoke('workbench-update', { set, add })
    const { state } = Object(await daemon.invoke('workbench-get'))
    await daemon.invoke('workbench-update', { add: { assumptions: ['UTF-8 only'] }, expect: state.revision })
    await assert.rejects(
      daemon.invoke('workbench-update', { set: { next_action: 'mine' }, expect: state.revision }),
      /document_conflict/,
    )
    await assert.rejects(
      daemon.invoke('workbench-update', { next_action: 'lost' }),
      /unknown argument "next_action"/,
    )
  })

  test('a person can always write, and agents must wait for five seconds after that', async () => {
    await run('update', '--risk', 'the deadline')
    await assert.rejects(
      daemon.invoke('workbench-update', { set: { next_action: 'now' } }),
      /state_human_touch/,
    )
    // On a slow machine a command may take longer than the five seconds.
    const { err } = await until(
      async () => {
        await run('update', '--next-action', 'by hand')
        const tried = await site.run(['workbench', 'update', '--next-action', 'now', '--agent', 'ada'])
        return tried.code === 0 ? undefined : tried
      },
      'a refusal within five seconds of an edit',
      60_000,
    )
    assert.match(err, /edited by a person/)
    await run('update', '--risk', 'the budget')
    assert.deepEqual(json('agent_state.json').risks, ['no fuzzing', 'the deadline', 'the budget'])
    await asAgent('workbench-update', { set: { next_action: 'later' } })
    assert.equal(json('agent_state.json').next_action, 'later')
  })

  test('an earlier revision of the board can be shown', async () => {
    const { code, out } = await site.run(['state', 'replay', 'task_board', '--revision', '2', '--json'])
    assert.equal(code, 0)
    assert.equal(JSON.parse(out).document.tasks.length, 1)
  })

  test('a project can have its own schemas, and their migration runs once', async () => {
    const other = join(site.dir, 'other')
    const { code, out } = await site.run(['state', 'init', other])
    assert.equal(code, 0)
    assert.match(out, /agent_state\.schema\.json\n(.*\n)*.*migrations\/agent_state\.v2-to-v3\.mjs/)
    const schema = JSON.parse(readFileSync(join(other, 'agent_state.schema.json'), 'utf8'))
    schema.properties.schema_version.const = 3
    schema.properties.branch = { type: 'string' }
    schema.required.push('branch')
    writeFileSync(join(other, 'agent_state.schema.json'), JSON.stringify(schema))
    writeFileSync(
      join(other, 'migrations', 'agent_state.v2-to-v3.mjs'),
      "export default (document) => ({ ...document, branch: 'main' })\n",
    )
    const first = await site.run(['state', 'migrate', 'agent_state', '--dir', other])
    assert.equal(first.out.trim(), 'agent_state: version 2 → 3', first.err)
    const again = await site.run(['state', 'migrate', 'agent_state', '--dir', other])
    assert.equal(again.out.trim(), 'All documents already have the current version.')
    const { branch, schema_version } = JSON.parse(readFileSync(join(other, 'agent_state.json'), 'utf8'))
    assert.deepEqual([branch, schema_version], ['main', 3])
    const repeated = await site.run(['state', 'init', other])
    assert.match(repeated.out, /nothing was changed/)
  })
})
