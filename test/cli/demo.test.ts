import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { startDemo } from '../fixtures/demo.ts'
import { until } from '../fixtures/until.ts'

test('the demo has a day of messages of every gateway, with faults to look at, and removes its folder at the end', async (t) => {
  const demo = await startDemo({ messages: 250 })
  t.after(demo.stop)
  const { invoke } = demo

  const gateways = await until(async () => {
    const all: { name: string; ok: boolean }[] = await invoke('gateway-list', {})
    return all.every(({ ok }) => ok) ? all : undefined
  }, 'gateways that work')
  const names = ['chat', 'cli', 'github', 'jobs', 'orders', 'payments', 'support', 'team']
  assert.deepEqual(gateways.map(({ name }) => name).toSorted(), names)
  for (const { name } of gateways) {
    const { messages } = await invoke('message-search', { gateway: name, limit: 1 })
    assert.equal(messages.length, 1, name)
  }
  const oldest = await invoke('message-search', { until: '20h', limit: 1 })
  assert.equal(oldest.messages.length, 1, 'the day is as long as a day')
  const letters = await invoke('dead-letter-list', { limit: 100 })
  assert.ok(letters.length > 0)
  const pending: { title: string }[] = await invoke('approval-list', { status: 'pending' })
  assert.ok(pending.length > 0)
  assert.ok(pending.every(({ title }) => !title.includes('interrupted')))
  const { refusals } = await invoke('refused', {})
  assert.ok(refusals.length > 0)
  const { conversations } = await invoke('conversation-list', { gateway: 'support', limit: 100 })
  assert.ok(conversations.some(({ messages }: { messages: number }) => messages > 1))
  const [crm] = (await invoke('subscription-list', {})).filter(({ name }: { name: string }) => name === 'crm')
  assert.equal(crm.ok, false)
  assert.ok(crm.queued > 0)
  assert.equal(crm.waiting, crm.queued + crm.matching)
  const { rows, budgets } = await invoke('cost', { by: 'skill' })
  const cost = new Map<string, { money: number; unpriced?: number }>(
    rows.map((row: { name: string }) => [row.name, row]),
  )
  for (const skill of ['concierge', 'triage']) {
    assert.ok((cost.get(skill)?.money ?? 0) > 0, skill)
    assert.equal(cost.get(skill)?.unpriced ?? 0, 0)
  }
  assert.ok(budgets.some(({ used }: { used: number }) => used > 0))

  const headers = { authorization: `Bearer ${demo.token}`, 'content-type': 'application/json' }
  const checked = await fetch(`${demo.url}/v1/doctor`, { method: 'POST', headers, body: '{}' })
  const checks: { ok: boolean; name: string }[] = Object(await checked.json()).result
  assert.deepEqual(
    checks.filter(({ ok }) => !ok),
    [],
  )
  const listed = await fetch(`${demo.url}/v1/troubles`, { headers })
  const { troubles } = Object(await listed.json()).result
  const codes = new Set(troubles.map(({ code }: { code: string }) => code))
  assert.ok(codes.has('dead-letters'), 'some of it failed')
  assert.ok(!codes.has('unrouted'), 'what workers take needs no route')

  await demo.stop()
  assert.equal(existsSync(dirname(demo.config)), false)
})

test('the demo says that it has begun, where no progress is shown', async (t) => {
  const child = spawn(process.execPath, [await bundledCommand(), 'demo', '--messages', '20'])
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const [line] = await once(child.stderr, 'data')
  assert.match(String(line), /The demo is filling a day of messages/)
  child.kill('SIGINT')
  await exited
})
