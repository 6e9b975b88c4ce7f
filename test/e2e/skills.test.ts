import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import type { DaemonProcess } from '../fixtures/daemon.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat:  { transport: websocket, path: /ws, tokens: { ada: token-of-ada-1234, bob: token-of-bob-1234 } }
  open:  { transport: webhook, path: /open, from: header.x-user }
  hook:  { transport: webhook, path: /hook, verify: { scheme: bearer, secret: a-secret-of-the-hook },
           from: header.x-user, respond: result }
access:
  roles:
    admins: { members: [chat:ada], skills: ["*"] }
    guests: { members: [chat:bob, hook:bob], skills: [echo, tenant] }
routes:
  - { name: pay, match: { prefix: pay }, skill: pay, approval: true }
  - { name: admin, match: { prefix: admin }, skill: admin }
  - { name: hook, match: { gateway: hook }, skill: tenant }
  - { name: rest, skill: echo }
`

const ADMIN = `export default { description: 'For admins.', run: ({ call }) => 'hello ' + call.caller.id }`
const PAY = `export default { description: 'Pays.', run: ({ args }) => 'paid: ' + args.text }`
const TENANT = `export default {
  description: 'Counts what its tenant asked before.',
  metadata: { session: 'nonlocals.request.headers.x-tenant-id' },
  run: ({ locals }) => locals.session ? 'asked ' + locals.session.entries.length : 'no session',
}`
const version = (n: number) => `export default { description: 'A version.', run: () => ${n} }`

describe('skills of a running daemon', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({
    ownProcess: true,
    routes: ROUTES,
    skills: { admin: ADMIN, pay: PAY, tenant: TENANT, other: version(7) },
  })

  /** Waits until the skill returns `expected`. */
  const returns = (name: string, expected: unknown) =>
    until(
      async () => (await suite.daemon.invoke(name).catch(() => undefined)) === expected,
      `${name} to return ${expected}`,
    )

  test('a broken skill is reported with the reason, does not affect others, and its last good version answers', async () => {
    await suite.daemon.invoke('other')
    suite.site.write('skills/other/index.ts', 'export default { description: 1 }')
    suite.site.write('skills/crooked/index.ts', 'this is no TypeScript')
    const reason = await until(
      () => suite.daemon.invoke('crooked').catch((error: Error) => /skill_broken.*/.exec(error.message)?.[0]),
      'the skill to be broken',
    )
    assert.match(String(reason), /crooked\/index\.ts/)
    await until(
      () => /other[^\n]*cannot be loaded|cannot be loaded[^\n]*other/.test(suite.daemon.output()),
      'the log',
    )
    assert.equal(await suite.daemon.invoke('other'), 7)
    assert.equal(await suite.daemon.invoke('echo', { text: 'still here' }), 'You said: still here')
    const byName = await suite.site.run(['crooked'])
    assert.deepEqual([byName.code, /cannot be loaded from .*crooked/.test(byName.err)], [1, true])
    const { out } = await suite.site.run(['skill', 'list'])
    assert.match(out, /^crooked\s+\S+crooked\/index\.ts\s+line 1: /m)
    assert.match(out, /^other\s+\S+other\/index\.ts\s.*\(its last good version answers\)/m)
    rmSync(join(suite.site.dir, 'skills/crooked'), { recursive: true })
    suite.site.write('skills/other/index.ts', version(8))
    await returns('other', 8)
  })

  test('the audit log says which files of skills were changed, and whether the skills load', async () => {
    const recorded = (file: string, outcome: string) =>
      until(async () => {
        const { entries } = Object(await suite.daemon.invoke('audit-list', { action: 'skill-change' }))
        // Changes of several files in quick succession are one entry.
        return entries[0]?.target.files.includes(file) && entries[0].outcome === outcome
      }, `the entry of ${file}`)
    suite.site.write('skills/tenant/words.ts', 'export const greeting = 1')
    await recorded('tenant/words.ts', 'ok')
    suite.site.write('skills/tenant/index.ts', 'export default { description: 1 }')
    await recorded('tenant/index.ts', 'skill_broken')
    const { out } = await suite.site.run(['audit', '--action', 'skill-change'])
    assert.match(out, /skill-change\tfailed: skill_broken\t.*tenant\/index\.ts/)
    suite.site.write('skills/tenant/index.ts', TENANT)
    await recorded('tenant/index.ts', 'ok')
  })

  test('a rejection that a skill does not await does not end the daemon', async () => {
    suite.site.write(
      'skills/careless/index.ts',
      `export default { description: 'Careless.', run: ({ manager }) => {
  void manager.invoke('no-such-skill').then(String)
  void Promise.reject(new Error('nobody waits for me'))
  return 'done'
} }`,
    )
    await returns('careless', 'done')
    await until(() => suite.daemon.output().includes('nobody waits for me'), 'the log')
    assert.equal(await suite.daemon.invoke('echo', { text: 'still here' }), 'You said: still here')
  })

  test('a middleware of third parties applies when its file is in the folder', async () => {
    suite.site.write(
      'skills/middleware/shout.ts',
      `import { defineMiddleware } from 'trivium'
export default defineMiddleware({
  name: 'shout', order: 500, description: 'Shouts.',
  setup: () => async (ctx, next) => String(await next()).toUpperCase(),
})`,
    )
    suite.site.write(
      'skills/loud/index.ts',
      `export default { description: 'Loud.', metadata: { shout: true }, run: () => 'quiet words' }`,
    )
    await returns('loud', 'QUIET WORDS')
    const shown = await suite.site.run(['skill', 'show', 'loud', '--json'])
    assert.match(shown.out, /"shout"/)
  })

  test('trivium skill list, show and new', async () => {
    const made = await suite.site.run(['skill', 'new', 'fresh'])
    assert.equal(made.code, 0, made.err)
    await returns('fresh', 'You said: ')
    const invoked = await suite.site.run(['fresh', '--args', '{"text":"hi"}'])
    assert.deepEqual([invoked.code, invoked.out.trim()], [0, 'You said: hi'])
    const listed = await suite.site.run(['skill', 'list'])
    assert.match(listed.out, /fresh.*Says what it was told/)
    assert.doesNotMatch(listed.out, /remember-note|gateway-send/)
    assert.match(listed.err, /\d+ built-in skills, \d+ words of the assistant: `trivium skill list --all`/)
    const all = await suite.site.run(['skill', 'list', '--all'])
    assert.match(
      all.out,
      /fresh[\s\S]*word of the assistant[\s\S]*remember-note[\s\S]*built in[\s\S]*gateway-send/,
    )
    const shown = await suite.site.run(['skill', 'show', 'fresh'])
    assert.match(shown.out, /The text of the message/)
    for (const kind of [[], ['--markdown']]) {
      const again = await suite.site.run(['skill', 'new', 'fresh', ...kind])
      assert.equal(again.code, 2)
      assert.match(again.err, /^trivium: .*\/fresh already exists\. Choose another name\.\n$/)
    }
    const flag = await suite.site.run(['fresh', '--txet', 'x', '--json'])
    assert.equal(flag.code, 2)
    assert.equal(JSON.parse(flag.err).error.code, 'usage')
    assert.match(JSON.parse(flag.err).error.message, /unknown option '--txet'/)
    const misspelt = await suite.site.run(['skill', 'show', 'frehs'])
    assert.equal(misspelt.code, 1)
    assert.match(misspelt.err, /Did you mean fresh\?/)
  })

  test('a session can be named by a header of a delivery or of a call over HTTP', async () => {
    const deliver = async (headers: Record<string, string>) => {
      const authorization = 'Bearer a-secret-of-the-hook'
      const answer = await suite.daemon.post('/hook', '{}', { authorization, 'x-user': 'bob', ...headers })
      return pathGet(answer.body, 'reply')
    }
    const call = async (headers: Record<string, string>) => {
      const authorization = `Bearer ${suite.daemon.token}`
      const url = `${suite.daemon.control}/v1/skills/tenant`
      const answer = await fetch(url, { method: 'POST', headers: { authorization, ...headers } })
      return pathGet(await answer.json(), 'result')
    }
    assert.equal(await deliver({ 'x-tenant-id': 'red' }), 'asked 0')
    assert.equal(await deliver({ 'x-tenant-id': 'red' }), 'asked 1')
    assert.equal(await deliver({ 'x-tenant-id': 'blue' }), 'asked 0')
    assert.equal(await deliver({}), 'no session')
    assert.equal(await call({ 'x-tenant-id': 'red' }), 'asked 2')
    assert.equal(await call({}), 'no session')
  })

  test('a route with approval: true waits for an approval, and then runs', async () => {
    const ada = await connect(suite.daemon, 'token-of-ada-1234')
    ada.say('pay 5')
    const asked = await ada.reply(/needs an approval/)
    const id = /--id (\w+)/.exec(asked)?.[1]
    const pending = await suite.daemon.invoke('approval-list', { status: 'pending' })
    assert.equal(pathGet(pending, '0.id'), id)
    assert.ok(!ada.texts().some((text) => text.startsWith('paid')))
    const decided = await suite.site.run(['approval-decide', '--id', String(id), '--approve'])
    assert.equal(decided.code, 0, decided.err)
    assert.equal(await ada.reply(/^paid/), 'paid: pay 5')
    // The approval belongs to the skill, whoever calls it.
    const call = suite.daemon.invoke('pay', { text: 'by an operator' })
    const [next] = await until(async () => {
      const found = await suite.daemon.invoke('approval-list', { status: 'pending' })
      return Array.isArray(found) && found.length > 0 ? found : undefined
    }, 'the request of the call')
    await suite.daemon.invoke('approval-decide', { id: pathGet(next, 'id'), approve: true })
    assert.equal(await call, 'paid: by an operator')
    ada.close()
  })

  test('a verified sender with the role is allowed, others and unverified senders are not', async () => {
    const ada = await connect(suite.daemon, 'token-of-ada-1234')
    const bob = await connect(suite.daemon, 'token-of-bob-1234')
    /** Pretends to be Ada on a gateway without verification. */
    const claim = async (text: string) => {
      const answer = await suite.daemon.post('/open', text, { 'content-type': 'text/plain', 'x-user': 'ada' })
      return String(pathGet(answer.body, 'id'))
    }
    /** A verified sender of another gateway with the same name. */
    const namesake = async () => {
      const headers = { authorization: 'Bearer a-secret-of-the-hook', 'x-user': 'Ada' }
      return String(pathGet((await suite.daemon.post('/hook', '{}', headers)).body, 'id'))
    }
    const historyAtEnd = (id: string) =>
      until(async () => {
        const history = JSON.stringify(pathGet(await suite.daemon.invoke('message-show', { id }), 'history'))
        return /"what":"(dead|done)"/.test(history) ? history : ''
      }, 'the end of a message')

    ada.say('admin')
    assert.equal(await ada.reply(/hello/), 'hello chat:ada')
    bob.say('good day')
    assert.equal(await bob.reply(/day/), 'You said: good day')
    for (const id of [
      await bob.say('admin'),
      await claim('admin'),
      await claim('good day'),
      await namesake(),
    ]) {
      assert.match(await historyAtEnd(id), /no access rule allows it for the sender/)
    }
    assert.equal(bob.texts().length, 1)

    suite.site.write('routes.yaml', ROUTES.replace('members: [chat:ada]', 'members: [chat:cleo]'))
    assert.equal((await suite.site.run(['reload'])).code, 0)
    assert.match(await historyAtEnd(await ada.say('admin')), /no access rule allows it for the sender/)
    for (const one of [ada, bob]) one.close()
  })
})

/**
 * A chat: `say` resolves to the id of the accepted message, `reply` to the first reply that fits.
 */
async function connect(daemon: DaemonProcess, token: string) {
  const { send, next, all, close } = await daemon.chat(`/ws?token=${token}`)
  const texts = () => all('message').map(({ text }) => String(text))
  return {
    texts,
    async say(text: string): Promise<string> {
      send({ text })
      return String((await next('ack')).messageId)
    },
    reply: (pattern: RegExp) =>
      until(() => texts().find((text) => pattern.test(text)), `a reply like ${pattern}`),
    close,
  }
}
