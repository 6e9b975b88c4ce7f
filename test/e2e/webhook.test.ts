import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  list: { transport: webhook, path: /list, split: data.body, key: eventId, conversation: objectId }
  ask: { transport: webhook, path: /ask, respond: result, timeout: 4m }
  web: { transport: webhook, path: /web, conversation: cookie.sid }
  ids: { transport: webhook, path: /ids, key: data.body.id, conversation: data.body.chat }
routes:
  - { name: long, match: { gateway: ids, data.body.id: 7615917337495251231 }, skill: log-id }
  - { name: answer, match: { gateway: ask }, skill: answer, retry: { attempts: 1 } }
`
const SKILLS = {
  'log-id': `export default { description: 'logs', run: ({ message, log }) => { log.info({ id: message.data.body.id }, 'taken') } }`,
  answer: `export default { description: 'decides the response', run: ({ message }) => message.data.body }`,
}

for (const store of ['embedded', 'redis'] as const) {
  describe(`webhooks through a whole daemon, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })
    const json = { 'content-type': 'application/json' }
    const post = async (path: string, body: string, headers = {}) => {
      const { status, body: answer } = await suite.daemon.post(path, body, { ...json, ...headers })
      return { status, ...Object(answer) }
    }
    const receive = async (gateway: string) =>
      Object(await suite.daemon.invoke('gateway-receive', { gateway, timeout: 10_000 }))

    test('a list becomes a message per element, which a redelivery does not repeat', async () => {
      await suite.daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'all' })
      const element = (eventId: number) => ({ eventId, objectId: eventId % 3, text: 'x'.repeat(200) })
      const list = Array.from({ length: 1_200 }, (_, n) => element(n))
      const first = await post('/list', JSON.stringify(list))
      assert.deepEqual([first.status, first.ids.length, first.duplicates], [202, 1_200, undefined])
      const again = await post('/list', JSON.stringify([...list.slice(1_190), element(1_200)]))
      assert.deepEqual([again.status, again.duplicates], [202, 10])
      assert.deepEqual(again.ids.slice(0, 10), first.ids.slice(1_190))
      const message = await receive('list')
      assert.deepEqual(
        [message.id, message.data.body, message.conversation],
        [first.ids[0], list[0], 'list:0'],
      )
      const events = await suite.daemon.invoke('event-wait', {
        topic: 'gateway-message',
        queue: 'all',
        max: 2,
        timeout: 10_000,
      })
      assert.deepEqual(
        Object(events).map(({ data }: { data: { body: unknown } }) => data.body),
        [list[0], list[1]],
      )
    })

    test('a long id keeps its digits for every consumer, in HTTP, on the command line and in the match of a route', async () => {
      await suite.daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'ids' })
      const ids = ['7615917337495251231', '7615917337495251232']
      for (const id of ids) {
        const taken = await post('/ids', `{"id":${id},"chat":-${id}}`)
        assert.deepEqual([taken.status, taken.duplicate], [202, undefined])
        const shown = Object(await suite.daemon.invoke('message-show', { id: taken.id }))
        assert.deepEqual([shown.message.key, shown.message.conversation], [id, `ids:-${id}`])
        const { out } = await suite.site.run(['message', 'show', taken.id, '--json'])
        assert.equal(JSON.parse(out).message.data.body.id, id)
        await until(async () => {
          const { outcome } = Object(await suite.daemon.invoke('message-show', { id: taken.id }))
          return outcome === (id === ids[0] ? 'done' : 'unrouted')
        }, 'the route of the id')
      }
      assert.deepEqual((await receive('ids')).data.body, { id: ids[0], chat: `-${ids[0]}` })
      const events = Object(
        await suite.daemon.invoke('event-wait', {
          topic: 'gateway-message',
          queue: 'ids',
          max: 2,
          timeout: 10_000,
        }),
      )
      assert.deepEqual(
        events.map(({ data }: { data: { body: { id: string } } }) => data.body.id),
        ids,
      )
      const published = { topic: 'own', type: 't', data: '@' }
      await suite.daemon.invoke('event-subscribe', { topic: 'own', queue: 'own' })
      const response = await fetch(`${suite.daemon.control}/v1/skills/event-emit`, {
        method: 'POST',
        headers: { ...json, authorization: `Bearer ${suite.daemon.token}` },
        body: JSON.stringify(published).replace('"@"', `{"id":${ids[0]}}`),
      })
      assert.equal(response.status, 200, await response.text())
      const [own] = Object(
        await suite.daemon.invoke('event-wait', { topic: 'own', queue: 'own', timeout: 10_000 }),
      )
      assert.deepEqual(own.data, { id: ids[0] })
    })

    test('a skill can set the HTTP response to a webhook that waits', async () => {
      const ask = (http: unknown) =>
        fetch(`${suite.daemon.url}/ask`, { method: 'POST', headers: json, body: JSON.stringify({ http }) })
      const page = await ask({
        status: 418,
        headers: { 'Content-Type': 'text/html', 'Set-Cookie': ['a=1', 'b=2'] },
        body: '<p>ü</p>',
      })
      assert.deepEqual([page.status, await page.text()], [418, '<p>ü</p>'])
      assert.equal(page.headers.get('content-type'), 'text/html')
      assert.deepEqual(page.headers.getSetCookie(), ['a=1', 'b=2'])
      assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
      const data = await ask({ body: { ok: true, list: [1] } })
      assert.deepEqual([data.status, await data.json()], [200, { ok: true, list: [1] }])
      assert.equal(data.headers.get('content-type'), 'application/json')
      const none = await ask({ status: 204 })
      assert.deepEqual([none.status, await none.text()], [204, ''])
      const moved = await fetch(`${suite.daemon.url}/ask`, {
        method: 'POST',
        redirect: 'manual',
        headers: json,
        body: JSON.stringify({ http: { status: 303, headers: { Location: 'https://example.org/' } } }),
      })
      assert.deepEqual([moved.status, moved.headers.get('location')], [303, 'https://example.org/'])
      // An invalid response becomes a dead letter with the reason, and the sender gets a 202.
      const bad = await ask({ status: 700 })
      assert.equal(bad.status, 202)
      const letters = await until(async () => {
        const found = JSON.stringify(await suite.daemon.invoke('dead-letter-list', {}))
        return found.includes('http.status') ? found : undefined
      }, 'the dead letter')
      assert.match(letters, /send_rejected/)
    })

    test('a cookie can name the conversation, and is not readable in it', async () => {
      const cookie = 'sid=s3ssion-of-ada; theme=dark'
      const first = await post('/web', '{"a":1}', { cookie })
      const second = await post('/web', '{"a":2}', { cookie })
      const shown = await Promise.all(
        [first, second].map(({ id }) => suite.daemon.invoke('message-show', { id })),
      )
      const [one, two] = shown.map((each) => Object(each).message.conversation)
      assert.match(one, /^web:cookie:[\da-f]{32}$/)
      assert.equal(one, two)
      const outputs = [JSON.stringify(shown), suite.daemon.output()]
      assert.doesNotMatch(outputs.join(), /s3ssion/)
    })
  })
}
