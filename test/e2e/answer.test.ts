import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { pathGet } from '../../src/core/json.ts'
import { attempt } from '../../src/lib/attempt.ts'
import type { DaemonProcess } from '../fixtures/daemon.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /ws }
  jobs: { transport: webhook, path: /hooks/jobs, verify: { scheme: none }, respond: result, timeout: 4m }
  one-way: { transport: webhook, path: /hooks/one-way, verify: { scheme: none } }
routes:
  - { name: one-way, match: { gateway: one-way }, skill: echo }
subscriptions:
  - { name: crm, topic: invoices, url: 'http://127.0.0.1:9/', allow-private: true, secret: whsec_${'A'.repeat(32)} }
`

/** The contents of the code blocks of one language in a document. */
function blocksOf(document: string, language: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', '..', document), 'utf8')
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code)
}

/** Receives the oldest message of a gateway, like a worker. */
const receive = async (daemon: DaemonProcess, gateway: string, lease = 60_000) =>
  Object(await daemon.invoke('gateway-receive', { gateway, lease, timeout: 10_000 }))

for (const store of ['embedded', 'redis'] as const) {
  describe(`gateway-send, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store })

    test('called over HTTP, the command line and MCP, it answers the sender once per key, and the history records it', async () => {
      const { daemon, site } = suite
      const { send, next, all, close } = await daemon.chat()
      send({ id: 'a1', text: 'hello' })
      const { messageId } = await next('ack')
      const args = { messageId, text: 'by HTTP', key: 'k', wait: 10_000 }
      assert.equal(pathGet(await daemon.invoke('gateway-send', args), 'sent'), true)
      assert.equal(pathGet(await daemon.invoke('gateway-send', args), 'duplicate'), true)
      const typed = await site.run([
        'gateway-send',
        '--message-id',
        String(messageId),
        '--text',
        'typed',
        '--wait',
        '10000',
      ])
      assert.equal(typed.code, 0, typed.err)
      const client = new Client({ name: 'an editor', version: '1' })
      const headers = { authorization: `Bearer ${daemon.token}` }
      const transport = new StreamableHTTPClientTransport(new URL(`${daemon.control}/mcp`), {
        requestInit: { headers },
      })
      // The SDK's own types do not match under `exactOptionalPropertyTypes`.
      await client.connect(transport as Parameters<Client['connect']>[0])
      const { receipt } = await receive(daemon, 'chat')
      await client.callTool({ name: 'gateway-send', arguments: { receipt, text: 'by MCP', wait: 10_000 } })
      await client.close()
      for (const text of ['by HTTP', 'typed', 'by MCP']) {
        const reply = await next('message')
        assert.deepEqual([reply.text, reply.inReplyTo], [text, messageId])
      }
      assert.equal(all('message').length, 3)
      close()

      const { history } = Object(await daemon.invoke('message-show', { id: messageId }))
      assert.equal(history[0].what, 'accepted')
      const answers = history.filter((note: object) => pathGet(note, 'what') === 'sent')
      const authors = answers.map(({ at, detail }: Record<string, unknown>) => {
        assert.equal(typeof at, 'number')
        return `${pathGet(detail, 'by')}: ${pathGet(detail, 'text')}`
      })
      assert.match(authors.join('\n'), /^http control: by HTTP\ncli \S+: typed\nmcp.*: by MCP$/)
    })

    test('fails with advice if the receipt expired, the message is missing, or it cannot be answered', async () => {
      const { daemon } = suite
      const answer = (args: object) => daemon.invoke('gateway-send', { text: 'late', ...args })
      const waiting = daemon.post('/hooks/jobs', 'slow', { 'content-type': 'text/plain' })
      // A lease of 1 ms, which ends before the next call.
      const { receipt, id } = await receive(daemon, 'jobs', 1)
      const again = await receive(daemon, 'jobs')
      assert.equal(again.id, id, 'the message is delivered again')
      await assert.rejects(answer({ receipt }), /receipt_expired: .*`messageId`/)
      await answer({ messageId: id })
      assert.equal(pathGet((await waiting).body, 'reply'), 'late', 'without a route, a worker answers')

      const { body } = await daemon.post('/hooks/one-way', 'x', { 'content-type': 'text/plain' })
      await assert.rejects(answer({ messageId: pathGet(body, 'id') }), /no_reply_target: .*respond: result/)
      const shown = async () =>
        JSON.stringify(await daemon.invoke('message-show', { id: pathGet(body, 'id') }))
      await until(
        async () => /"not sent".*You said: x/.test(await shown()),
        'the note about the reply of the skill',
      )
      assert.doesNotMatch(await shown(), /"sent"/)
      await assert.rejects(answer({ messageId: '01a2021e-316f-7000-8000-0006537aed85' }), /message_not_found/)
      await assert.rejects(answer({}), /no_reply_target: .*`messageId` or `receipt`/)
      await assert.rejects(answer({ messageId: id, to: 'x' }), /target_not_allowed: .*open: true/)
      for (const more of [{ receipt: again.receipt }, { gateway: 'chat' }]) {
        await assert.rejects(
          answer({ messageId: id, ...more }),
          /skill_args_invalid: .*give messageId, or receipt/,
        )
      }
    })
  })
}

/**
 * Replacements in the programs of the page that make their work fail while the file `broken` exists
 * (`ts`: while `works` is missing). They also let it be retried at once.
 */
const BREAKABLE: Record<string, [string, string][]> = {
  python: [
    [
      'def handle(message):  # your work\n',
      'def handle(message):\n    if os.path.exists("broken"): raise KeyError("amount")\n',
    ],
    ['delay=10_000', 'delay=0'],
  ],
  bash: [
    ['handle() {', 'handle() {\n  [ ! -e broken ] || return 1\n'],
    ['delay: 10000', 'delay: 0'],
  ],
  ts: [
    ['=> text.toUpperCase()', "=> { readFileSync('works'); return text.toUpperCase() }"],
    ['delay: 10_000', 'delay: 0'],
  ],
}

describe('the workers of docs/workers.md', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES })
  const post = async (text: string) =>
    pathGet((await suite.daemon.post('/hooks/jobs', text, { 'content-type': 'text/plain' })).body, 'reply')

  for (const [language, file, command] of [
    ['python', 'worker.py', 'python3'],
    ['bash', 'worker.sh', 'bash'],
    ['ts', 'worker.ts', process.execPath],
  ] as const) {
    /** Starts the program in its own process group. `output` collects its output. */
    const start = (t: TestContext, code: string) => {
      const { daemon, site } = suite
      site.write(file, code)
      const worker = spawn(command, [file], {
        cwd: site.dir,
        env: { PATH: process.env.PATH, TRIVIUM: daemon.control },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      const output: string[] = []
      for (const stream of [worker.stdout, worker.stderr]) stream.on('data', (chunk) => output.push(chunk))
      const ended = once(worker, 'exit')
      const group = -(worker.pid ?? assert.fail('the worker did not start'))
      const hasEnded = () => attempt(() => process.kill(group, 0)) === undefined
      t.after(async () => {
        if (!hasEnded()) process.kill(group, 'SIGKILL')
        await ended
      })
      return { worker, output, ended, hasEnded }
    }
    const page = blocksOf('docs/workers.md', language).join('')
    const road = async () => Object(pathGet(await suite.daemon.get('/v1/status'), 'result.stats.receive'))
    // A worker that is killed before its acknowledgement leaves a lease of a minute.
    const isAcknowledged = async () => (await road()).leased === 0

    test(`the one in ${language} answers and acknowledges messages, and ends with all its processes`, async (t) => {
      const { worker, output, ended, hasEnded } = start(t, page)
      for (const text of ['hello', 'again "quoted"'])
        assert.equal(await post(text), text.toUpperCase(), output.join(''))
      await until(isAcknowledged, 'both acknowledgements')
      assert.equal((await road()).ready, 0)
      worker.kill('SIGTERM')
      await ended
      await until(hasEnded, 'the end of its processes')
    })

    test(`the one in ${language} releases a message when its work fails, and continues`, async (t) => {
      const changes = BREAKABLE[language] ?? []
      for (const [from] of changes) assert.ok(page.includes(from), from)
      const { site, daemon } = suite
      site.write('broken', '')
      await rm(join(site.dir, 'works'), { force: true })
      const { output } = start(
        t,
        changes.reduce((code, [from, to]) => code.replace(from, to), page),
      )
      const reply = post('mend me')
      const hasFailedTwice = async () => {
        const [message] = Object(await daemon.invoke('message-search', { text: 'mend me' })).messages
        if (message === undefined) return false
        const { history } = Object(await daemon.invoke('message-show', { id: message.id }))
        return history.filter(({ what }: { what: string }) => what === 'released').length > 1
      }
      await until(hasFailedTwice, 'two failures')
      await rm(join(site.dir, 'broken'))
      site.write('works', '')
      assert.equal(await reply, 'MEND ME', output.join(''))
      await until(isAcknowledged, 'the acknowledgement')
    })
  }
})
