import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const WORKER = 'worker-secret-1-worker'
const NEXT = 'worker-secret-2-worker'
const ALL = 'all-secret-all-secret-all'
const CALLER = 'caller-secret-caller-secret'
const READER = 'reader-secret-reader-secret'
const ROUTES = `
gateways:
  orders: { transport: cli }
  private: { transport: cli }
  chat: { transport: websocket, path: /ws, open: true }
routes:
  - { name: held, match: { gateway: private, text: hold }, skill: held }
  - { name: own, match: { text: never }, skill: echo }
tokens:
  - name: worker
    token: "\${WORKER_TOKEN}"
    skills: [gateway-*, message-*, event-*, dead-letter-list, later]
    gateways: [orders]
  - { name: caller, token: ${CALLER}, skills: [gateway-send], gateways: [chat] }
  - { name: reader, token: ${READER}, skills: [assistant-help, delegate, note], gateways: ["*"] }
  - { name: all, token: ${ALL}, skills: ["*"], gateways: ["*"] }
`
const LATER = `export default { description: 'later', run: ({ manager, args }) => manager.invoke(args.name, args.args) }`

const HELD = `export default { description: 'held', async run({ manager }) {
  await manager.invoke('state-wait', { key: 'go', timeout: 20_000 })
  return 'the answer'
} }`

describe('tokens of programs', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { later: LATER, held: HELD } })
  const words = ['note', 'deploy'].map((name) => ({ name, description: name, prefixes: [name], ref: 'echo' }))
  site.write('skills/skills.json', JSON.stringify(words))
  site.write('.env', `WORKER_TOKEN=${WORKER}\n`)
  const daemon = await site.start()

  const ask = async (token: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(daemon.control + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        connection: 'close',
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const answer = isJson ? Object(JSON.parse(text)) : {}
    return { status: response.status, headers: response.headers, text, ...answer }
  }
  const call = (skill: string, args: object, token = WORKER) => ask(token, `/v1/skills/${skill}`, args)
  const submit = async (gateway: string, text: string) =>
    String((await ask(daemon.token, '/v1/messages', { gateway, text })).result.id)
  /** The message of a refusal. */
  const refusal = ({ status, error }: { status: number; error?: { code: string; message: string } }) => {
    assert.deepEqual([status, error?.code], [403, 'forbidden'])
    return error?.message ?? ''
  }

  test('a worker can receive, read and answer messages of its gateways only', async () => {
    const hidden = await submit('private', 'hidden')
    const id = await submit('orders', 'an order')
    const { result: received } = await call('gateway-receive', { timeout: 30_000, lease: 60_000 })
    assert.equal(received.id, id)
    assert.equal((await call('gateway-send', { receipt: received.receipt, text: 'done' })).status, 200)
    assert.equal((await call('gateway-ack', { receipt: received.receipt })).result.ok, true)
    const history = async () => JSON.stringify(Object(await daemon.invoke('message-show', { id })).history)
    await until(async () => /sent.*token:worker/.test(await history()), 'the answer in its history')

    assert.equal((await call('gateway-receive', { timeout: 0 })).result, null)
    const foreign = [
      call('gateway-receive', { gateway: 'private', timeout: 0 }),
      call('message-show', { id: hidden }),
      call('message-list', { gateway: 'private' }),
      call('message-search', { gateway: 'private' }),
      call('message-resend', { id: hidden }),
      call('gateway-send', { messageId: hidden, text: 'psst' }),
    ]
    for (const answer of await Promise.all(foreign))
      assert.match(refusal(answer), /private.*only allows the gateways orders/)
    for (const { gateway } of (await call('message-list', {})).result) assert.equal(gateway, 'orders')
    const { messages } = (await call('message-search', { text: 'o' })).result
    assert.deepEqual(
      messages.map((row: { gateway: string }) => row.gateway).filter((name: string) => name !== 'orders'),
      [],
    )
    const gateways = (await call('gateway-list', {})).result.map(({ name }: { name: string }) => name)
    assert.deepEqual(gateways, ['orders'])
  })

  test('the help lists the words whose skills the token names', async () => {
    const { result } = await call('assistant-help', {}, READER)
    assert.deepEqual(
      result.words.map(({ name }: { name: string }) => name),
      ['note'],
    )
  })

  test('a program can delegate to a skill that its token names, and to no other', async () => {
    const { result } = await call('delegate', { text: 'note: an idea' }, READER)
    assert.match(result.text, /an idea/)
    assert.equal(result.delegation.status, 'done')
    assert.match(refusal(await call('delegate', { text: 'deploy: now' }, READER)), /only allows the skills/)
  })

  test('a key of a program cannot replace an answer of others', async () => {
    const id = await submit('private', 'hold')
    const [welcome] = (await daemon.chat('/ws')).all('welcome')
    const args = { gateway: 'chat', to: String(welcome?.conversation), text: 'mine', key: `${id}:held:0` }
    assert.equal((await call('gateway-send', args, CALLER)).result.duplicate, false)
    assert.equal((await call('gateway-send', args, CALLER)).result.duplicate, true)
    await daemon.invoke('state-set', { key: 'go', value: true })
    const shown = async () => JSON.stringify(await daemon.invoke('message-show', { id }))
    await until(async () => /"what":"sent".*the answer/.test(await shown()), 'the answer')
  })

  test('skills that a token does not name are refused, and those that reach beyond its gateways or lifetime', async () => {
    assert.match(
      refusal(await call('state-set', { no: 'such argument' })),
      /state-set.*token:worker.*only allows the skills/,
    )
    assert.match(refusal(await ask(WORKER, '/v1/skills/echo')), /only allows the skills/)
    assert.match(refusal(await ask(WORKER, '/v1/status')), /control token/)
    assert.match(refusal(await ask(ALL, '/v1/reload', {})), /control token/)
    assert.match(refusal(await ask(ALL, '/asyncapi.json')), /control token/)
    assert.match(refusal(await call('dead-letter-list', {})), /gateways: \["\*"\]/)
    assert.match(
      refusal(await call('event-wait', { topic: 'gateway-message', timeout: 0 })),
      /gateway-receive/,
    )
    assert.match(refusal(await call('event-subscribe', { topic: 'x', ref: 'gateway-list' })), /later/)
    const names = {
      'event-subscribe': { topic: 'x', ref: 'message-list' },
      'schedule-create': { skill: 'message-list', every: '1s' },
    }
    for (const [name, args] of Object.entries(names))
      assert.match(refusal(await call('later', { name, args })), /later/)
    assert.deepEqual((await call('event-wait', { topic: 'jobs', timeout: 0 })).result, [])
    assert.equal((await call('dead-letter-list', {}, ALL)).status, 200)
    assert.equal((await call('event-wait', { topic: 'gateway-message', timeout: 0 }, ALL)).status, 200)
    const { result: skills } = await ask(WORKER, '/v1/skills')
    assert.ok(skills.some(({ name }: { name: string }) => name === 'gateway-receive'))
    assert.ok(
      skills.every(({ name }: { name: string }) =>
        /^(gateway|message|event|dead-letter)-|^later$/.test(name),
      ),
    )
  })

  test('MCP has the same rights, and a session belongs to one token', async () => {
    const mcp = (token: string, method: string, params: object, session?: string) => {
      const accept = 'application/json, text/event-stream'
      const headers = { accept, ...(session && { 'mcp-session-id': session }) }
      return ask(token, '/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers)
    }
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const open = async (token: string) =>
      (await mcp(token, 'initialize', hello)).headers.get('mcp-session-id') ?? ''
    const session = await open(WORKER)
    const { text } = await mcp(WORKER, 'tools/list', {}, session)
    assert.match(text, /gateway-receive/)
    assert.doesNotMatch(text, /state-set/)
    const params = { name: 'state-set', arguments: { key: 'a', value: 1 } }
    const refused = await mcp(WORKER, 'tools/call', params, session)
    assert.match(refused.text, /forbidden/)
    assert.equal((await mcp(ALL, 'tools/list', {}, session)).status, 404)
    const first = await open(ALL)
    await Promise.all(Array.from({ length: 200 }, () => open(ALL)))
    assert.equal((await mcp(ALL, 'tools/list', {}, first)).status, 404, 'too many sessions end the oldest')
    assert.equal((await mcp(WORKER, 'tools/list', {}, session)).status, 200, 'of the same token only')
  })

  test('a changed token replaces the old one at once, and no token is logged', async () => {
    assert.equal((await call('gateway-list', {}, NEXT)).status, 401)
    const waiting = assert.rejects(call('gateway-receive', { timeout: 60_000, lease: 60_000 }))
    site.write('.env', `WORKER_TOKEN=${NEXT}\n`)
    await waiting
    await until(async () => (await call('gateway-list', {}, NEXT)).status === 200, 'the new token')
    assert.equal((await call('gateway-list', {})).status, 401)
    assert.equal((await ask('none', `/v1/skills?access_token=${NEXT}`)).status, 401)
    const { out } = await site.run(['status', '--json'])
    for (const secret of [WORKER, NEXT, ALL]) assert.ok(!(daemon.output() + out).includes(secret))
  })
})
