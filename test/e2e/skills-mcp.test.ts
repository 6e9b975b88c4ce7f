import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Client as CurrentClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as CurrentTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const BIN = await bundledCommand()
const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: rest, skill: echo }
`

const SLOW = `export default { description: 'Waits.', async run({ manager }) {
  await manager.invoke('state-set', { key: 'under-way', value: true })
  return manager.invoke('state-wait', { key: 'never' })
} }`

const CAREFUL = `export default { description: 'Asks twice.', metadata: { approval: true }, async run({ manager }) {
  return 'it is ' + await manager.invoke('ask-person', { question: 'Which colour?' })
} }`

describe('trivium mcp', { timeout: 300_000 }, () => {
  test('offers the skills of the daemon, also after a restart', async (t) => {
    const site = openSite({ routes: ROUTES, skills: { slow: SLOW } })
    const first = await site.spawn()
    const client = new Client({ name: 'an editor', version: '1' })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [BIN, 'mcp'],
      cwd: site.dir,
      env: { PATH: process.env.PATH ?? '', HOME: site.dir },
      stderr: 'ignore',
    })
    await client.connect(transport)
    t.after(() => client.close())
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1
    })
    /** The text of the result of a tool, or the error. */
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args }).catch(String)
      return typeof result === 'string' ? result : String(pathGet(result, 'content.0.text'))
    }
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'event-wait'))
    assert.equal(await call('echo', { text: 'one' }), 'You said: one')

    site.write('skills/late/index.ts', `export default { description: 'Late.', run: () => 'late' }`)
    await until(() => changes > 0, 'the notification of the new skill')
    assert.equal(await call('late', {}), 'late')

    const underWay = call('slow', {})
    await until(() => first.invoke('state-get', { key: 'under-way' }), 'the call to be under way')
    await first.end('SIGKILL')
    assert.match(await underWay, /the call may have run/)
    assert.match(await call('echo', { text: 'nobody' }), /No daemon is running/)

    const second = await site.start()
    const words = Array.from({ length: 20 }, (_, at) => `two ${at}`)
    assert.deepEqual(
      await Promise.all(
        words.map(async (text, at) => {
          // Spread over the time in which the command reconnects.
          await setTimeout(at * 4)
          return call('echo', { text })
        }),
      ),
      words.map((text) => `You said: ${text}`),
    )
    const posted = await second.post('/hooks/demo', '{"text":"hello"}')
    const received = JSON.parse(await call('gateway-receive', { gateway: 'demo', timeout: 10_000 }))
    assert.equal(received.id, pathGet(posted.body, 'id'))
    await second.end()
  })

  test('asks the user of its client, by both protocols', async (t) => {
    const site = openSite({ routes: ROUTES, skills: { careful: CAREFUL } })
    await site.start()
    const transport = () => ({
      command: process.execPath,
      args: [BIN, 'mcp'],
      cwd: site.dir,
      env: { PATH: process.env.PATH ?? '', HOME: site.dir },
      stderr: 'ignore' as const,
    })
    const answers = ['approve', 'blue']
    const give = () => ({ action: 'accept' as const, content: { answer: answers.shift() ?? '' } })
    const older = new Client({ name: 'an editor', version: '1' }, { capabilities: { elicitation: {} } })
    older.setRequestHandler(ElicitRequestSchema, give)
    await older.connect(new StdioClientTransport(transport()))
    t.after(() => older.close())
    const result = await older.callTool({ name: 'careful', arguments: {} })
    assert.equal(pathGet(result, 'content.0.text'), 'it is blue')

    answers.push('approve', 'green')
    const current = new CurrentClient(
      { name: 'an editor', version: '2' },
      { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: {} } },
    )
    current.setRequestHandler('elicitation/create', give)
    await current.connect(new CurrentTransport(transport()))
    t.after(() => current.close())
    assert.equal(current.getProtocolEra(), 'modern')
    assert.equal(pathGet(await current.callTool({ name: 'careful' }), 'content.0.text'), 'it is green')
    assert.deepEqual(answers, [])
  })
})
