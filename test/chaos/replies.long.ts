import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startDovecot } from '../fixtures/dovecot.ts'
import { parsedMail } from '../fixtures/parsed-mail.ts'
import { type RedisServer, startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'
import { startSentinels } from '../fixtures/redis-topology.ts'
import { startRelay } from '../fixtures/relay.ts'
import { startSlackServer } from '../fixtures/slack-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'
import { networkFaults } from './network-faults.ts'
import { createRandom, seedOf } from './random.ts'
import { createStage } from './stage.ts'

/**
 * `CHAOS_KILLS`: the number of faults per kind of store. `CHAOS_SEED` repeats a run. Servers are
 * killed and hang, or, with `CHAOS_NETWORK=1`, all connections go through relays that stall, cut,
 * and lose answers.
 */
const seed = seedOf(Date.now() % 1_000_000)
const kills = Number(process.env.CHAOS_KILLS ?? 30)
const random = createRandom(seed)
const isRelayed = Number(process.env.CHAOS_NETWORK ?? 0) > 0

const network = (relay: Parameters<typeof networkFaults>[0], longest?: number) =>
  networkFaults(relay, random, longest)
const relayOf = ({ relay }: RedisServer) => relay ?? assert.fail('a server without a relay')

/** A Redis, with its possible faults by name. */
type RedisStage = {
  url: string
  replicas: number
  faults: Record<string, () => Promise<unknown>>
  stop(): Promise<void>
}

const redisStages: Record<string, () => Promise<RedisStage>> = {
  async 'one Redis'() {
    const server = await startRedisServer({ appendfsync: 'always', isRelayed })
    const faults = { kill: () => killFor(server), hang: () => freezeFor(server) }
    return { ...server, replicas: 0, faults: isRelayed ? network(() => relayOf(server)) : faults }
  },
  async Sentinel() {
    const sentinels = await startSentinels(1, isRelayed)
    const master = async () => {
      const port = await until(() => sentinels.master(), 'a master')
      return sentinels.nodes.find((node) => node.port === port) ?? assert.fail()
    }
    const faults = {
      kill: async () => killFor(await master(), 8_000),
      hang: async () => freezeFor(await master(), 8_000),
      planned: () => sentinels.failOver(),
    }
    const { url, stop } = sentinels
    return {
      url,
      replicas: 1,
      faults: isRelayed ? network(async () => relayOf(await master()), 8_000) : faults,
      stop,
    }
  },
  async Cluster() {
    const cluster = await startRedisCluster(1, isRelayed)
    let turn = 0
    const next = () => cluster.nodes[turn++ % cluster.nodes.length] ?? assert.fail()
    // Otherwise a fault of both copies of a shard would lose data.
    const untilCopied = () => until(() => isCopied(cluster.nodes), 'a copy of each master')
    const faults = {
      kill: () => killFor(next(), 6_000).then(untilCopied),
      hang: () => freezeFor(next(), 6_000).then(untilCopied),
    }
    const { url, stop } = cluster
    return { url, replicas: 1, faults: isRelayed ? network(() => relayOf(next()), 6_000) : faults, stop }
  },
}

/** Whether each of three masters has a synchronised replica. */
async function isCopied(nodes: readonly RedisServer[]): Promise<boolean> {
  const infos = await Promise.all(
    nodes.map(async ({ port }) => {
      const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0 }).on('error', () => {})
      return client
        .info('replication')
        .catch(() => '')
        .finally(() => client.disconnect())
    }),
  )
  return (
    infos.filter((info) => /role:master/.test(info) && /state=online/.test(info)).length === 3 &&
    infos.filter((info) => /master_link_status:up/.test(info)).length === 3
  )
}

async function killFor(server: RedisServer, ms = 500): Promise<void> {
  await server.kill()
  await pause(ms)
  await server.start()
}

async function freezeFor(server: RedisServer, ms = 3_000): Promise<void> {
  server.freeze()
  await pause(ms)
  server.resume()
}

const SKILL = `
export default {
  description: 'answers by Slack and by mail',
  async run({ message, manager }) {
    const { n } = message.data.body
    await manager.invoke('gateway-send', { gateway: 'team', to: 'C' + (n % 40), text: 'answer ' + n })
    await manager.invoke('gateway-send', { gateway: 'support', to: 'to-' + n + '@example.net', text: 'answer ' + n })
  },
}`

async function startServers(t: TestContext, { url, replicas }: RedisStage) {
  const [slack, dovecot, smtp] = await Promise.all([startSlackServer(), startDovecot(), startSmtpServer()])
  const relays = {
    slack: await startRelay(Number(new URL(slack.apiUrl).port)),
    smtp: await startRelay(smtp.port),
  }
  const slackUrl = isRelayed ? `http://127.0.0.1:${relays.slack.port}/api/` : slack.apiUrl
  const smtpPort = isRelayed ? relays.smtp.port : smtp.port
  const user = 'bot@example.com'
  const stage = await createStage({
    store: 'redis',
    redisUrl: url,
    daemons: 2,
    skills: { answer: SKILL },
    routes: `
redis: { replicas: ${replicas} }
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none }, conversation: data.body.room }
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slackUrl}", open: true }
  support:
    transport: email
    address: ${user}
    imap: { host: 127.0.0.1, port: ${dovecot.imapPort}, tls: none, user: ${user}, pass: ${dovecot.password} }
    smtp: { host: 127.0.0.1, port: ${smtpPort}, tls: none }
    open: true
    rate-limit: off
routes:
  - { name: all, match: { gateway: hook }, skill: answer, retry: { attempts: 100, delay: 50ms, backoff: fixed } }
`,
  })
  t.after(async () => {
    await stage.close()
    await Promise.all([relays.slack.close(), relays.smtp.close()])
    await Promise.all([slack.close(), smtp.close()])
    await dovecot.close()
  })
  return { stage, slack, smtp, relays }
}

for (const [where, start] of Object.entries(redisStages)) {
  test(`no reply is lost or sent twice on ${where}, seed ${seed}`, {
    timeout: 3_600_000,
  }, async (t) => {
    const redis = await start()
    const { stage, slack, smtp, relays } = await startServers(t, redis)
    t.after(() => redis.stop())
    const promised: number[] = []
    let isOver = false
    const send = async (first: number) => {
      for (let n = first; !isOver; n += 2) {
        const body = JSON.stringify({ n, room: `r${n % 50}` })
        const headers = { 'content-type': 'application/json', 'webhook-id': `m${n}` }
        const post = async () => {
          const daemon = await stage.daemon()
          return daemon.post('/hook', body, headers).then(
            ({ status }) => status < 300,
            () => false,
          )
        }
        while (!(await post())) await pause(50)
        promised.push(n)
        await pause(60)
      }
    }
    const senders = [send(0), send(1)]
    const peerFaults = Object.values(relays).flatMap((relay) => Object.values(network(() => relay)))
    const faults = [...Object.values(redis.faults), ...(isRelayed ? peerFaults : [])]
    for (let kill = 0; kill < kills; kill++) {
      await pause(random.between(200, 1_500))
      const draw = random.next()
      if (draw < (isRelayed ? 0.2 : 0.5)) await stage.crashDaemon(random.between(0, 1))
      else await faults[random.between(0, faults.length - 1)]?.()
    }
    isOver = true
    await Promise.all(senders)
    const status = async () => Object(Object(await (await stage.daemon()).get('/v1/status')).result).stats
    await until(
      async () => {
        const { dispatch, jobs } = (await status().catch(() => undefined)) ?? {}
        if (!dispatch || dispatch.unpumped > 0) return false
        return Object.values(jobs).every((queue) => Object(queue).waiting + Object(queue).running === 0)
      },
      'all to be sent',
      180_000,
    )
    const letters = JSON.stringify((await stage.invoke('dead-letter-list', { limit: 1_000 })).result)
    const posted = slack.posts.map(({ text }) => text).filter((text) => text.startsWith('answer'))
    const mails = await Promise.all(smtp.taken.map(parsedMail))
    const mailed = mails.map(({ text = '' }) => text.trim())
    /** Ids of messages by their number. */
    const ids = new Map<number, unknown>()
    for (let before: string | undefined; ; ) {
      const args = { limit: 500, ...(before && { before }) }
      const rows = Object.values(Object((await stage.invoke('message-list', args)).result)).map(Object)
      for (const { id, data } of rows) {
        ids.set(data.body.n, id)
        before = id
      }
      if (rows.length === 0) break
    }
    const ambiguous = letters.match(/"reason":"ambiguous"/g)?.length ?? 0
    const lost = [posted, mailed].map((sent) => {
      const missing = promised.filter((n) => !sent.includes(`answer ${n}`))
      // Sends with an unknown outcome are dead letters, and not repeated.
      return missing.filter((n) => !letters.includes(`answer ${n}"`))
    })
    const twice = [posted, mailed].map((sent) => sent.length - new Set(sent).size)
    const counts = {
      kills,
      promised: promised.length,
      posted: posted.length,
      mailed: mailed.length,
      ambiguous,
    }
    for (const n of new Set(lost.flat())) {
      const id = ids.get(n)
      const shown = id === undefined ? 'absent' : (await stage.invoke('message-show', { id })).result
      console.log(`${n}: ${JSON.stringify(shown)}`)
    }
    console.log(`${where}: ${JSON.stringify({ ...counts, lost, twice })}`)
    assert.deepEqual({ lost, twice }, { lost: [[], []], twice: [0, 0] })
  })
}
