import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type DaemonProcess, openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  one: { transport: webhook, path: /one, verify: { scheme: none } }
  two: { transport: webhook, path: /two, verify: { scheme: none } }
tokens:
  - { name: ops, token: "a-token-of-operations", skills: ["*"], gateways: [two] }
  - { name: pauses, token: "a-token-for-pauses", skills: ["*-pause", "*-resume"], gateways: ["*"] }
routes:
  - { name: other, match: { gateway: two, text: nothing }, skill: work }
  - { name: all, skill: work, retry: { attempts: 2, delay: 10ms } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: work, args: { text: at night } }
`
const SKILLS = {
  work: `import { appendFileSync } from 'node:fs'
const at = (name) => new URL('../../' + name, import.meta.url)
export default { description: 'works', async run({ args, signal }) {
  const { text } = args
  appendFileSync(at('done'), text + '\\n')
  if (text.startsWith('hang')) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
} }`,
}

const done = ({ dir }: Site) => {
  const path = join(dir, 'done')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
}
const post = async (daemon: DaemonProcess, path: string, text: string) => {
  const { status, body } = await daemon.post(path, text, { 'content-type': 'text/plain' })
  assert.equal(status, 202)
  return String(Object(body).id)
}
const worked = (site: Site, ...texts: string[]) =>
  until(() => (done(site).length >= texts.length ? true : undefined), `the work on ${texts}`, 30_000).then(
    () => assert.deepEqual(done(site).toSorted(), texts.toSorted()),
  )

for (const kind of ['embedded', 'redis'] as const) {
  describe(`pauses on the ${kind} store`, { timeout: 300_000 }, () => {
    test('hold messages over kills until the resume, and a run can be cancelled', async (t) => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      if (redis) t.after(() => redis.stop())
      const site = openSite({
        ownProcess: 'first',
        routes: ROUTES,
        skills: SKILLS,
        env: redis ? { REDIS_URL: redis.url } : {},
      })
      let daemon = await site.start()
      const refused = (name: string, args: object, message: RegExp) =>
        assert.rejects(daemon.invoke(name, args), message)

      await refused('gateway-pause', { gateway: 'three' }, /gateway_not_found: .*three/)
      await refused('route-pause', { route: 'none' }, /not_found: .*route none/)
      await refused('skill-pause', { skill: 'wrok' }, /skill_not_found: .*Did you mean work/)
      await refused('conversation-pause', { conversation: 'x' }, /not_found: .*conversation x/)
      await refused('gateway-resume', { gateway: 'three' }, /gateway_not_found/)
      await refused('run-cancel', { messageId: 'x' }, /message_not_found/)
      const statusWith = async (token: string, name: string, args: object) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const url = `${daemon.control}/v1/skills/${name}`
        return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(args) })).status
      }
      assert.equal(await statusWith('a-token-of-operations', 'gateway-pause', { gateway: 'one' }), 403)
      assert.equal(await statusWith('a-token-of-operations', 'route-pause', { route: 'all' }), 403)
      for (const name of ['skill-pause', 'skill-resume']) {
        assert.equal(await statusWith('a-token-for-pauses', name, { skill: 'work' }), 200, name)
        assert.equal(await statusWith('a-token-for-pauses', name, { skill: 'none' }), 404, name)
      }

      await daemon.invoke('gateway-pause', { gateway: 'one', reason: 'the CRM is down' })
      const first = await post(daemon, '/one', 'a')
      await post(daemon, '/two', 'b')
      await worked(site, 'b')
      assert.equal((await site.run(['pause', 'list'])).out.match(/the CRM is down/)?.length, 1)
      await daemon.invoke('subscription-pause', { name: 'crm' })
      await daemon.invoke('schedule-pause', { id: 'nightly' })
      await daemon.invoke('schedule-pause', { id: 'nightly', reason: 'holidays' })
      await daemon.invoke('route-pause', { route: 'other', reason: 'looks wrong' })
      const everything = [await daemon.invoke('pause-list')]
        .flat()
        .map((each) => `${Object(each).kind} ${Object(each).name}`)
      assert.deepEqual(everything, ['gateway one', 'route other', 'subscription crm', 'schedule nightly'])
      assert.match((await site.run(['pause', 'list'])).out, /nightly.*holidays/)
      assert.match(
        (await site.run(['schedule', 'show', 'nightly'])).out,
        /paused by .*: holidays\. Planned times are skipped/,
      )
      const routes = [await daemon.invoke('route-list')].flat()
      assert.partialDeepStrictEqual(routes, [
        { name: 'other', target: 'skill', to: 'work', paused: { kind: 'route', reason: 'looks wrong' } },
        { name: 'all', target: 'skill', to: 'work', fallback: true },
      ])
      assert.equal(Object(routes[1]).paused, undefined)
      assert.match(
        (await site.run(['route', 'list'])).out,
        /other\s+skill work\s+gateway: two, text: nothing\s+(?:\d+\s+)*paused by .*: looks wrong/,
      )
      await daemon.invoke('schedule-resume', { id: 'nightly' })
      await daemon.invoke('subscription-resume', { name: 'crm' })
      await daemon.invoke('route-resume', { route: 'other' })
      const status = (await site.run(['status'])).out
      assert.match(status, /Gateway one is paused/)
      const metrics = await (await fetch(`${daemon.control}/metrics`)).text()
      assert.match(metrics, /oldest_waiting_seconds\{road="dispatch",gateway="one"\} 0\n/, 'no alert')
      await daemon.end('SIGKILL')
      daemon = await site.start()
      await post(daemon, '/two', 'c')
      await worked(site, 'b', 'c')
      const shown = Object(await daemon.invoke('message-show', { id: first }))
      assert.equal(shown.outcome ?? 'waiting', 'waiting')
      await daemon.invoke('gateway-resume', { gateway: 'one' })
      await worked(site, 'a', 'b', 'c')

      for (const [pause, resume, args] of [
        ['route-pause', 'route-resume', { route: 'all' }],
        ['skill-pause', 'skill-resume', { skill: 'work' }],
      ] as const) {
        await daemon.invoke(pause, args)
        const before = done(site).length
        const id = await post(daemon, '/two', pause)
        const isHeld = async () =>
          [await daemon.invoke('pause-list')].flat().some((each) => Object(each).messageIds?.includes(id))
        await until(isHeld, 'a held message')
        assert.equal(done(site).length, before)
        await daemon.invoke(resume, args)
        await until(() => done(site).includes(pause), `the work after ${resume}`)
      }

      const hanging = await post(daemon, '/two', 'hang')
      await until(() => done(site).includes('hang'), 'the hanging run')
      const cancelled = await daemon.invoke('run-cancel', { messageId: hanging, reason: 'wrong customer' })
      assert.deepEqual(cancelled, { ok: true, messageId: hanging, cancelled: true, outcome: 'dead' })
      const letter = JSON.stringify(await daemon.invoke('dead-letter-show', { id: hanging }))
      assert.match(letter, /run_cancelled.*wrong customer/)
      assert.equal(done(site).filter((text) => text === 'hang').length, 1, 'no second attempt')

      const handled = await post(daemon, '/two', 'd')
      await until(() => done(site).includes('d'), 'd')
      await daemon.invoke('conversation-pause', { conversation: handled, for: '1s' })
      assert.equal(Object(await daemon.invoke('pause-list')).length, 1)
      await until(async () => Object(await daemon.invoke('pause-list')).length === 0, 'the end of the pause')
      await daemon.end()
    })
  })
}
