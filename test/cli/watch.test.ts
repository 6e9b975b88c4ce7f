import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: bad, match: { gateway: demo, text: /bad/ }, skill: fail, retry: { attempts: 1 } }
  - { name: all, match: { gateway: demo }, skill: echo }
`
const FAIL = `export default { description: 'fails', run() { throw new Error('no') } }`
const BIN = await bundledCommand()

describe('watching a daemon from a terminal', { timeout: 300_000 }, async () => {
  const site = openSite({ ownProcess: 'first', routes: ROUTES, skills: { fail: FAIL } })
  const daemon = await site.start()
  let current = daemon
  const tail = (...args: string[]) => {
    const child = spawn(process.execPath, [BIN, 'tail', ...args], {
      cwd: site.dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let told = ''
    child.stdout.on('data', (chunk) => {
      told += chunk
    })
    const errors = text(child.stderr)
    return { child, errors, told: () => told, lines: () => told.split('\n').filter(Boolean) }
  }
  const post = async ({ url }: { url: string }, said: string) => {
    const response = await fetch(`${url}/hooks/demo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ said }),
    })
    assert.equal(response.status, 202)
  }

  test('tail tells each message once and what became of it, over a restart of the daemon', async () => {
    const seen = tail()
    await until(async () => {
      await post(daemon, 'are you there?')
      return seen.lines().length > 0
    }, 'the first line')
    await post(daemon, 'bad one')
    await until(() => /dead +demo .*bad one/.test(seen.told()), 'how it ended')
    await daemon.end('SIGKILL')
    current = await site.start()
    await post(current, 'after the restart')
    await until(() => seen.told().includes('after the restart'), 'what came after the restart')
    assert.equal(seen.told().split('bad one').length, 2, 'told once')
    seen.child.kill('SIGINT')
    assert.match(await seen.errors, /does not answer; trying again/)
  })

  test('tail ends after so many, and says what it cannot take', async () => {
    const seen = tail('--text', 'enough', '--max', '1', '--json')
    await until(async () => {
      await post(current, 'enough')
      return seen.child.exitCode !== null
    }, 'its end')
    assert.equal(seen.lines().filter((line) => JSON.parse(line).type === 'message').length, 1)
    const wrong = await site.run(['tail', '--outcome', 'dedd'])
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /outcome\S*: expected one of waiting/)
  })

  test('top shows once what happens now where nobody looks at a terminal', async () => {
    const { out } = await site.run(['top'])
    assert.match(out, /! 1 dead letter:/)
    assert.match(out, /journal +\d+/)
    const { code, out: json } = await site.run(['top', '--json'])
    assert.equal(code, 0)
    assert.equal(JSON.parse(json).deadLetters.total, 1)
  })
})
