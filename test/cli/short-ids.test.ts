import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fullId } from '../../src/cli/short-ids.ts'
import { toJson } from '../../src/core/json.ts'
import { spokenArguments } from '../../src/core/spoken.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { shortId } from '../../src/lib/short-text.ts'
import { listTable } from '../../src/lib/text-table.ts'
import { openSite } from '../fixtures/daemon.ts'

describe('the end of an id on the command line', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  stock: { transport: webhook, path: /stock, split: data.body, verify: { scheme: none } }
routes: [{ name: all, match: { gateway: [shop, cli] }, skill: broken, retry: { attempts: 1 } }]
`,
    skills: { broken: "export default { description: 'fails', run() { throw new Error('no') } }" },
  })
  const daemon = await site.start()
  const { body } = await daemon.post('/shop', '{"text":"order 1"}')
  const id = String(Object(body).id)
  const end = id.slice(-8)
  const source = { invoke: async (name: string, args: unknown) => toJson(await daemon.invoke(name, args)) }

  test('selects a message or a dead letter like the complete id', async () => {
    assert.equal(await fullId(source, end), id)
    assert.equal(await fullId(source, id), id)
    assert.match((await site.run(['message', 'show', end])).out, new RegExp(id))
    assert.match((await site.run(['route', 'explain', end])).out, /all\s+answers/)
    assert.match((await site.run(['dead-letter', 'show', end])).out, new RegExp(`^${id}[^]*route all`))
    assert.equal((await site.run(['message', 'resend', '--id', end])).code, 0)
    assert.match((await site.run(['dead-letter', 'drop', end])).out, /^1 dead letter dropped/)
  })

  test('needs at least six characters; the beginning of an id, as in git, selects it too', async () => {
    for (const part of [id.slice(0, 30), id.slice(-6), `…${end}`, end.toUpperCase()])
      assert.equal(await fullId(source, part), id, part)
    const short = await site.run(['message', 'show', id.slice(-4)])
    assert.equal(short.code, 2)
    assert.match(short.err, /is too short for the id of a message.*at least 6 hexadecimal.*--search/)
    const second = Object((await daemon.post('/shop', '{"text":"order 2"}')).body).id
    const { code, err } = await site.run(['message', 'show', id.slice(0, 6)])
    assert.equal(code, 2)
    for (const one of [id, second]) assert.match(err, new RegExp(`^ {2}${one} .*shop`, 'm'))
  })

  test('needs eight characters for a command that changes something', async () => {
    const { body } = await daemon.post('/shop', '{"text":"order 3"}')
    const part = String(Object(body).id).slice(-7)
    for (const words of [
      ['dead-letter', 'drop', part],
      ['dead-letter', 'retry', part],
      ['message', 'resend', '--id', part],
      ['run', 'cancel', part],
    ]) {
      const { code, err } = await site.run(words)
      assert.equal(code, 2, words.join(' '))
      assert.match(err, /too short .*needs at least 8 hexadecimal digits/)
    }
    assert.equal((await site.run(['message', 'show', part])).code, 0)
  })

  test('does not complete the name of a conversation for a command that changes something', async () => {
    await site.run(['message', 'cli', 'hello', '--conversation', 'mail-petra', '--wait', '0'])
    await site.run(['conversation', 'pause', 'mail-petra'])
    for (const part of ['mail-pet', 'petra', 'mail-petr']) {
      const { code, err } = await site.run(['conversation', 'resume', part])
      assert.equal(code, 2)
      assert.match(err, /There is no conversation .*whole id.*Did you mean mail-petra\?/)
    }
    assert.match((await site.run(['pause', 'list'])).out, /mail-petra/)
    assert.equal((await site.run(['conversation', 'show', 'mail-pet'])).code, 0)
    assert.match((await site.run(['conversation', 'resume', 'mail-petra'])).out, /handed back/)
  })

  test('stands for the id of an event, a refusal, an approval and a conversation', async () => {
    await daemon.invoke('event-emit', { topic: 'orders', data: { n: 1 } })
    const { events } = JSON.parse((await site.run(['event', 'list', 'orders', '--json'])).out)
    const event = await site.run(['event', 'show', 'orders', events[0].id.slice(-6), '--json'])
    assert.equal(JSON.parse(event.out).id, events[0].id, event.err)
    await site.run(['message', 'cli', 'hello', '--conversation', 'ticket-4711-of-ada', '--wait', '0'])
    const shown = await site.run(['conversation', 'show', 'cli', '4711-of-ada'])
    assert.match(shown.out, /hello/)
    const unknown = await site.run(['approval', 'decide', 'abcd1234', '--approve'])
    assert.match(unknown.err, /abcd1234/)
    for (const noun of ['approval', 'audit']) {
      const { code, err } = await site.run([noun, 'show', 'abcd1234'])
      assert.equal(code, 1)
      assert.match(err, new RegExp(`There is no .*abcd1234.*trivium ${noun} list`))
    }
  })

  test('and its beginning, also with the kind before it, stand for a job', async () => {
    await daemon.invoke('dead-letter-bulk', { do: 'drop', message: id })
    const [job] = JSON.parse((await site.run(['job', 'list', '--json'])).out)
    const [, digits = ''] = /^dead-letters-(.+)$/.exec(job.id) ?? []
    const parts = [digits.slice(0, 8), `dead-letters-${digits.slice(0, 8)}`, digits.slice(-8), 'dead-letters']
    for (const part of [...parts, job.id]) {
      const shown = await site.run(['job', 'show', part, '--json'])
      assert.equal(shown.code === 0 && JSON.parse(shown.out).id, job.id, `${part}: ${shown.err}`)
    }
    await daemon.invoke('dead-letter-bulk', { do: 'drop', message: id })
    const several = await site.run(['job', 'show', 'dead-letters'])
    assert.equal(several.code, 2)
    assert.match(several.err, /2 ids begin or end with dead-letters; give more of it:\n {2}dead-letters-/)
    const change = await site.run(['job', 'cancel', 'dead-letters-'])
    assert.match(change.err, /There is no job dead-letters-\..*whole id/)
    const ended = await site.run(['job', 'cancel', `dead-letters-${digits.slice(0, 8)}`])
    assert.match(ended.err, new RegExp(job.id))
    const unknown = await site.run(['job', 'show', `replay-${digits}`])
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /There is no job replay-/)
  })

  test('is not taken for the beginning of another id if a conversation has exactly this id', async () => {
    for (const conversation of ['mail-1', 'mail-12'])
      await site.run(['message', 'cli', 'hello', '--conversation', conversation, '--wait', '0'])
    // As if the first one were older than the conversations that are searched.
    const newest = {
      invoke: async (name: string, args: unknown) =>
        name === 'conversation-list'
          ? { conversations: [{ conversation: 'mail-12', at: Date.now() }] }
          : source.invoke(name, args),
    }
    assert.equal(await fullId(newest, 'mail-1', 'conversation', { args: { gateway: 'cli' } }), 'mail-1')
    assert.equal(await fullId(newest, 'ail-12', 'conversation', { args: { gateway: 'cli' } }), 'mail-12')
  })

  test('selects messages and conversations however many newer ones there are', async () => {
    const thread = 'slack:C1:1732885865.002730'
    await site.run(['message', 'cli', 'old', '--conversation', thread, '--wait', '0'])
    const [old] = JSON.parse((await site.run(['message', 'list', '--gateway', 'cli', '--json'])).out).messages
    const many = JSON.stringify(Array.from({ length: 800 }, (_, index) => ({ text: `stock ${index}` })))
    for (let round = 0; round < 4; round++) await daemon.post('/stock', many)
    assert.equal(await fullId(source, old.id.slice(-8)), old.id)
    assert.equal(await fullId(source, old.id.slice(0, 20)), old.id)
    for (const part of ['…5865.002730', '5865.002730', 'SLACK:C1:'])
      assert.equal(await fullId(source, part, 'conversation'), thread)
    assert.match((await site.run(['message', 'show', old.id.slice(-8)])).out, /old/)
  })

  test('selects a dead letter of any form, however many newer ones there are', async () => {
    const letters = Array.from({ length: 1_200 }, (_, index) => ({
      id: `mail-${1_200 - index}:team:0`,
      at: 1_200 - index,
    }))
    const paged = {
      invoke: async (name: string, args: unknown) => {
        if (name === 'dead-letter-show') throw new Error('there is none')
        const { before = 'Infinity/', limit } = Object(args)
        return toJson(letters.filter(({ at }) => at < Number.parseFloat(before)).slice(0, limit))
      },
    }
    assert.equal(await fullId(paged, 'ail-1:team:0', 'dead-letter'), 'mail-1:team:0')
  })

  test('does not select the newest of several dead letters that begin like this', async () => {
    const letters = Array.from({ length: 600 }, (_, index) => {
      const time = index % 550 === 0 ? '01a22898' : '01a1ffff'
      return { id: `${time}-6d09-7000-8000-${String(index).padStart(12, '0')}`, at: 600 - index }
    })
    const paged = {
      invoke: async (_name: string, args: unknown) => {
        const { before = 'Infinity/', limit } = Object(args)
        return toJson(letters.filter(({ at }) => at < Number.parseFloat(before)).slice(0, limit))
      },
    }
    await assert.rejects(fullId(paged, '01a22898', 'dead-letter'), { message: /^2 ids begin or end with/ })
  })

  test('is not looked for if a dead letter has exactly this id', async () => {
    const calls: string[] = []
    const one = {
      invoke: async (name: string) => {
        calls.push(name)
        return name === 'dead-letter-show' ? {} : []
      },
    }
    assert.equal(await fullId(one, id, 'dead-letter'), id)
    assert.deepEqual(calls, ['dead-letter-show'])
  })

  test('is refused after 20 s with the ids that were found', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    let pages = 0
    const endless = {
      invoke: async () => {
        t.mock.timers.tick(5_000)
        pages += 1
        assert.ok(pages < 10, 'the search ends')
        return { messages: pages === 1 ? [{ id: `x-${end.slice(-7)}`, at: Date.now() }] : [], next: 'more' }
      },
    }
    await assert.rejects(fullId(endless, end.slice(-7)), {
      code: 'usage',
      message: /^Not all ids could be compared with .*give more of it:\n {2}x-/,
    })
  })

  test('of a paused conversation is exact, although its messages have expired', async () => {
    const expired = {
      invoke: async (name: string) => {
        if (name === 'pause-list') return [{ kind: 'conversation', gateway: 'cli', name: 'mail-1' }]
        return name === 'message-list' ? [] : { conversations: [{ conversation: 'mail-12', at: Date.now() }] }
      },
    }
    assert.equal(await fullId(expired, 'mail-1', 'conversation', { isChange: true }), 'mail-1')
  })

  test('of a conversation is used as it is after 20 s', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    let pages = 0
    const endless = {
      invoke: async (name: string) => {
        if (name === 'message-list') return []
        t.mock.timers.tick(5_000)
        pages += 1
        assert.ok(pages < 10, 'the search ends')
        return { conversations: [], next: 'more' }
      },
    }
    assert.equal(
      await fullId(endless, 'slack:C9:1732885865.002730', 'conversation'),
      'slack:C9:1732885865.002730',
    )
  })

  test('is refused if not all ids can be looked at and none of them has it', async () => {
    const full = {
      invoke: async () => Array.from({ length: 1_000 }, (_, at) => ({ id: `${at}`, requestedAt: at })),
    }
    await assert.rejects(fullId(full, 'abcdef01', 'approval'), {
      code: 'usage',
      message: /Give the whole id/,
    })
  })

  test('is used as it is if no id has it, and refused if several do', async () => {
    assert.equal(await fullId(source, '00000000'), '00000000')
    const { code, err } = await site.run(['message', 'show', '00000000'])
    assert.equal(code, 1)
    assert.match(err, /00000000/)
    const two = { invoke: async () => [{ id: `1-${end}` }, { id: `2-${end}` }] }
    await assert.rejects(fullId(two, end), { code: 'usage', message: /2 ids begin or end with/ })
  })
})

test('a list shows a row in one line by cutting the last text, unless there is hardly room for it', () => {
  const rows = [['bc0c5d63', 'payments', 'the payment provider answered 502 for order 1011']]
  assert.equal(
    listTable(['id', 'route', 'why'], rows, 50),
    'id        route     why\nbc0c5d63  payments  the payment provider answered…',
  )
  assert.ok(listTable(['id', 'route', 'why'], rows, 30).split('\n').length > 2)
})

/** Arguments with names of ids that are no ids of lists. */
const NOT_LISTED = new Set([
  'conversation-note-delete id',
  'send-cancel id',
  'callback-respond id',
  'forget id',
  'delegation-accept id',
])
/** Ids that people can remember, such as schedule-1. */
const SHORT = /^(?:schedule|task)-/

test('every argument that is an id takes a short one', () => {
  for (const { name, args } of builtInSkills) {
    const ids = Object.entries(spokenArguments(args)).filter(([argument]) => /^ids?$|Ids?$/.test(argument))
    for (const [argument, { id }] of ids) {
      const place = `${name} ${argument}`
      const isExempt = NOT_LISTED.has(place) || SHORT.test(name) || place === 'message-search id'
      assert.equal(id === undefined, isExempt, place)
    }
  }
})

test('a list at a terminal shortens ids of messages, unsent replies, runs of schedules and requests', () => {
  const message = '01a2274f-b879-7000-8003-77df4cd08eb1'
  const run = 'ledger-export:2026-11-30T04:27:12.173Z:1796063232173'
  const shown = [
    message,
    `outbox:${message}`,
    `outbox:${message}:team:0`,
    run,
    '48dd59a2e51d8484',
    'mail-229',
  ]
  assert.deepEqual(
    shown.map((id) => shortId(id, true)),
    ['4cd08eb1', '4cd08eb1', '4cd08eb1:team:0', '1796063232173', 'e51d8484', 'mail-229'],
  )
  assert.deepEqual(
    shown.map((id) => shortId(id, false)),
    shown,
  )
})
