import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { createExec } from '../../src/cli/listen/exec.ts'
import { createForward } from '../../src/cli/listen/forward.ts'
import { createTerminal } from '../../src/cli/terminal.ts'
import type { Message } from '../../src/core/message.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const signal = new AbortController().signal
const event = { id: 'e1' }

test('a webhook that came by GET is forwarded by GET, also without its original', async (t) => {
  const methods: unknown[] = []
  const { url, close } = await serveHttp(({ method, url }, response) => {
    methods.push([method, url])
    response.end()
  })
  t.after(close)
  const forward = createForward({
    url: new URL(`${url}/hook`),
    headers: {},
    timeout: 10_000,
    readFile: () => assert.fail('there is no file'),
    onIncomplete() {},
  })
  const message: Message = {
    id: 'm1',
    gateway: 'plain',
    transport: 'webhook',
    from: { id: 'a' },
    conversation: 'c',
    receivedAt: 1,
    text: '',
    attachments: [],
    trace: 't',
    data: { format: 'text', headers: {}, method: 'GET', query: { challenge: '7' } },
  }
  assert.equal((await forward({ event, message, attempt: 1 }, signal)).ok, true)
  assert.deepEqual(methods, [['GET', '/hook?challenge=7']])
})

test('the output of a command keeps characters that arrive in two parts', async () => {
  let shown = ''
  const print = (text: string) => {
    shown += text
  }
  const command = "printf '\\303'; sleep 0.2; printf '\\244'"
  const terminal = createTerminal(false, { out: print, err: print })
  const exec = createExec({ command, cwd: tmpdir(), timeout: undefined }, process.env, terminal)
  assert.equal((await exec({ event, attempt: 1 }, signal)).ok, true)
  assert.equal(shown, 'ä')
})
