import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const GATEWAY = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  ask: { transport: webhook, path: /hooks/ask, verify: { scheme: none }, respond: result, timeout: 1s }
  quiet: { transport: webhook, path: /hooks/quiet, verify: { scheme: none } }
  picky: { transport: webhook, path: /hooks/picky, verify: { scheme: none } }
`
const PICKY = "{ name: picky, match: { gateway: picky, text: 'please*' }, skill: echo }"
const ROUTE = `
routes:
  - { name: all, match: { gateway: demo }, skill: echo, reply: none }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`messages without a route, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ ownProcess: 'first', routes: `${GATEWAY}routes: [${PICKY}]`, store })

    const post = async (text: string, path = '/hooks/demo') => {
      const answer = await suite.daemon.post(path, JSON.stringify({ text }))
      return String(Object(answer.body).id)
    }
    const unrouted = async (): Promise<string[]> => {
      const page = Object(
        await suite.daemon.invoke('message-search', { outcome: 'unrouted', gateway: 'demo' }),
      )
      return page.messages.map(({ id }: { id: string }) => id).reverse()
    }
    /** The outcome of a message, followed by its notes without those of the receive road. */
    const historyOf = async (id: string) => {
      const { outcome, history } = Object(await suite.daemon.invoke('message-show', { id }))
      const notes = history.filter(({ road }: { road: string }) => road !== 'receive')
      return [outcome, ...notes.map(({ what }: { what: string }) => what)]
    }
    const metrics = async () => {
      const headers = { authorization: `Bearer ${suite.daemon.token}`, connection: 'close' }
      return (await fetch(`${suite.daemon.control}/metrics`, { headers })).text()
    }
    const replay = (args: JsonObject = {}) => suite.daemon.invoke('message-replay', { since: '1h', ...args })

    test('are a trouble only if the gateway has a route for other messages', async () => {
      const troubled = async () => {
        const { result } = Object(await suite.daemon.get('/v1/troubles'))
        const found = result.troubles.filter(({ code }: { code: string }) => code === 'unrouted')
        return found.map(({ where }: { where: { gateway: string } }) => where.gateway)
      }
      await suite.daemon.post('/hooks/quiet', '{"text":"for receivers"}')
      await suite.daemon.post('/hooks/picky', '{"text":"something else"}')
      await until(async () => (await troubled()).length > 0, 'a trouble')
      assert.deepEqual(await troubled(), ['picky'])
    })

    test('a message whose sender waits for a result has one note that it is unrouted', async () => {
      const [outcome, ...notes] = await historyOf(await post('0', '/hooks/ask'))
      assert.equal(outcome, 'unrouted')
      // The end of the request is noted, too.
      const others = notes.filter((what) => what !== 'request ended')
      assert.deepEqual(others, ['accepted', 'unrouted'])
    })

    test('a replay dispatches a message whose sender waited, unless a worker has answered it', async () => {
      const [lost, answered] = [await post('late', '/hooks/ask'), await post('by a worker', '/hooks/ask')]
      await suite.daemon.invoke('gateway-send', { messageId: answered, text: 'from the worker' })
      await until(async () => (await historyOf(answered)).includes('sent'), 'the reply of the worker')
      suite.site.write(
        'routes.yaml',
        `${GATEWAY}routes: [{ name: late, match: { gateway: ask }, skill: echo }]`,
      )
      await until(async () => Object(await replay({ gateway: 'ask', dryRun: true })).routed > 0, 'the route')
      const counts = Object(await replay({ gateway: 'ask' }))
      assert.equal(counts.answered, 1)
      await until(async () => (await historyOf(lost))[0] !== 'unrouted', 'the run')
      assert.ok((await historyOf(lost)).includes('routed again'))
      assert.ok(!(await historyOf(answered)).includes('routed again'))
      suite.site.write('routes.yaml', `${GATEWAY}routes: [${PICKY}]`)
      await until(
        async () => Object(await replay({ gateway: 'ask', dryRun: true })).unrouted > 0,
        'the old routes',
      )
    })

    test('stay unrouted over a crash, until a replay with other routes dispatches them once', async () => {
      const ids = [await post('1'), await post('2')]
      await until(async () => (await unrouted()).length === 2, 'two unrouted messages')
      assert.deepEqual(await historyOf(ids[0] ?? ''), ['unrouted', 'accepted', 'unrouted'])
      assert.match(await metrics(), /trivium_dispatched_total\{[^}]*outcome="unrouted"[^}]*\} \d/)
      await suite.restart('SIGKILL')
      assert.deepEqual(await unrouted(), ids)
      suite.site.write('routes.yaml', GATEWAY + ROUTE)
      const [first = '', second = ''] = ids
      await until(async () => Object(await replay()).routed === 2, 'the new route')
      await until(async () => (await historyOf(second))[0] === 'done', 'the end')
      assert.deepEqual((await historyOf(first)).slice(1, 3), ['accepted', 'unrouted'])
      assert.ok((await historyOf(first)).includes('routed again'))
      assert.deepEqual(await unrouted(), [])
      assert.equal(Object(await replay()).routed, 0)

      const third = await post('3')
      await until(async () => (await historyOf(third))[0] === 'done', 'the end of the third')
      assert.ok(!(await historyOf(third)).includes('unrouted'))
    })
  })
}
