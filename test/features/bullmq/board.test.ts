import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../../fixtures/daemon.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'

test('the board at /queues shows the queues to operators only', { timeout: 300_000 }, async (t) => {
  const redis = await startRedisServer()
  t.after(redis.stop)
  const site = openSite({
    routes: `
queues: { redis: "${redis.url}" }
tokens: [{ name: program, token: a-token-of-a-program, skills: ["*"], gateways: ["*"] }]
routes: [{ name: rest, queue: invoices }]
`,
  })
  const { control, token } = await site.start()
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(control + path, { method, headers: { connection: 'close', ...headers }, redirect: 'manual' })
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

  for (const headers of [
    {},
    bearer('wrong'),
    bearer('a-token-of-a-program'),
    { cookie: 'trivium-session=x' },
  ]) {
    assert.equal((await get('/queues/', headers)).status, 401)
    assert.equal((await get('/queues/api/queues', headers)).status, 401)
  }

  const login = await get('/v1/session', bearer(token), 'POST')
  const cookie = { cookie: (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '' }
  const page = await (await get('/queues/', cookie)).text()
  assert.match(page, /<title>Trivium queues/)
  const [script = ''] = /static\/js\/main[^"]*/.exec(page) ?? []
  assert.equal((await get(`/queues/${script}`, cookie)).status, 200)
  const { out } = await site.run(['message', 'cli', 'hello', '--wait', '1'])
  assert.match(out, /Accepted/)
  const isWaiting = async () =>
    /"name":"invoices".*"waiting":1/.test(await (await get('/queues/api/queues', cookie)).text())
  await until(isWaiting, 'the job on the board')

  const pause = (more: Record<string, string>) =>
    get('/queues/api/queues/invoices/pause', { ...cookie, ...more }, 'PUT')
  assert.equal((await pause({ origin: 'http://127.0.0.1:1' })).status, 403)
  assert.equal((await pause({ origin: control })).status, 200)
})

test('/queues is not found if no route has a queue', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo }]' })
  const { control, token } = await site.start()
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  assert.equal((await fetch(`${control}/queues/`, { headers })).status, 404)
})
