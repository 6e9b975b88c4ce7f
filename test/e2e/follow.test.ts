import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const BIN = await bundledCommand()

function startCommand(t: TestContext, cwd: string, args: string[]) {
  const env = { PATH: process.env.PATH ?? '', HOME: cwd }
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env })
  t.after(() => child.kill('SIGKILL'))
  const output = { out: '', err: '' }
  child.stdout.on('data', (text) => (output.out += text))
  child.stderr.on('data', (text) => (output.err += text))
  return output
}

const ROUTES = `
gateways: { hook: { transport: webhook, path: /hook } }
routes: [{ name: rest, skill: echo }]`

test('event wait --follow continues after a restart of the daemon, without missing events', async (t) => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const output = startCommand(t, site.dir, ['event', 'wait', 'jobs', '--queue', 'audit', '--follow'])
  await until(() => output.err.includes('Created the consumer group audit'), 'the note on the group')
  const emit = (text: string) => site.run(['event', 'emit', 'jobs', '--data', JSON.stringify({ text })])
  await until(
    async () => (await site.run(['event', 'groups', '--json'])).out.includes('"audit"'),
    'the group',
  )
  await emit('before')
  await until(() => output.out.includes('before'), 'the first event')
  await daemon.end('SIGTERM')
  await until(() => output.err.includes('does not answer; trying again'), 'the note on the outage')
  await site.start()
  await emit('after')
  await until(() => output.out.includes('after'), 'the event after the restart')
  assert.match(output.err, /The daemon answers again/)
  assert.equal(output.err.match(/does not answer/g)?.length, 1)
  const again = await site.run(['event', 'wait', 'jobs', '--queue', 'audit', '--timeout', '0'])
  assert.doesNotMatch(again.err, /Created/, 'the group still exists')
})

test('a call that waits while its daemon stops is answered 503 with the code `stopping`', async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const waiting = fetch(`${daemon.control}/v1/skills/event-wait`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ topic: 'jobs', queue: 'audit', timeout: 60_000 }),
  })
  await until(
    async () => (await site.run(['event', 'groups', '--json'])).out.includes('"audit"'),
    'the group',
  )
  await daemon.end('SIGTERM')
  const response = await waiting
  const { error } = Object(await response.json())
  assert.deepEqual([response.status, error.code], [503, 'stopping'])
  assert.equal(response.headers.get('retry-after'), '1')
})

test('history --follow shows a message that waits, its answer later, and each once', async (t) => {
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo }]\n' })
  const daemon = await site.start()
  await site.run(['message', 'send', 'cli', 'before the follower'])
  const output = startCommand(t, site.dir, ['history', '--follow'])
  await until(() => output.out.includes('before the follower'), 'the entry before')
  await daemon.invoke('route-pause', { route: 'rest' })
  await site.run(['message', 'send', 'cli', 'while it is paused', '--wait', '1'])
  await until(() => output.out.includes('while it is paused'), 'the message that waits')
  const rows = () => output.out.split('\n').filter((row) => row.includes('while it is paused'))
  assert.equal(rows().length, 1)
  await daemon.invoke('route-resume', { route: 'rest' })
  await until(() => rows().length > 1, 'the answer')
  await site.run(['message', 'send', 'cli', 'after the pause'])
  await until(() => output.out.split('after the pause').length > 2, 'the next message and its answer')
  assert.deepEqual(
    rows().map((row) => row.split('\t')[2]),
    ['user', 'assistant'],
  )
  assert.equal(output.err, '')
})
