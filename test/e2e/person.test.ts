import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Redis } from 'ioredis'
import { defined } from '../../src/lib/defined.ts'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

/** All texts of alice contain it, and no others do. */
const MARK = 'xyzzy-4711'
const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

const ROUTES = `
gateways:
  desk: { transport: websocket, path: /desk, open: true, tokens: { ada: "a long token for ada" } }
  upload: { transport: webhook, path: /upload, verify: { scheme: none }, from: data.body.email, text: data.body.note, conversation: data.body.ticket }
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, respond: result }
assistant: { scope: person }
topics: { orders: { groups: { audit: {} } } }
routes:
  - { name: boom, match: { prefix: boom }, skill: boom, retry: { attempts: 1 } }
  - { name: ask, match: { prefix: ask }, skill: ask }
  - { name: shop, match: { gateway: shop }, skill: order }
  - { name: slow, match: { prefix: slow }, skill: slow }
  - { name: plain, match: { prefix: plain }, skill: plain }
  - { name: all, skill: keep }
`

const SKILLS = {
  keep: `export default { description: 'keeps all it can', metadata: { session: { store: 'shared', key: 'args.sessionId' } },
  async run({ args, message, manager, once, artifacts, services }) {
    const { text } = args
    const who = message.from.address ?? message.from.id
    const value = { who, text }
    for (const store of ['file', 'memory', 'shared']) {
      await manager.invoke('state-set', { key: 'last/' + who, value: text, store })
      const list = (await manager.invoke('state-get', { key: 'everybody', store })) ?? []
      await manager.invoke('state-set', { key: 'everybody', value: [...list, value], store })
    }
    await manager.invoke('event-emit', { topic: 'orders', data: { text } })
    await once('charge-' + who.length, () => ({ text }))
    const saved = await artifacts.save('note.txt', 'text/plain', 'file of ' + text)
    await manager.invoke('gateway-send', { text: 'later: ' + text, in: '1h' })
    await manager.invoke('remember', { text: 'note of ' + text })
    await manager.invoke('delegate', { text: 'nobody: work on ' + text })
    await manager.invoke('search-notes', { text: text.split(' ')[0] })
    return { text: 'reply to ' + text, attachments: [saved] }
  } }`,
  own: `export default { description: 'remembers in files', metadata: { session: { store: 'file', key: 'args.sessionId' } }, run: ({ args }) => 'own ' + args.text }`,
  order: `export default { description: 'handles an order', metadata: { session: { store: 'shared', key: 'args.sessionId' } },
  async run({ args: { text }, manager, once, artifacts }) {
    await manager.invoke('event-emit', { topic: 'orders', data: { text } })
    await once('charge', () => ({ text }))
    return { text: 'order ' + text, attachments: [await artifacts.save('note.txt', 'text/plain', text)] }
  } }`,
  plain: `export default { description: 'answers', run: () => 'fine' }`,
  slow: `export default { description: 'takes 10 s', run: () => new Promise((resolve) => setTimeout(resolve, 10_000, 'fine')) }`,
  boom: `export default { description: 'fails', run({ args }) { throw new Error('cannot do ' + args.text) } }`,
  ask: `export default { description: 'needs approval', metadata: { approval: { approvers: ['role:lead'] } }, run: () => 'done' }`,
}

/** The files of a folder that have one of these texts in their name or content. */
function filesWith(dir: string, texts: readonly string[]): string[] {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => {
    const path = join(dir, file)
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false
    const bytes = readFileSync(path)
    return texts.some((text) => file.includes(text) || bytes.includes(text))
  })
}

/** The keys of a Redis that have one of these texts in their name or value. */
async function keysWith(url: string, texts: readonly string[]): Promise<string[]> {
  const client = new Redis(url)
  const found: string[] = []
  try {
    for (const key of await client.keys('*')) {
      const type = await client.type(key)
      const value = await readKey(client, key, type)
      const content = key + JSON.stringify(value)
      if (texts.some((text) => content.includes(text))) found.push(`${type} ${key}`)
    }
  } finally {
    client.disconnect()
  }
  return found
}

function readKey(client: Redis, key: string, type: string): Promise<unknown> {
  if (type === 'string') return client.get(key)
  if (type === 'hash') return client.hgetall(key)
  if (type === 'list') return client.lrange(key, 0, -1)
  if (type === 'set') return client.smembers(key)
  if (type === 'zset') return client.zrange(key, 0, '-1')
  return client.xrange(key, '-', '+')
}

async function submit(
  daemon: DaemonProcess,
  from: string,
  text: string,
  conversation: string,
): Promise<string> {
  const response = await fetch(`${daemon.control}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${daemon.token}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify({ gateway: 'desk', from, text, conversation, subject: text, data: { said: text } }),
  })
  const { result, ...rest } = Object(await response.json())
  assert.equal(response.status, 200, JSON.stringify(rest))
  return String(Object(result).id)
}

async function upload(daemon: DaemonProcess, email: string, text: string): Promise<string> {
  const form = new FormData()
  form.set('email', email)
  form.set('note', text)
  form.set('ticket', `ticket-${email}`)
  form.set('file', new File([`attached ${text}`], 'attached.txt', { type: 'text/plain' }))
  const body = await fetch(`${daemon.url}/upload`, { method: 'POST', body: form })
  return String(Object(await body.json()).id)
}

const settled = (daemon: DaemonProcess, id: string) =>
  until(
    async () => {
      const { outcome } = Object(await daemon.invoke('message-show', { id }))
      return ['done', 'dead', 'approval', 'unrouted'].includes(outcome) ? outcome : undefined
    },
    `the outcome of ${id}`,
    60_000,
  )

/** Stores something of a person in every place. */
async function fill(daemon: DaemonProcess, who: string, text: string): Promise<void> {
  const own = `thread of ${who}`
  const ids: string[] = []
  for (const said of [text, `boom ${text}`, `ask ${text}`]) ids.push(await submit(daemon, who, said, own))
  ids.push(await submit(daemon, who, `${text} to all`, 'shared'))
  await daemon.invoke('gateway-resume', { gateway: 'upload' })
  ids.push(await upload(daemon, who, text))
  for (const id of ids) await settled(daemon, id)
  await daemon.invoke('conversation-note', { gateway: 'desk', conversation: own, text: `called: ${text}` })
  await daemon.invoke('own', { text, sessionId: `own of ${who}` })
  const leased = await daemon.invoke('gateway-receive', { conversation: own, lease: 600_000, timeout: 0 })
  assert.ok(leased)
  await daemon.invoke('gateway-pause', { gateway: 'upload' })
  await upload(daemon, who, `waits ${text}`)
}

/** Fails unless the kinds of each place are its records. */
function assertKinds(kinds: Record<string, Record<string, number>>, counts: Record<string, number>): void {
  for (const [place, ofPlace] of Object.entries(kinds)) {
    const sum = Object.values(ofPlace).reduce((all, count) => all + count, 0)
    assert.equal(sum, counts[place], place)
  }
}

const PLACES = [
  'messages',
  'dead letters',
  'events',
  'records',
  'transcript',
  'assistant',
  'files',
  'conversation notes',
]

for (const kind of ['embedded', 'redis'] as const) {
  // An erasure waits most of the time, so that its tests run at the same time.
  describe(`what is kept about one person, on ${kind}`, { timeout: 300_000, concurrency: true }, () => {
    const begin = async () => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      if (redis) after(() => redis.stop())
      const site = openSite({
        routes: ROUTES,
        skills: SKILLS,
        env: redis ? { REDIS_URL: redis.url } : {},
      })
      const dataDir = join(site.dir, '.trivium')
      const left = async (...texts: string[]) => [
        ...filesWith(dataDir, texts),
        ...(redis ? await keysWith(redis.url, texts) : []),
      ]
      return { site, dataDir, left }
    }

    test('is exported completely and erased everywhere, and data of others are kept', async () => {
      const { site, left } = await begin()
      const daemon = await site.start()
      await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
      await fill(daemon, ALICE, MARK)
      await fill(daemon, BOB, 'harmless words')
      await daemon.invoke('skill-pause', { skill: 'slow', reason: `desk:${ALICE} asked` })
      await upload(daemon, ALICE, `is held ${MARK}`)
      await daemon.invoke('conversation-pause', { gateway: 'desk', conversation: `thread of ${ALICE}` })
      assert.notDeepEqual(await left(MARK), [])
      const identity = [`desk:${ALICE}`, `upload:${ALICE}`]
      const dryRun = async () => Object(await daemon.invoke('person-erase', { identity }))
      const open = {
        'dead letters': 3,
        approvals: 1,
        'planned messages': 2,
        messages: 1,
        conversations: 1,
        'delegated work': 2,
      }
      // Replies, lines of the transcript and runs may still be on their way.
      const dry = await until(async () => {
        const found = await dryRun()
        const isAll = PLACES.every((place) => found.counts[place] > 0) && isDeepStrictEqual(found.open, open)
        return isAll ? found : undefined
      }, 'something in each place, and what is open')
      assert.equal(dry.confirm, false)
      assertKinds(dry.kinds, dry.counts)
      assert.equal(dry.kinds.records.approvals, 1)
      const titles = dry.openItems.map(({ title }: { title: string }) => title)
      assert.ok(titles.includes(`later: ${MARK}`), titles.join())
      await until(async () => {
        const counted = Object(await daemon.invoke('person-count', { identity, wait: 60_000 }))
        return counted.done && isDeepStrictEqual(counted.counts, (await dryRun()).counts)
      }, 'the same count in the background')
      const { file, counts } = Object(await daemon.invoke('person-export', { identity }))
      const text = readFileSync(join(site.dir, '.trivium', file.path), 'utf8')
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.equal(statSync(join(site.dir, '.trivium', file.path)).mode & 0o777, 0o600)
      assert.deepEqual(lines.at(-1).counts, counts)
      // These may grow meanwhile: by the export itself, a copy every two seconds, and late replies.
      assert.ok(counts.events >= dry.counts.events, `${counts.events} events`)
      const mayGrow = {
        events: dry.counts.events,
        transcript: dry.counts.transcript,
        records: dry.counts.records,
        'copy of the assistant': dry.counts['copy of the assistant'],
        'history of the copy of the assistant': dry.counts['history of the copy of the assistant'],
      }
      assert.deepEqual({ ...counts, ...defined(mayGrow) }, dry.counts)
      assert.match(text, /attached.txt/)
      assert.ok(text.includes(Buffer.from(`attached ${MARK}`).toString('base64')))
      assert.doesNotMatch(text, /harmless words/)
      const { job } = Object(await daemon.invoke('person-erase', { identity, confirm: true, wait: 120_000 }))
      assert.equal(job.state, 'done', JSON.stringify(job))
      assert.deepEqual(job.result.open, open)
      assertKinds(job.result.kinds, job.result.counts)
      assert.deepEqual(await left(MARK, ALICE), [])
      assert.deepEqual(Object(await daemon.invoke('person-erase', { identity })).total, 0)
      const found = Object(await daemon.invoke('message-search', { text: 'harmless' })).messages
      assert.ok(found.length >= 4, `${found.length} messages of the other`)
      assert.notDeepEqual(await left('harmless words'), [])
      const pauses = JSON.stringify(await daemon.invoke('pause-list'))
      assert.match(pauses, /"name":"slow".*"named an erased person"/)
      const audit = JSON.stringify(await daemon.invoke('audit-list', { action: 'person-*' }))
      assert.match(audit, /person-erased/)
      assert.match(audit, /"erased":"[^"]*records \d+ \([^)]*approvals 1/)
      assert.match(audit, /"open":"1 open approval, 2 planned messages/)
      assert.equal(await daemon.end(), 0)
      assert.deepEqual(await left(MARK, ALICE), [])
    })

    test('in messages of a provider is erased with these messages', { timeout: 300_000 }, async () => {
      const { site, left } = await begin()
      const daemon = await site.start()
      const order = async (customer: string, text: string) => {
        const body = JSON.stringify({ customer, text })
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(`${daemon.url}/shop`, { method: 'POST', headers, body })
        const { id } = Object(await response.json())
        await settled(daemon, id)
        return String(id)
      }
      const ids = [await order(ALICE, MARK), await order(ALICE, `again ${MARK}`)]
      const kept = await order(BOB, 'harmless words')
      await daemon.invoke('route-pause', { route: 'boom' })
      ids.push(await submit(daemon, 'shop', `boom ${MARK}`, 'waits'))
      assert.notDeepEqual(await left(MARK, ALICE), [])
      await until(async () => {
        const { counts } = Object(await daemon.invoke('message-erase', { id: ids }))
        return (counts.messages === 3 && counts.transcript > 0 && counts.activity > 0) || undefined
      }, 'their lines in the logs')
      const { job } = Object(await daemon.invoke('message-erase', { id: ids, confirm: true, wait: 100_000 }))
      assert.equal(job.state, 'done', JSON.stringify(job))
      assert.deepEqual(await left(MARK, ALICE), [])
      assert.equal(Object(await daemon.invoke('message-erase', { id: ids })).total, 0)
      const { messages } = Object(await daemon.invoke('message-search', { gateway: 'shop' }))
      assert.deepEqual(
        messages.map(({ id }: { id: string }) => id),
        [kept],
      )
      assert.match(JSON.stringify(await daemon.invoke('audit-list', { action: 'message-erase' })), /ids?/)
      assert.equal(await daemon.end(), 0)
      assert.deepEqual(await left(MARK, ALICE), [])
    })

    test('is not erased for an id that is not of a message', async () => {
      const daemon = await (await begin()).site.start()
      await assert.rejects(daemon.invoke('message-erase', { id: 'nobody' }), /id of a message/)
    })

    test('an erasure that is killed continues at the next start', async () => {
      const { site, left } = await begin()
      const first = await site.spawn()
      for (let n = 0; n < 60; n++) await submit(first, ALICE, `boom ${MARK} ${n}`, `c-${n % 7}`)
      const { job } = Object(await first.invoke('person-erase', { identity: `*:${ALICE}`, confirm: true }))
      await until(
        async () => Object(await first.invoke('job-show', { id: job.id })).done > 0,
        'its first step',
        60_000,
      )
      await first.end('SIGKILL')
      const second = await site.start()
      const ended = await until(
        async () => {
          const found = Object(await second.invoke('job-show', { id: job.id }))
          return found.state === 'running' ? undefined : found
        },
        'the end',
        120_000,
      )
      assert.equal(ended.state, 'done', JSON.stringify(ended))
      assert.deepEqual(await left(MARK, ALICE), [])
    })

    test('is erased on one gateway, but not for the same id on another', { timeout: 300_000 }, async () => {
      const { site } = await begin()
      const daemon = await site.start()
      // Ids that are also words in every entry of the audit log.
      for (const id of ['42', 'ok', 'by']) {
        await settled(daemon, await submit(daemon, id, `words of ${id}`, `thread of ${id}`))
        await settled(daemon, await upload(daemon, id, `${MARK} of the other ${id}`))
      }
      await settled(daemon, await submit(daemon, '42', 'boom here', 'one'))
      // A session of a program with the same name as the conversation.
      await daemon.invoke('own', { text: MARK, sessionId: 'one' })
      await daemon.invoke('event-subscribe', { topic: 'shop', queue: 'q' })
      await daemon.invoke('event-emit', { topic: 'shop', type: 'order', data: { order: '42', text: MARK } })
      await daemon.invoke('state-set', {
        key: 'shop/settings',
        value: { retries: '42', x: 1 },
        store: 'shared',
      })
      const identity = ['desk:42', 'desk:ok', 'desk:by']
      const { file } = Object(await daemon.invoke('person-export', { identity }))
      const text = readFileSync(join(site.dir, '.trivium', file.path), 'utf8')
      assert.match(text, /words of 42/)
      assert.doesNotMatch(text, new RegExp(MARK))
      const { job } = Object(await daemon.invoke('person-erase', { identity, confirm: true, wait: 90_000 }))
      assert.equal(job.state, 'done', JSON.stringify(job))
      const event = await daemon.invoke('event-wait', { topic: 'shop', queue: 'q', timeout: 0 })
      assert.match(JSON.stringify(event), new RegExp(MARK))
      assert.deepEqual(await daemon.invoke('state-get', { key: 'shop/settings', store: 'shared' }), {
        retries: '42',
        x: 1,
      })
      const sessions = JSON.stringify(await daemon.invoke('session-list', {}))
      assert.match(sessions, /"key":"one"/)
      const kept = Object(await daemon.invoke('message-search', { gateway: 'upload', limit: 10 })).messages
      assert.equal(kept.length, 3)
      const gone = Object(await daemon.invoke('message-search', { gateway: 'desk', limit: 10 })).messages
      assert.deepEqual(gone, [])
    })

    test('of new messages is kept during an erasure, and the messages are dispatched', {
      timeout: 120_000,
    }, async () => {
      const { site } = await begin()
      const daemon = await site.start()
      for (let n = 0; n < 20; n++) await submit(daemon, ALICE, `boom ${n}`, `c-${n}`)
      const { job } = Object(await daemon.invoke('person-erase', { identity: `*:${ALICE}`, confirm: true }))
      await until(
        async () => Object(await daemon.invoke('job-show', { id: job.id })).done > 0,
        'its first step',
        60_000,
      )
      // The first runs during the next round, and the others wait behind it in the same
      // conversation.
      const later: string[] = []
      for (const text of ['slow', 'plain 1', 'plain 2']) later.push(await submit(daemon, ALICE, text, ALICE))
      const asking = await submit(daemon, ALICE, 'ask later', 'later')
      assert.equal(await settled(daemon, asking), 'approval')
      await until(
        async () => Object(await daemon.invoke('job-show', { id: job.id })).state === 'done',
        'the end',
        90_000,
      )
      const waiting = JSON.stringify(await daemon.invoke('approval-list', { status: 'pending' }))
      assert.ok(waiting.includes(asking), waiting)
      for (const id of later) assert.equal(await settled(daemon, id), 'done')
    })

    test('is accessible to operators only, by <gateway>:<identity> or address', async () => {
      const { site } = await begin()
      const daemon = await site.start()
      for (const identity of ['alice', 'desk:*', ''])
        await assert.rejects(daemon.invoke('person-erase', { identity }), /<gateway>:<identity>/)
      const { code, err } = await site.run(['person-erase', '--identity', `desk:${ALICE}`])
      assert.equal(code, 0, err)
    })
  })
}
