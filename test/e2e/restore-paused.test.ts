import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

/** Appends its text to the file `done` of the site, but fails while there is no file `healthy`. */
const WRITE = `import { appendFileSync, existsSync } from 'node:fs'
export default { description: 'writes', run({ message }) {
  if (!existsSync(new URL('../../healthy', import.meta.url))) throw new Error('not yet')
  appendFileSync(new URL('../../done', import.meta.url), (message?.text ?? 'tick') + '\\n')
} }`

const routesWith = (receiver: string) => `
gateways: { in: { transport: webhook, path: /in, verify: { scheme: none }, text: data.body } }
routes: [{ name: all, skill: write, retry: { attempts: 100, delay: 100ms, max-delay: 100ms } }]
schedules: [{ name: tick, skill: write, every: 1s }]
subscriptions:
  - { name: crm, match: { gateway: in }, url: "${receiver}", secret: "\${CRM_SECRET}", allow-private: true,
      retry: { delay: 100ms, max-delay: 100ms } }
`

const titlesOf = async (daemon: DaemonProcess) => {
  const { troubles } = Object(Object(await daemon.get('/v1/troubles')).result)
  return Array.from(troubles, (trouble) => String(Object(trouble).title))
}

for (const kind of ['embedded', 'Redis']) {
  test(`${kind}: after a restore with --paused, nothing runs or is pushed until daemon resume`, async () => {
    const pushed: string[] = []
    let status = 503
    const { url, close } = await serveHttp(async (request, response) => {
      const body = (await request.toArray()).join('')
      if (status === 200) pushed.push(JSON.parse(body).data.body)
      response.writeHead(status).end()
    })
    after(close)
    const servers = kind === 'Redis' ? await Promise.all([startRedisServer(), startRedisServer()]) : []
    after(() => Promise.all(servers.map((server) => server.stop())))
    const env = (server?: { url: string }) => ({
      CRM_SECRET: `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`,
      ...(server && { REDIS_URL: server.url }),
    })
    const old = openSite({ routes: routesWith(url), skills: { write: WRITE }, env: env(servers[0]) })
    const archive = join(old.dir, 'backup.tgz')
    const first = await old.start()
    assert.equal((await first.post('/in', '"waiting"')).status, 202)
    await until(
      async () => JSON.stringify(await first.invoke('subscription-list')).includes('503'),
      'a refused push',
    )
    const saved = await old.run(['backup', archive])
    assert.equal(saved.code, 0, saved.err)
    await first.end()

    const site = openSite({ routes: routesWith(url), skills: { write: WRITE }, env: env(servers[1]) })
    site.write('healthy', '')
    const done = () => {
      const path = join(site.dir, 'done')
      return existsSync(path) ? readFileSync(path, 'utf8') : ''
    }
    status = 200
    const { out, err } = await site.run(['restore', '--paused', archive])
    assert.match(out, /everything is paused until `trivium daemon resume`/, err)
    const paused = await site.start()
    assert.equal((await paused.post('/in', '"new"')).status, 202)
    // Long enough for the schedule, and for the retries of route and push.
    await pause(2_500)
    assert.deepEqual([done(), pushed], ['', []])
    assert.equal((await titlesOf(paused))[0], 'Everything is paused')
    // A restart does not end the pause, and neither do commands without a daemon.
    await paused.end()
    const listed = await site.run(['message', 'list'])
    assert.equal(listed.code, 0, listed.err)
    const daemon = await site.start()
    assert.deepEqual([done(), pushed], ['', []])
    const second = kind === 'Redis' ? await site.start({ TRIVIUM_DATA_DIR: 'second' }) : undefined
    if (second) assert.ok((await titlesOf(second)).includes('Everything is paused'))

    assert.match((await site.run(['daemon', 'resume'])).out, /continue/)
    await until(
      () => /waiting/.test(done()) && /new/.test(done()) && /tick/.test(done()),
      'skills and the schedule',
    )
    await until(() => pushed.length === 2, 'both pushes')
    assert.deepEqual(pushed.toSorted(), ['new', 'waiting'])
    assert.ok(!(await titlesOf(daemon)).includes('Everything is paused'))
    if (second) {
      await until(async () => !(await titlesOf(second)).includes('Everything is paused'), 'the second daemon')
      await second.end()
    }
    assert.match((await site.run(['daemon', 'resume'])).out, /Nothing was paused/)
    await daemon.end()
  })
}

test('store pause pauses the daemons that start later, and is refused while one runs', async () => {
  const site = openSite({ routes: 'gateways: { cli: { transport: cli } }' })
  assert.match((await site.run(['store', 'pause'])).out, /until `trivium daemon resume`/)
  // A command does not wait for a reply that cannot come, also without a daemon.
  const began = performance.now()
  const sent = await site.run(['message', 'cli', 'hello', '--wait', '60000'])
  assert.match(
    sent.out,
    /Accepted as .*Everything is paused, so the message waits\. `trivium daemon resume`/s,
  )
  assert.ok(performance.now() - began < 30_000)
  assert.match((await site.run(['daemon', 'resume'])).out, /continue/)
  assert.equal((await site.run(['store', 'pause'])).code, 0)
  const daemon = await site.start()
  assert.ok((await titlesOf(daemon)).includes('Everything is paused'))
  const pauses = await site.run(['pause', 'list'])
  assert.match(pauses.out, /store\teverything/)
  assert.match(pauses.err, /`trivium daemon resume`/)
  assert.match((await site.run(['store', 'pause', '--json'])).err, /store_locked/)
  assert.match((await site.run(['daemon', 'resume'])).out, /continue/)
  await until(async () => (await titlesOf(daemon)).length === 0, 'no trouble')
  await daemon.end()
})

test('Redis: store pause warns of daemons that run, as they do not see it', async () => {
  const server = await startRedisServer()
  after(() => server.stop())
  const routes = `gateways: { in: { transport: webhook, path: /in, verify: { scheme: none } } }
routes: [{ name: all, skill: write }]`
  const site = openSite({ routes, skills: { write: WRITE }, env: { REDIS_URL: server.url } })
  const daemon = await site.start()
  assert.match((await site.run(['store', 'pause'])).out, /1 daemon is running.*Restart/)
  await daemon.end()
  assert.doesNotMatch((await site.run(['store', 'pause'])).out, /running/)
})
