import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  open: { transport: websocket, path: /open }
  chat: { transport: websocket, path: /chat, tokens: { ada: "ada's long token" } }
access:
  roles:
    all: { members: ["*"], skills: [watch, decide] }
    staff: { members: ['chat:ada'], skills: [watch, allowed] }
routes:
  - { name: watch, skill: watch }
`
const writer = (file: string) => `import { writeFileSync } from 'node:fs'
export default { description: 'writes ${file}', run: () => writeFileSync(new URL('../../${file}', import.meta.url), '') }`

const SKILLS = {
  guarded: `export default { description: 'asks first', metadata: { approval: true }, run: () => 'done' }`,
  allowed: writer('allowed'),
  danger: writer('danger'),
  decide: `export default { description: 'decides', run: ({ args, manager }) => manager.invoke('approval-decide', args.data) }`,
  watch: `export default { description: 'subscribes', run: ({ args, manager }) =>
  manager.invoke('event-subscribe', { topic: 'alarms', ref: args.text })
    .then(({ queue }) => queue, ({ code, message }) => code + ': ' + message) }`,
  relay: `import { writeFileSync } from 'node:fs'
export default { description: 'subscribes and waits', async run({ manager }) {
  const { queue } = await manager.invoke('event-subscribe', { topic: 'news' })
  writeFileSync(new URL('../../relay-' + queue.replace(/[^a-z0-9-]/gi, '-'), import.meta.url), '')
  const events = await manager.invoke('event-wait', { topic: 'news', timeout: 20000 })
  return { queue, seen: events.map(({ data }) => data) }
} }`,
}

describe('a call', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS })

  const pending = async () => Object(await suite.daemon.invoke('approval-list', { status: 'pending' }))
  const nextRequest = () => until(async () => (await pending())[0], 'a request for approval')
  const letterTo = async (group: string) =>
    Object(await suite.daemon.invoke('dead-letter-list', { group }))[0]
  /** Number of `relay` skills that have subscribed. Their groups are in no list. */
  const relays = () => readdirSync(suite.site.dir).filter((name) => name.startsWith('relay-')).length

  test('needs its own approval, also after one for the same arguments', async () => {
    for (const approve of [true, true, false, true]) {
      const call = suite.daemon.invoke('guarded', { n: 1 }).catch((error: Error) => error.message)
      const { id, by } = await nextRequest()
      assert.equal(by, 'http control')
      await suite.daemon.invoke('approval-decide', { id, approve })
      assert.match(String(await call), approve ? /^done$/ : /^approval_denied: /)
    }
  })

  test('whose caller disconnects withdraws its request for approval', async () => {
    const caller = new AbortController()
    const headers = { authorization: `Bearer ${suite.daemon.token}` }
    const call = fetch(`${suite.daemon.control}/v1/skills/guarded`, {
      method: 'POST',
      headers,
      signal: caller.signal,
    })
    await nextRequest()
    caller.abort()
    await assert.rejects(call)
    await until(async () => (await pending()).length === 0, 'no request')
  })

  test('that subscribes without a queue receives all events, and its group ends with it', async () => {
    const running = [suite.daemon.invoke('relay'), suite.daemon.invoke('relay')]
    await until(() => relays() === 2, 'two groups')
    await suite.daemon.invoke('event-emit', { topic: 'news', data: 'extra' })
    const [one, two] = (await Promise.all(running)).map(Object)
    assert.deepEqual([one.seen, two.seen], [['extra'], ['extra']])
    assert.notEqual(one.queue, two.queue)
    for (const { queue } of [one, two])
      assert.deepEqual(await suite.daemon.invoke('event-unsubscribe', { topic: 'news', queue }), {
        ok: false,
      })
  })

  test('can read the queue of an earlier subscription', async () => {
    const { queue } = Object(await suite.daemon.invoke('event-subscribe', { topic: 'later' }))
    await suite.daemon.invoke('event-emit', { topic: 'later', data: 1 })
    const waited = await suite.site.run(['event-wait', 'later', '--queue', queue, '--json'])
    assert.equal(JSON.parse(waited.out)[0].data, 1, waited.err)
    assert.deepEqual(await suite.daemon.invoke('event-unsubscribe', { topic: 'later', queue }), { ok: true })
  })

  test('of a stranger cannot decide an approval by a subscription, even if a role has the skill', async () => {
    const call = suite.daemon.invoke('guarded', { n: 2 }).catch((error: Error) => error.message)
    const { id } = await nextRequest()
    const { ask: stranger } = await suite.daemon.chat('/open')
    assert.equal(await stranger('decide'), '~ref:decide:')
    await suite.daemon.invoke('event-emit', { topic: 'alarms', data: { id, approve: true } })
    const letter = await until(() => letterTo('decide'), 'the refusal')
    assert.equal(letter.errors[0].code, 'forbidden')
    await suite.daemon.invoke('approval-decide', { id, approve: false })
    assert.match(String(await call), /^approval_denied/)
    await suite.daemon.invoke('event-unsubscribe', { topic: 'alarms', queue: '~ref:decide:' })
  })

  test('by a subscription needs the rights of its creator at creation and at the run', async () => {
    const { ask: ada } = await suite.daemon.chat(`/chat?token=${encodeURIComponent("ada's long token")}`)
    assert.match(await ada('danger'), /^forbidden: Skill danger for \S*ada is not allowed/)
    assert.equal(await ada('allowed'), await ada('allowed'), 'a repeated subscription is the same')
    await suite.daemon.invoke('event-emit', { topic: 'alarms' })
    await until(() => existsSync(join(suite.site.dir, 'allowed')), 'the skill')

    writeFileSync(join(suite.site.dir, 'routes.yaml'), ROUTES.replace('[watch, allowed]', '[watch]'))
    const letter = await until(async () => {
      await suite.daemon.invoke('event-emit', { topic: 'alarms' })
      return letterTo('allowed')
    }, 'the refusal')
    assert.equal(letter.errors[0].code, 'forbidden')
    assert.equal(existsSync(join(suite.site.dir, 'danger')), false)
  })
})
