import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, conversation: data.body.conversation }
  chat: { transport: websocket, path: /ws }
routes:
  - name: poison
    match: { gateway: work, data.body.poison: "true" }
    skill: work
    retry: { attempts: 3, delay: 200ms, backoff: fixed }
  - name: chat
    match: { gateway: chat }
    skill: talk
  - name: rest
    skill: work
`

const SKILLS = {
  /** Leaves a line at start and end; waits or fails until the files that the message names are there. */
  work: `
    import { appendFileSync, existsSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'works', async run({ message, signal }) {
      const { n, until, poison } = message.data.body
      appendFileSync('log', 'start ' + n + '\\n')
      if (poison && !existsSync('cured')) throw new Error('poison ' + n)
      while (until && !existsSync(until)) await pause(10, undefined, { signal })
      appendFileSync('log', 'end ' + n + '\\n')
    } }`,
  /** Sends, says so, and waits to be killed; what it sends after that is new. */
  talk: `
    import { appendFileSync, existsSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'talks', async run({ manager, args, signal }) {
      if (args.text === 'plain') return 'plain'
      await manager.invoke('gateway-send', { text: 'first', wait: 5000 })
      appendFileSync('log', 'start talk\\n')
      while (!existsSync('go-talk')) await pause(10, undefined, { signal })
      await manager.invoke('gateway-send', { text: 'second' })
    } }`,
}

/** On Redis what a dead daemon had claimed is free after 10 s. */
const RECOVERY = 25_000

for (const store of ['embedded', 'redis'] as const) {
  describe(`a daemon that was killed and is back, on ${store}`, { timeout: 120_000 }, () => {
    let redis: RedisServer | undefined
    let site: Site
    let daemon: DaemonProcess

    before(async () => {
      redis = store === 'redis' ? await startRedisServer() : undefined
      site = createSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
      site.write('log', '')
      daemon = await site.start()
    })
    after(async () => {
      await daemon?.end('SIGKILL')
      site.remove()
      await redis?.stop()
    })

    const lines = () => readFileSync(join(site.dir, 'log'), 'utf8').split('\n')
    const crash = async () => {
      await daemon.end('SIGKILL')
      daemon = await site.start()
    }
    const post = (body: object, key?: string) =>
      daemon.post('/hooks/work', JSON.stringify(body), {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'webhook-id': key }),
      })
    const accept = async (body: object) => {
      const answer = await post(body)
      assert.equal(answer.status, 202)
      return String(Object(answer.body).id)
    }
    const letter = (id: string) => daemon.invoke('dead-letter-show', { id }).catch(() => undefined)

    test('dispatches what was running and all that was queued behind it, in order', async () => {
      const expected = Array.from({ length: 20 }, (_, n) => `end queued${n}`)
      for (const [n] of expected.entries())
        await accept({ conversation: 'queue', n: `queued${n}`, until: 'go' })
      await until(() => lines().includes('start queued0'), 'a running skill')
      await crash()
      site.write('go', '')
      await until(() => lines().includes('end queued19'), 'the end of the queue', RECOVERY)
      assert.deepEqual(
        lines().filter((line) => line.startsWith('end queued')),
        expected,
      )
    })

    test('does not send again what its skill had sent, and sends what was left', async () => {
      const client = await connect(daemon)
      client.say('first and second')
      await until(() => client.texts().includes('first'), 'the first reply')
      await until(() => lines().includes('start talk'), 'a skill that waits')
      await crash()
      site.write('go-talk', '')
      const again = await connect(daemon, client.conversation)
      await until(() => again.texts().includes('second'), 'the second reply', RECOVERY)
      again.say('plain')
      await until(() => again.texts().includes('plain'), 'the reply after')
      assert.deepEqual(again.texts(), ['first', 'second', 'plain'])
      again.end()
    })

    test('keeps dead letters whole, with every error, and drives them again', async () => {
      const id = await accept({ n: 'sick', poison: true, conversation: 'sick', text: 'all of it' })
      await until(() => letter(id), 'a dead letter')
      await crash()
      const [listed] = Object.values(Object(await daemon.invoke('dead-letter-list')))
      assert.equal(Object(listed).id, id)
      const { message, errors } = Object(await letter(id))
      assert.equal(message.data.body.text, 'all of it')
      assert.equal(errors.length, 3)
      assert.match(errors[2].message, /poison sick/)
      site.write('cured', '')
      await daemon.invoke('dead-letter-retry', { id })
      await until(() => lines().includes('end sick'), 'its dispatch')
      assert.deepEqual(await daemon.invoke('dead-letter-list'), [])
    })

    test('lost no delivery whose key it had seen, and accepts each key once', async () => {
      for (let round = 0; round < 3; round++) {
        const key = `cut-${round}`
        const cut = Array.from({ length: 10 }, () => post({ n: key }, key).catch(() => undefined))
        if (round > 0) await Promise.any(cut)
        await crash()
        const before = (await Promise.all(cut)).flatMap((answer) => (answer ? [Object(answer.body).id] : []))
        const { status, body } = await post({ n: key }, key)
        assert.ok(status === 200 || status === 202)
        for (const id of before) assert.equal(id, Object(body).id)
        await until(() => lines().includes(`end ${key}`), 'its dispatch', RECOVERY)
        const all = Object.values(
          Object(await daemon.invoke('message-list', { gateway: 'work', limit: 500 })),
        )
        assert.equal(all.filter((one) => Object(one).key === key).length, 1)
      }
    })
  })
}

describe('a poison message', { timeout: 60_000 }, () => {
  test('holds only its own conversation, and that only while its attempts last', async () => {
    const site = createSite({ routes: ROUTES, skills: SKILLS })
    site.write('log', '')
    const daemon = await site.start()
    try {
      const accept = (body: object) => daemon.post('/hooks/work', JSON.stringify(body))
      await accept({ conversation: 'sick', n: 'sick', poison: true })
      await accept({ conversation: 'sick', n: 'behind' })
      await accept({ conversation: 'healthy', n: 'healthy' })
      const lines = () => readFileSync(join(site.dir, 'log'), 'utf8').split('\n')
      await until(() => lines().includes('end behind'), 'the message behind it')
      const starts = lines().filter((line) => line.startsWith('start sick')).length
      assert.equal(starts, 3)
      assert.ok(lines().indexOf('end healthy') < lines().lastIndexOf('start sick'), 'the healthy one waited')
      assert.equal(Object.values(Object(await daemon.invoke('dead-letter-list'))).length, 1)
    } finally {
      await daemon.end()
      site.remove()
    }
  })
})

/** A client that comes with all replies of its conversation. */
async function connect(daemon: DaemonProcess, conversation?: string) {
  const query = conversation === undefined ? '' : `?conversation=${conversation}&after=0`
  const socket = new WebSocket(`${daemon.url.replace('http', 'ws')}/ws${query}`)
  const frames: { type: string; [key: string]: unknown }[] = []
  socket.on('error', () => {})
  socket.on('message', (data) => frames.push(JSON.parse(String(data))))
  const welcome = await until(() => frames[0], 'the welcome')
  return {
    conversation: String(welcome.conversation),
    texts: () => frames.filter(({ type }) => type === 'message').map(({ text }) => text),
    say: (text: string) => socket.send(JSON.stringify({ type: 'message', text })),
    end: () => socket.terminate(),
  }
}
