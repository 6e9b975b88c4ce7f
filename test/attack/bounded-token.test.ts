import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const TOKEN = 'bounded-secret-bounded-secret'
const SECRET = 'zanzibar'
const KEY = 'a-key-of-4711-letters'
const ROUTES = `
gateways:
  orders: { transport: cli }
  private: { transport: cli, open: true }
routes:
  - { name: fails, match: { gateway: private, text: "fail*" }, skill: fails }
  - { name: guarded, match: { gateway: private, text: "guarded*" }, skill: guarded }
  - { name: keeps, match: { gateway: private, text: "keep*" }, skill: keeps }
  - { name: chat, match: { gateway: private, text: "chat*" }, skill: chat }
access:
  roles: { all: { members: ["*"], skills: ["*"] } }
tokens:
  - { name: bounded, token: ${TOKEN}, skills: ["*"], gateways: [orders] }
`
const SKILLS = {
  fails: `export default { description: 'fails', metadata: { retry: { attempts: 1 } }, run({ args }) { throw Object.assign(new Error(args.text), { retryable: false }) } }`,
  guarded: `export default { description: 'asks first', metadata: { approval: { title: '${SECRET}' } }, run: () => 'done' }`,
  keeps: `export default { description: 'keeps a file', async run({ artifacts }) {
    const saved = await artifacts.save('${SECRET}.txt', 'text/plain', Buffer.from('${SECRET}'))
    return { text: 'kept', attachments: [saved] } } }`,
  keyed: `export default { description: 'has a key', metadata: { 'api-key': '${KEY}', limits: { 'a-token': '${KEY}', size: 'small' } }, run: () => 'done' }`,
  chat: `export default { description: 'chats', metadata: { session: { key: 'args.sessionId', capture: ['$args', '$result'] } }, run: ({ args }) => 'heard ' + args.text }`,
}

type Property = { type?: string; enum?: string[]; const?: unknown; items?: Property; default?: unknown }

describe('a program with all skills and one gateway', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()

  const post = async (token: string, path: string, body: object) => {
    const response = await fetch(daemon.control + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }
  const say = async (text: string) => {
    const sent = { gateway: 'private', conversation: 'c1', from: 'ada', text, wait: 5_000 }
    return Object(JSON.parse((await post(daemon.token, '/v1/messages', sent)).text)).result
  }
  const invoke = async (skill: string, args: object = {}) => Object(await daemon.invoke(skill, args))
  /** The data of the other gateway, without records of the program itself. */
  const state = async () => ({
    shown: JSON.stringify(await invoke('conversation-show', { gateway: 'private', conversation: 'c1' })),
    work: withoutOwn(await invoke('delegation-list')),
    notes: withoutOwn((await invoke('recall', { text: '' })).notes),
    approvals: JSON.stringify(await invoke('approval-list')),
    letters: JSON.stringify(await invoke('dead-letter-list')),
    sessions: JSON.stringify(await invoke('session-list')),
  })

  test('cannot read, answer or change data of another gateway by any built-in skill', async () => {
    const { id: messageId } = await say(`chat ${SECRET}`)
    await say(`remember ${SECRET}`)
    await say(`delegate to digger: dig at ${SECRET}`)
    const { replies } = await say('keep it')
    const [artifact] = replies[0].attachments
    await post(daemon.token, '/v1/messages', {
      gateway: 'private',
      conversation: 'c1',
      from: 'ada',
      text: 'guarded',
    })
    await say(`fail at ${SECRET}`)
    const letter = await until(async () => (await invoke('dead-letter-list'))[0], 'a dead letter')
    const approval = await until(
      async () => (await invoke('approval-list', { status: 'pending' }))[0],
      'a request',
    )
    const [work] = await invoke('delegation-list')
    const [note] = (await invoke('recall', { text: '' })).notes
    assert.ok(work && note && artifact)
    const before = await state()

    const ids = [messageId, letter.id, approval.id, work.id, note.id]
    /** Values for arguments by name, in addition to samples of their schema. */
    const known: Record<string, unknown[]> = {
      id: ids,
      ids: ids.map((id) => [id]),
      gateway: ['private'],
      conversation: ['c1'],
      messageId: [messageId],
      artifact: [artifact],
      worker: ['digger', undefined],
      topic: ['gateway-message', 'replies/private/c1', 'reply:private/c1'],
      queue: ['mine', undefined],
      to: ['c1'],
      name: ['chat', 'guarded'],
      key: ['c1', `private/c1`],
      text: ['', SECRET.slice(0, 5), `done ${work.id}: mine`, note.id, 'list'],
      timeout: [0],
      approve: [true],
      all: [true, undefined],
      skill: ['recall'],
      since: ['1d'],
      ref: ['recall'],
    }
    const skills: { name: string }[] = Object(await daemon.get('/v1/skills')).result
    const names = skills.map(({ name }) => name).filter((name) => !(name in SKILLS))
    assert.ok(names.length > 50, 'the built-in skills')
    for (const name of names) {
      const { args } = Object(await daemon.get(`/v1/skills/${name}`)).result
      for (const combination of combinations(args, known)) {
        const { status, text } = await post(TOKEN, `/v1/skills/${name}`, combination)
        assert.ok(!text.includes(SECRET), `${name} ${JSON.stringify(combination)}: ${text}`)
        assert.notEqual(status, 500, `${name} ${JSON.stringify(combination)}: ${text}`)
      }
    }
    assert.deepEqual(await state(), before)
  })

  test('neither reads nor takes troubles, which are of all gateways', async () => {
    await invoke('route-pause', { route: 'guarded' })
    const [trouble] = await until(async () => {
      const { troubles } = Object(await daemon.get('/v1/troubles')).result
      return troubles.length > 0 ? troubles : undefined
    }, 'a trouble')
    const near = `${trouble.id.slice(0, -1)}x`
    for (const skill of ['trouble-acknowledge', 'trouble-release'])
      for (const id of [trouble.id, near]) {
        const { status, text } = await post(TOKEN, `/v1/skills/${skill}`, { id })
        assert.equal(status, 403, text)
        assert.ok(!text.includes(trouble.id) && !text.includes(trouble.title), text)
      }
    const [{ acknowledged }] = Object(await daemon.get('/v1/troubles')).result.troubles
    assert.equal(acknowledged, undefined)
  })

  test('sees the settings of a skill without secrets', async () => {
    const response = await fetch(`${daemon.control}/v1/skills/keyed`, {
      headers: { authorization: `Bearer ${TOKEN}`, connection: 'close' },
    })
    const { metadata } = Object(await response.json()).result
    const limits = { 'a-token': '[secret]', size: 'small' }
    assert.deepEqual(metadata, { 'api-key': '[secret]', limits })
    const { result } = Object(await daemon.get('/v1/skills/keyed'))
    assert.equal(result.metadata['api-key'], KEY)
  })
})

/** Records that the program did not create itself. */
function withoutOwn(records: { owner?: string }[]): string {
  return JSON.stringify(records.filter(({ owner }) => owner !== 'token:bounded'))
}

/**
 * Arguments that fit a schema: always the required ones, and each known value of each property at
 * least once.
 */
function combinations(
  schema: { properties?: Record<string, Property>; required?: string[] },
  known: Record<string, unknown[]>,
) {
  const properties = Object.entries(schema.properties ?? {})
  // `timeout: 0` prevents waiting.
  const required = new Set([...(schema.required ?? []), 'timeout'])
  const values = (name: string, property: Property) => known[name] ?? [sample(property)]
  const longest = Math.max(1, ...properties.map(([name, property]) => values(name, property).length))
  const rounds = Array.from({ length: longest }, (_, round) => round)
  const build = (round: number, isWanted: (name: string) => boolean) =>
    Object.fromEntries(
      properties
        .filter(([name]) => isWanted(name))
        .map(([name, property]) => [name, values(name, property).at(round % values(name, property).length)]),
    )
  return rounds.flatMap((round) => [
    build(round, (name) => required.has(name)),
    build(round, (name) => name in known || required.has(name)),
    // Single optional arguments, since some exclude each other.
    ...properties
      .filter(([name]) => name in known && !required.has(name))
      .map(([optional]) => build(round, (name) => name === optional || required.has(name))),
  ])
}

function sample({ type, enum: options, const: only, items }: Property): unknown {
  if (only !== undefined) return only
  if (options) return options[0]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return 1000
  if (type === 'array') return items ? [sample(items)] : []
  if (type === 'object') return {}
  return 'x'
}
