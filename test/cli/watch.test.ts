import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
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
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    const errors = text(child.stderr)
    return { child, errors, output: () => output, lines: () => output.split('\n').filter(Boolean) }
  }
  const post = async ({ url }: { url: string }, content: string) => {
    const response = await fetch(`${url}/hooks/demo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
    })
    assert.equal(response.status, 202)
  }

  test('tail prints each message and its outcome once, over a restart of the daemon', async () => {
    const { child, errors, output, lines } = tail()
    await until(async () => {
      await post(daemon, 'are you there?')
      return lines().length > 0
    }, 'the first line')
    await post(daemon, 'bad one')
    await until(() => /dead +demo .*bad one/.test(output()), 'the outcome')
    await daemon.end('SIGKILL')
    current = await site.start()
    await post(current, 'after the restart')
    await until(() => output().includes('after the restart'), 'a message after the restart')
    assert.equal(output().split('bad one').length, 2, 'it is printed once')
    child.kill('SIGINT')
    assert.match(await errors, /does not answer; trying again/)
  })

  test('tail ends after --max messages', async () => {
    const { child, lines } = tail('--text', 'enough', '--max', '1', '--json')
    await until(async () => {
      await post(current, 'enough')
      return child.exitCode !== null
    }, 'its end')
    assert.equal(lines().filter((line) => JSON.parse(line).type === 'message').length, 1)
  })

  test('tail refuses an unknown outcome', async () => {
    const { code, err } = await site.run(['tail', '--outcome', 'dedd'])
    assert.equal(code, 1)
    assert.match(err, /outcome\S*: expected one of waiting/)
  })

  test('top prints the current state once if its output is not a terminal', async () => {
    const { out } = await site.run(['top'])
    assert.match(out, /! 1 dead letter of \w+ \(\d+ (?:s|min)\):/)
    assert.match(out, /journal +\d+/)
    const { code, out: json } = await site.run(['top', '--json'])
    assert.equal(code, 0)
    assert.equal(JSON.parse(json).deadLetters.total, 1)
    await site.run(['gateway', 'pause', 'demo'])
    assert.match((await site.run(['top'])).out, /^demo +webhook +paused$/m)
  })

  test('top shows its keys at a terminal of 24 rows, and q comes back from a page', {
    skip: !HAS_TERMINAL,
  }, async () => {
    const command = `stty rows 24 cols 80; exec '${process.execPath}' '${BIN}' top`
    // Help, back, the last row, its page, back, quit.
    const keys = { question: 'q quit', answer: '?qG\rqq', cwd: site.dir, env: process.env }
    const { code, shown } = await atTerminal(command, keys)
    assert.equal(code, 0)
    assert.match(shown, /Enter open · \? help · q quit/)
    assert.match(shown, /Keys of the overview/)
    assert.match(shown, /Loading …/)
  })
})
