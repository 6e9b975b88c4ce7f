import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const DAY = 86_400_000
const dayIn = (days: number) =>
  new Date(Date.now() + days * DAY).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
/**
 * Hours that include the present, also if midnight passes during the test, and hours that do not.
 */
const [NOW, LATER] = [`${dayIn(0)}, ${dayIn(1)}`, dayIn(3)]

const ROUTES = `
gateways:
  desk: { transport: webhook, path: /desk, verify: { scheme: none }, text: data.body.text, from: data.body.from }
routes:
  - { name: closed, match: { gateway: desk, hours: "${LATER}" }, skill: echo }
  - { name: people, match: { gateway: desk, hours: "${NOW}", not: { from: "*@bots.example" } }, skill: echo }
  - { name: rest, match: { gateway: desk }, skill: echo }
topics:
  gateway-message: { groups: { people: { match: { not: { from: "*@bots.example" } } } } }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`not and hours, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ ownProcess: 'first', routes: ROUTES, store })
    const send = async (from: string, text = 'hello') => {
      const { body } = await suite.daemon.post('/desk', JSON.stringify({ from, text }))
      return String(Object(body).id)
    }
    const routeOf = async (id: string) => {
      const shown = await until(
        async () =>
          [Object(await suite.daemon.invoke('message-show', { id }))].find((m) => m.outcome === 'done'),
        'the end',
      )
      return Object(
        shown.history.find(({ detail }: { detail?: { route?: string } }) => detail?.route)?.detail,
      ).route
    }

    test('a route matches messages that are within its hours and not excluded', async () => {
      assert.equal(await routeOf(await send('ada@example.com')), 'people')
      assert.equal(await routeOf(await send('ci@bots.example')), 'rest')
    })

    test('route explain names the hours and the exclusion that did not match', async () => {
      const id = await send('ci@bots.example')
      const { out } = await suite.site.run(['route', 'explain', id, '--all'])
      assert.match(out, new RegExp(`outside of hours ${LATER}`))
      assert.match(out, /excluded by not\.from/)
      const explained = JSON.parse((await suite.site.run(['--json', 'route', 'explain', id])).out)
      const reasons = explained.flatMap(({ keys }: { keys: { reason?: string }[] }) =>
        keys.flatMap(({ reason }) => reason ?? []),
      )
      assert.deepEqual(reasons, [`outside of hours ${LATER}`, 'excluded by not.from'])
    })

    test('gateway-receive takes messages that are not excluded, and leaves the rest', async () => {
      const receive = async (match?: object) => {
        const args = { gateway: 'desk', timeout: 0, ...(match && { match }) }
        return Object(await suite.daemon.invoke('gateway-receive', args))
      }
      // Takes the messages of the tests above.
      while ((await receive()).id) {}
      await send('ci@bots.example')
      const wanted = await send('ada@example.com')
      const match = { not: { from: '*@bots.example' }, hours: NOW }
      assert.equal((await receive({ ...match, hours: LATER })).id, undefined)
      assert.equal((await receive(match)).id, wanted)
      assert.equal((await receive(match)).id, undefined)
      assert.equal((await receive()).from.id, 'ci@bots.example')
      await assert.rejects(receive({ hours: 'Mon-Fri 9-17' }), /"9-17" is not a time range/)
      await assert.rejects(receive({ not: {} }), /excludes every message/)
    })

    test('groups of the file and of a subscriber get events that are not excluded, also after a restart', async () => {
      const base = { topic: 'gateway-message', ack: true, timeout: 0 }
      const own = { ...base, queue: 'own', match: { not: [{ from: 'ada@*' }, { hours: LATER }] } }
      await suite.daemon.invoke('event-wait', own)
      const people = { ...base, queue: 'people' }
      // The group of the file has the messages of the tests above.
      while (Object(await suite.daemon.invoke('event-wait', people)).length > 0) {}
      await suite.restart('SIGKILL')
      await send('ci@bots.example')
      const person = await send('ada@example.com')
      const other = await send('bob@example.com')
      const idsOf = async (args: object) => {
        const ids: string[] = []
        await until(async () => {
          const events = Object(await suite.daemon.invoke('event-wait', args))
          ids.push(...events.map(({ id }: { id: string }) => id))
          return ids.length === 2
        }, 'two events')
        return ids
      }
      assert.deepEqual(await idsOf(people), [person, other])
      assert.equal((await idsOf(own))[1], other)
    })

    test('the hours of an event of another topic are those of its publication', async () => {
      const wait = (queue: string, hours: string) =>
        suite.daemon.invoke('event-wait', { topic: 'work', queue, timeout: 0, match: { hours } })
      for (const [queue, hours] of [
        ['now', NOW],
        ['later', LATER],
      ] as const)
        await wait(queue, hours)
      await suite.daemon.invoke('event-emit', { topic: 'work', data: 1 })
      assert.equal(Object(await wait('now', NOW)).length, 1)
      assert.equal(Object(await wait('later', LATER)).length, 0)
    })

    test('tail shows messages that are not excluded', async () => {
      const shown = suite.site.run([
        '--json',
        'tail',
        '--max',
        '1',
        '--match',
        '{"not":{"from":"*@bots.example"}}',
      ])
      let wanted = ''
      const sending = until(async () => {
        await send('ci@bots.example')
        wanted = await send('ada@example.com')
        return Promise.race([shown.then(() => true), new Promise((resolve) => setImmediate(resolve))])
      }, 'a line')
      const { out } = await shown
      await sending
      assert.ok(wanted)
      const lines = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      const senders = lines.flatMap(({ type, from }) => (type === 'message' ? from.id : []))
      assert.deepEqual(senders, ['ada@example.com'])
    })
  })
}
