import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Topics } from '../../../src/core/store.ts'
import { DAY } from '../../../src/core/units.ts'
import { createAuditLog } from '../../../src/features/audit/audit-log.ts'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { silent, toEvent } from '../../contract/store/kit.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { temporaryDir } from '../../fixtures/folder.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { createMemoryLog } from '../../runtime/support/log.ts'

const SECRET = 'zanzibar'
const ROUTES = `
gateways: { demo: { transport: cli } }
routes:
  - { name: fails, match: { text: "fail*" }, skill: fails, retry: { attempts: 1 } }
  - { name: rest, skill: echo }
tokens: [{ name: worker, token: a-token-of-a-worker, skills: ["dead-letter-*", "audit-list", "echo"], gateways: [demo] }, { name: reader, token: a-token-of-a-reader, skills: ["*-list"], gateways: ["*"] }]
`
const SKILLS = {
  fails: `export default { description: 'fails', run({ args }) { throw new Error('no: ' + args.text) } }`,
  late: `export default { description: 'asks in vain', metadata: { approval: { timeout: '300ms' } }, run() {} }`,
  wipe: `export default { description: 'wipes', metadata: { approval: true, annotations: { destructiveHint: true } }, run: () => 'wiped' }`,
}

type Entry = {
  at: number
  by: string
  via: string
  action: string
  outcome: string
  target?: object
  from?: string
  id: string
  kind: string
  status: string
  word: string
  about?: object
  reason?: string
  error?: string
  result?: object
  changes?: object
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`the audit log on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    after(() => redis?.stop())
    const site = openSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
    const daemon = await site.start()
    const list = async (filter: object = {}): Promise<Entry[]> =>
      Object(await daemon.invoke('audit-list', filter)).entries
    const post = (path: string, body: object, headers: Record<string, string>) =>
      fetch(daemon.control + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
        body: JSON.stringify(body),
      })
    const signIn = async (name: string) => {
      const answer = await post('/v1/session', { name }, { authorization: `Bearer ${daemon.token}` })
      const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
      return { cookie, origin: daemon.control }
    }
    const deadLetter = async () => {
      // A read, which is not in the audit log.
      await daemon.invoke('message-list')
      const sent = { gateway: 'demo', text: `fail ${SECRET}` }
      await post('/v1/messages', sent, { authorization: `Bearer ${daemon.token}` })
      const letters = async () => Object(await daemon.invoke('dead-letter-list'))
      return until(async () => (await letters())[0]?.id, 'a dead letter')
    }

    test('names the person and the target of each change, made in the console, by HTTP or as a command', async () => {
      const ada = await signIn('Ada')
      assert.equal((await post('/v1/skills/dead-letter-drop', { id: await deadLetter() }, ada)).status, 200)
      const id = await deadLetter()
      await daemon.invoke('dead-letter-drop', { id, reason: 'sent by hand' })
      const { code } = await site.run(['dead-letter-drop', '--id', await deadLetter()])
      assert.equal(code, 0)
      assert.equal((await post('/v1/reload', {}, ada)).status, 200)
      await post('/v1/session/end', {}, ada)
      const found = await list()
      const [drop] = await list({ action: 'dead-letter-drop', limit: 1, by: '@' })
      assert.equal(drop?.via, 'cli')
      const dropped = found.find(({ via, action }) => via === 'http' && action === 'dead-letter-drop')
      assert.equal(dropped?.reason, 'sent by hand')
      const shown = found.map(
        ({ by, via, action, outcome }) => `${via} ${by.replace(/.*@.*/, 'user@host')} ${action} ${outcome}`,
      )
      assert.deepEqual(
        shown.filter((line) => !/message-submit|daemon-start/.test(line)),
        [
          'console control-token:Ada sign-out ok',
          'console control-token:Ada reload ok',
          'cli user@host dead-letter-drop ok',
          'http control-token dead-letter-drop ok',
          'console control-token:Ada dead-letter-drop ok',
          'console control-token:Ada sign-in ok',
        ],
      )
      assert.equal(shown.filter((line) => line === 'http control-token message-submit ok').length, 3)
      assert.deepEqual(
        (await list({ action: 'dead-letter-*', by: 'control' })).find(({ via }) => via === 'http')?.target,
        { id },
      )
      assert.ok(!JSON.stringify(found).includes(SECRET), 'no text of a message')
    })

    test('has refused calls, and is not shown to a program that may only use some gateways', async () => {
      const worker = { authorization: 'Bearer a-token-of-a-worker' }
      assert.equal((await post('/v1/skills/dead-letter-drop', { id: 'x' }, worker)).status, 403)
      assert.equal((await post('/v1/skills/audit-list', {}, worker)).status, 403)
      assert.equal((await post('/v1/skills/echo', { text: SECRET }, worker)).status, 200)
      const [entry, ...others] = await list({ by: 'token:worker' })
      assert.deepEqual([entry?.action, entry?.outcome, others.length], ['dead-letter-drop', 'forbidden', 0])
    })

    test('has the calls that somebody may not make, but a limited number of them', async () => {
      const reader = { authorization: 'Bearer a-token-of-a-reader' }
      const refuse = async (path: string, body: object = {}) =>
        assert.equal((await post(path, body, reader)).status, 403)
      await refuse('/v1/skills/approval-decide', { id: 'a1', approve: true })
      await refuse('/v1/skills/skill-resume', { skill: 'echo' })
      await refuse('/v1/skills/dead-letter-bulk', { do: 'drop' })
      await refuse('/v1/messages', { gateway: 'demo', text: SECRET })
      await refuse('/v1/reload/')
      // Reads, dry runs and unknown skills are not in the audit log.
      await refuse('/v1/skills/message-show', { id: 'x' })
      await refuse('/v1/skills/person-erase', { sender: 'x' })
      await refuse('/v1/skills/nothing-drop')
      const refused = await list({ by: 'token:reader', outcome: 'not-allowed' })
      assert.deepEqual(
        refused.map(({ action, outcome, target }) => [action, outcome, target]),
        [
          ['reload', 'forbidden', undefined],
          ['message-submit', 'forbidden', { gateway: 'demo' }],
          ['dead-letter-bulk', 'forbidden', { do: 'drop' }],
          ['skill-resume', 'forbidden', { skill: 'echo' }],
          ['approval-decide', 'forbidden', { id: 'a1' }],
        ],
      )
      assert.ok(refused.every(({ error, from }) => error?.includes('token:reader') && from))
      for (let calls = 0; calls < 30; calls++) await refuse('/v1/skills/dead-letter-drop', { id: 'x' })
      const [last, ...others] = await list({ by: 'token:reader', limit: 100 })
      assert.equal(others.length, 19)
      assert.match(String(last?.error), /in the rest of 10 minutes are not listed$/)
      assert.ok(others.every(({ error }) => !/not listed/.test(String(error))))
    })

    test('has each decision about an approval once, with the person', async () => {
      const ada = await signIn('Ada')
      const result = daemon.invoke('wipe', {}).catch(String)
      const pending = async () => Object(await daemon.invoke('approval-list', { status: 'pending' }))[0]
      const { id } = await until(pending, 'a request')
      assert.equal(
        (await post('/v1/skills/approval-decide', { id, approve: true, reason: 'ordered by Grace' }, ada))
          .status,
        200,
      )
      assert.equal(await result, 'wiped')
      const [decided] = Object(await daemon.invoke('approval-list', { id }))
      assert.equal(decided.decidedBy, 'control-token:Ada')
      assert.equal((await post('/v1/skills/approval-decide', { id, approve: false }, ada)).status, 409)
      const found = await list({ action: 'approval-decide', kind: 'person' })
      assert.deepEqual(
        found.map(({ by, via, outcome, target, reason }) => [
          by,
          via,
          outcome,
          Object(target).status,
          reason,
        ]),
        [
          ['control-token:Ada', 'console', 'approval_decided', undefined, undefined],
          ['control-token:Ada', 'console', 'ok', 'approved', 'ordered by Grace'],
        ],
      )
      const byTitle = await site.run(['audit', '--what', decided.title])
      assert.ok(byTitle.out.includes(decided.title), byTitle.out)
      assert.match(byTitle.out, /\tapproved\t.*; reason: ordered by Grace$/m)
      const [wiped] = await list({ action: 'wipe' })
      assert.deepEqual([wiped?.outcome, wiped?.target], ['ok', undefined])
    })

    test('has the filter and the number of an action on several dead letters, without addresses', async () => {
      const filter = { code: 'skill_failed', error: 'nobody@mail.example or +47 998 87 766 is unknown' }
      await daemon.invoke('dead-letter-retry', { all: true, ...filter })
      await daemon.invoke('dead-letter-bulk', { do: 'drop', group: 'nothing', pattern: 'no: #' })
      const [bulk, retry] = await list({ action: 'dead-letter-*', limit: 2 })
      assert.partialDeepStrictEqual(retry, {
        target: { all: true, code: 'skill_failed', error: '… or … is unknown' },
        result: { count: 0 },
      })
      assert.partialDeepStrictEqual(bulk, {
        target: { do: 'drop', group: 'nothing', pattern: 'no: #' },
        result: { total: 0 },
      })
      const message = '019a0000-0000-7000-8000-000000000001'
      await daemon.invoke('dead-letter-drop', { all: true, message })
      const [drop] = await list({ action: 'dead-letter-*', limit: 1 })
      assert.deepEqual(drop?.target, { message, all: true })
    })

    test('has the reason and the end of a pause, and an entry by its id', async () => {
      const ada = await signIn('Ada')
      await post('/v1/skills/route-pause', { route: 'fails', reason: 'pages everybody' }, ada)
      await daemon.invoke('route-resume', { route: 'fails' })
      const [resumed, paused] = await list({ action: 'route-*' })
      assert.partialDeepStrictEqual(paused, {
        by: 'control-token:Ada',
        kind: 'person',
        status: 'done',
        reason: 'pages everybody',
        from: '127.0.0.1',
        changes: { pause: { before: null, after: { by: 'control-token:Ada' } } },
      })
      assert.partialDeepStrictEqual(resumed, {
        by: 'control-token',
        kind: 'token',
        result: { existed: true },
        changes: { pause: { before: { by: 'control-token:Ada', reason: 'pages everybody' }, after: null } },
      })
      assert.deepEqual(await list({ id: paused?.id }), [paused])
      assert.deepEqual(await list({ id: '00000000-0000-7000-8000-000000000000' }), [])
      assert.deepEqual(await list({ what: 'PAGES' }), [paused])
      const { out } = await site.run(['audit', '--id', paused?.id ?? ''])
      assert.match(out, /^Ada paused a route: fails; reason: pages everybody\n/)
      const short = await site.run(['audit', 'show', String(paused?.id).slice(-8)])
      assert.match(short.out, /^Ada paused a route: fails; reason: pages everybody\n/, short.err)
    })

    test('records who answered a person by hand, and who settled or took over, with the person and no text', async () => {
      const ada = await signIn('Ada')
      const submit = {
        gateway: 'demo',
        text: `Where is it? ${SECRET}`,
        from: 'hopper',
        subject: 'Order 47117',
      }
      const accepted = await post('/v1/messages', submit, { authorization: `Bearer ${daemon.token}` })
      assert.equal(accepted.status, 200, await accepted.text())
      const [asked] = Object(await daemon.invoke('message-list', { sender: 'hopper' }))
      const messageId = asked.id
      const place = { gateway: 'demo', conversation: asked.conversation }
      const answer = { messageId, text: `It comes on Monday. ${SECRET}` }
      assert.equal((await post('/v1/skills/gateway-send', answer, ada)).status, 200)
      // A program answers each message that it handles. The histories have its answers.
      await daemon.invoke('gateway-send', answer)
      assert.equal((await post('/v1/skills/conversation-settle', place, ada)).status, 200)
      assert.equal((await post('/v1/skills/conversation-pause', place, ada)).status, 200)
      assert.equal((await post('/v1/skills/conversation-resume', place, ada)).status, 200)
      const entries = await list({ what: 'HOPPER' })
      assert.deepEqual(
        entries.map(({ by, via, action }) => `${by} ${via} ${action}`),
        ['conversation-resume', 'conversation-pause', 'conversation-settle', 'gateway-send'].map(
          (action) => `control-token:Ada console ${action}`,
        ),
      )
      for (const { target, about } of entries) {
        assert.deepEqual(target, { messageId, ...place })
        assert.partialDeepStrictEqual(about, { messageId, from: { id: 'hopper' }, subject: 'Order 47117' })
      }
      assert.ok(!JSON.stringify(entries).includes(SECRET), 'no text of an answer')
      const wanted = {
        'hand back': 'conversation-resume',
        'Take over': 'conversation-pause',
        answer: 'gateway-send',
      }
      for (const [what, action] of Object.entries(wanted))
        assert.equal((await list({ what, by: 'Ada' }))[0]?.action, action)
      const { out } = await site.run(['audit', '--what', 'hopper'])
      assert.match(out, /gateway-send\tdone\t.*hopper: Order 47117/)
    })

    test('records a request that nobody decided in time, by Trivium itself', async () => {
      await assert.rejects(daemon.invoke('late', {}))
      const [expired] = await list({ outcome: 'expired' })
      assert.partialDeepStrictEqual(expired, {
        by: 'system',
        via: 'system',
        action: 'approval-decide',
        status: 'done',
        target: { skill: 'late', status: 'expired' },
        reason: 'nobody decided in time',
      })
    })

    test('names Trivium itself where a caller went away, and tells denied, cancelled and failed calls apart', async () => {
      const leaving = new AbortController()
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${daemon.token}` }
      const url = `${daemon.control}/v1/skills/wipe`
      const call = fetch(url, { method: 'POST', headers, body: '{}', signal: leaving.signal }).catch(String)
      await until(
        async () => Object(await daemon.invoke('approval-list', { status: 'pending' }))[0],
        'a request',
      )
      leaving.abort()
      await call
      const denial = await until(
        async () => (await list({ kind: 'system', action: 'approval-decide', outcome: 'denied' }))[0],
        'the denial',
      )
      assert.partialDeepStrictEqual(denial, {
        by: 'system',
        via: 'system',
        action: 'approval-decide',
        target: { status: 'denied' },
        reason: 'the requester disconnected',
      })
      const [cancelled] = await until(async () => {
        const found = await list({ outcome: 'cancelled' })
        return found.length > 0 ? found : undefined
      }, 'the cancelled call')
      assert.match(`${cancelled?.action} ${cancelled?.error}`, /^wipe .*the caller disconnected/)
      const denied = await list({ outcome: 'denied' })
      assert.ok(denied.length > 0)
      assert.ok(denied.every(({ action, word }) => action === 'approval-decide' && word === 'denied'))
      const refused = await list({ outcome: 'not-allowed' })
      assert.deepEqual(await list({ outcome: 'not allowed' }), refused)
      assert.ok(refused.every(({ word, status }) => word === 'not allowed' && status === 'denied'))
      const drop = refused.find(({ action }) => action === 'dead-letter-drop')
      assert.match(`${drop?.outcome} ${drop?.error}`, /^forbidden ./)
      const id = '00000000-0000-7000-8000-000000000000'
      await assert.rejects(daemon.invoke('dead-letter-drop', { id }))
      assert.partialDeepStrictEqual((await list({ outcome: 'failed' }))[0], {
        outcome: 'dead_letter_not_found',
        status: 'failed',
        target: { id },
      })
    })

    test('is exported as CSV, all pages of it', async () => {
      const { out } = await site.run(['audit', '--csv', '--action', 'sign-in'])
      const [head, ...rows] = out.trimEnd().split(/\r?\n/)
      assert.match(head ?? '', /^time,by,kind,via,action,/)
      assert.equal(rows.length, (await list({ action: 'sign-in', limit: 1000 })).length)
      assert.match(rows[0] ?? '', /^2\d{3}-[\dT:.-]+Z,control-token:Ada,person,console,sign-in,/)
    })

    test('cannot be read or written as a topic', async () => {
      for (const [skill, args] of [
        ['event-emit', { topic: 'trivium/audit', data: { by: 'nobody' } }],
        ['event-wait', { topic: 'trivium/audit', timeout: 0 }],
        ['event-subscribe', { topic: 'trivium/audit', queue: 'q' }],
      ] as const)
        await assert.rejects(daemon.invoke(skill, args), /topic_reserved/, skill)
    })

    test('can be read by `trivium audit` after the daemon has ended', async () => {
      const before = await list({ limit: 1000 })
      assert.ok(before.length > 5)
      await daemon.end()
      const { out } = await site.run(['audit', '--json', '--limit', '1000'])
      assert.deepEqual(JSON.parse(out).entries.slice(-before.length), before)
      const table = await site.run(['audit', '--action', 'reload'])
      assert.match(table.out, /T\S+Z\s+control-token:Ada\s+console\s+reload\s+done/)
      assert.match(
        (await site.run(['audit', '--since', '1h', '--by', 'nobody'])).err,
        /No entries match --by nobody/,
      )
      assert.equal((await site.run(['audit', '--since', 'soonish'])).code, 2)
    })
  })
}

describe('pages of the audit log', async () => {
  const store = await createEmbeddedStore({
    dir: temporaryDir({ after }),
    log: silent,
    toEvent,
  })
  after(() => store.close())
  const logOf = (topics: Topics) => {
    let time = 0
    const log = createMemoryLog()
    return { ...createAuditLog({ ...store, topics, now: () => ++time, log }), log }
  }

  test('have each entry once, newest first, also if the store returns only a few at a time', async () => {
    const { topics } = store
    const few: Topics = {
      ...topics,
      tail: (topic, after, max) => topics.tail(topic, after, Math.min(max, 70)),
    }
    const { record, service } = logOf(few)
    const actions = Array.from({ length: 1_100 }, (_, n) => (n % 2 === 0 ? 'sign-in' : 'reload'))
    for (const [n, action] of actions.entries())
      await record({ by: `p${n + 1}`, via: 'http', action, outcome: 'ok' })
    const seen: string[] = []
    const read = (page: object) => service.list({ limit: 100, action: 'reload', ...page })
    let page = await read({})
    seen.push(...page.entries.map(({ by }) => by))
    while (page.next !== undefined) {
      page = await read({ before: page.next })
      seen.push(...page.entries.map(({ by }) => by))
      assert.ok(seen.length <= 550, 'no entry comes twice')
    }
    assert.deepEqual([new Set(seen).size, seen[0], seen.at(-1)], [550, 'p1100', 'p2'])
  })

  test('end where retention has removed the entries', async () => {
    const { service } = logOf(store.topics)
    const limits = { maxAge: DAY, maxCount: 1_000_000 }
    const retention = { journal: limits, deadLetters: 10, topics: { 'trivium/audit': { maxCount: 5 } } }
    while ((await store.trim(retention)).removed > 0);
    const { entries, next } = await service.list({ limit: 1_000 })
    const left = entries.map(({ by }) => by)
    assert.ok(left.length >= 5 && left.length < 1_100, `${left.length} are left`)
    assert.deepEqual(
      left,
      Array.from(left, (_, n) => `p${1_100 - n}`),
    )
    assert.equal(next, undefined)
  })

  test('continue after a page of entries that only a newer version can read', async () => {
    const { record, service } = logOf(store.topics)
    await record({ by: 'before', via: 'cli', action: 'update', outcome: 'ok' })
    const data = { at: 1, by: 'next', via: 'telepathy', action: 'update', outcome: 'ok' }
    const newer = Array.from({ length: 600 }, () => ({ type: 'update', source: 'next', data }))
    await store.topics.publish('trivium/audit', newer)
    const { entries } = await service.list({ limit: 10, action: 'update' })
    assert.deepEqual(
      entries.map(({ by }) => by),
      ['before'],
    )
  })

  test('lack an entry that cannot be stored, which is logged instead', async () => {
    const { record, log } = logOf({ ...store.topics, publish: () => Promise.reject(new Error('disk full')) })
    await record({ by: 'ada', via: 'cli', action: 'reload', outcome: 'ok' })
    assert.match(JSON.stringify(log.lines), /"by":"ada"/)
  })
})
