import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { type JsonObject, objectsIn, pathGet } from '../../src/core/json.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, respond: result, verify: { scheme: none }, conversation: data.body.order, from: data.body.by, text: data.body.text }
routes:
  - { name: desk, match: { gateway: shop }, skill: echo }
`

describe('conversation show', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  test('names the route and the skill of each reply, and what a message waits for', async () => {
    const send = (text: string) => {
      const body = JSON.stringify({ order: 'o1', by: 'petra', text })
      return fetch(`${daemon.url}/shop`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    }
    await send('where is it?')
    await daemon.invoke('skill-pause', { skill: 'echo' })
    const waits = send('hello?')
    const messages = async () => Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages
    await until(async () => (await messages()).length === 2, 'the second message')
    await until(async () => {
      const { out } = await site.run(['conversation', 'show', 'shop', 'shop:o1'])
      return /← petra\s+paused: skill echo/.test(out)
    }, 'the reason why the message waits')
    const { out } = await site.run(['conversation', 'show', 'shop', 'shop:o1'])
    assert.match(
      out,
      /^20\S+ \d\d:\d\d:\d\d UTC\s+→ route desk \(skill echo\)\n {4}You said: where is it\?$/m,
    )
    await daemon.invoke('skill-resume', { skill: 'echo' })
    await waits
  })

  test('and pause and resume take the gateway and the conversation in any order', async () => {
    for (const words of [['shop:o1'], ['shop', 'shop:o1'], ['shop:o1', 'shop']]) {
      for (const verb of ['pause', 'show', 'resume']) {
        const { code, err } = await site.run(['conversation', verb, ...words])
        assert.equal(code, 0, `${verb} ${words}: ${err}`)
      }
    }
    assert.equal((await site.run(['conversation', 'resume', 'shop', 'shop:o1', 'more'])).code, 2)
    const twice = await site.run(['conversation', 'show', '--gateway', 'shop', 'shop:o1', 'more'])
    assert.match(twice.err, /"more" is one argument too many/)
  })

  test('is answered, taken over and handed back in the words of the console, and shows who had it', async () => {
    const talk = ['shop', 'shop:o1']
    const taken = await site.run([
      'conversation',
      'take-over',
      ...talk,
      '--for',
      '2h',
      '--reason',
      'I call her',
    ])
    assert.equal(taken.code, 0, taken.err)
    const held = await site.run(['conversation', 'show', ...talk])
    assert.match(held.out, /UTC {2}· taken over by \S+, until \S+ \S+ UTC: I call her$/m)
    assert.match(held.out, /`trivium conversation answer shop:o1 TEXT` answers by hand\.$/m)
    assert.match(held.out, /`trivium conversation hand back shop:o1` hands it back\.$/m)
    assert.equal((await site.run(['conversation', 'hand', 'back', ...talk])).code, 0)
    const back = await site.run(['conversation', 'show', 'shop:o1'])
    assert.match(back.out, /UTC {2}· taken over by .*I call her\n.*· handed back by \S+$/m)
    const [handover] = JSON.parse(
      (await site.run(['conversation', 'show', ...talk, '--json'])).out,
    ).handovers.slice(-1)
    assert.partialDeepStrictEqual(handover, { reason: 'I call her' })
    assert.ok(handover.at < handover.endedAt && handover.endedAt < handover.until)
    assert.match((await site.run(['conversation', 'answer', 'shop:o1'])).err, /The text is missing/)
    assert.equal((await site.run(['conversation', 'take-over', '--help'])).err, '')
    assert.match((await site.run(['conversation', 'takeover', 'x'])).err, /conversation has no takeover/)
  })

  test('answers the newest message of a conversation by hand', async () => {
    assert.equal((await site.run(['message', 'cli', 'where is it?', '--json'])).code, 0)
    const [{ conversation }] = Object(await daemon.invoke('message-list', { gateway: 'cli', limit: 1 }))
    const sent = await site.run(['conversation', 'answer', 'cli', conversation, 'It', 'comes', 'on Monday.'])
    assert.match(sent.out, /^Sent/, sent.err)
    assert.match(sent.out + sent.err, /^It answers \S+\.$/m)
    const { out } = await site.run(['conversation', 'show', 'cli', conversation])
    assert.match(out, /It comes on Monday\./)
  })

  test('is changed by its whole id only, without the gateway if only one has it', async () => {
    const body = JSON.stringify({ order: '30dqaEXFx2m', by: 'petra', text: 'hello?' })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${daemon.url}/shop`, { method: 'POST', headers, body })
    const sent = async () =>
      objectsIn(pathGet(await daemon.invoke('conversation-show', place), 'entries')).filter(
        ({ role }) => role === 'reply',
      ).length
    const place = { gateway: 'shop', conversation: 'shop:30dqaEXFx2m' }
    const before = await sent()
    for (const [verb, ...text] of [['answer', 'No.'], ['note', 'A note.'], ['settle']] as const) {
      const refused = await site.run(['conversation', verb, 'dqaEXFx2m', ...text])
      assert.equal(refused.code, 2, verb)
      assert.match(refused.err, /needs the whole id\. Did you mean shop:30dqaEXFx2m\?/, verb)
    }
    assert.equal(await sent(), before)
    for (const words of [
      ['settle', place.conversation],
      ['note', place.conversation, 'Call', 'her.'],
    ]) {
      const { code, err } = await site.run(['conversation', ...words])
      assert.equal(code, 0, err)
    }
    const missing = await site.run(['conversation', 'note', place.conversation])
    assert.match(missing.err, /The text is missing: `trivium conversation note/)
    const { out } = await site.run(['conversation', 'show', place.conversation])
    assert.match(out, /Call her\./)
  })

  test('finds the gateway of an id that only one gateway has', async () => {
    const alone = await site.run(['conversation', 'show', 'shop:o1'])
    assert.match(alone.out, /You said: where is it/)
    const unknown = await site.run(['conversation', 'show', 'shop:o2'])
    assert.equal(unknown.code, 1, 'as for an unknown message')
    assert.match(unknown.err, /There is no conversation shop:o2\. .*`trivium conversation show GATEWAY ID`/)
  })
})

test('conversation show says whose turn it is, who has it, and which person wrote a reply', () => {
  const now = Date.now()
  const sender = { role: 'sender', from: { id: 'U1', name: 'Petra' }, conversation: 'c1' }
  const text = wholeText(
    humanResult(
      'conversation-show',
      {
        waitingSince: now - 38 * 60_000,
        heldBy: { by: 'control-token:Ingrid', since: now, reason: 'VIP' },
        entries: [
          { ...sender, at: now, id: 'm1', outcome: 'done', subject: 'Leak', text: 'It leaks.' },
          {
            role: 'reply',
            at: now,
            by: 'http control-token:Ingrid',
            state: 'sent',
            text: 'A photo, please.',
          },
          { role: 'reply', at: now, by: 'oidc:ada', state: 'dead', error: 'no such user', text: 'Hello?' },
          { ...sender, at: now, id: 'm2', outcome: 'waiting', subject: 'Re: Leak', text: 'Here.' },
        ],
      },
      { gateway: 'chat', conversation: 'c1' },
      true,
    ),
  )
  assert.match(
    text,
    /^c1 {2}in chat\nIngrid has it since .*: VIP\.\nPetra has waited for an answer for 38 min\.\n/,
  )
  assert.match(text, /→ Ingrid\n {4}A photo, please\./)
  assert.match(text, /→ ada {2}not delivered: no such user\n/)
  assert.equal(text.match(/Leak/g)?.length, 1, 'a subject is not repeated')
  assert.match(
    text,
    /conversation answer c1 TEXT` answers by hand\.\n.*conversation hand back c1` hands it back\.$/,
  )
})

test('conversation show says why the sender waits, unless somebody has the conversation', () => {
  const shown = (outcome: string, more: JsonObject = {}) => {
    const from = { id: 'U1', name: 'Petra' }
    const entries = [{ role: 'sender', at: 1, id: 'm1', from, conversation: 'c1', text: 'x', outcome }]
    const found = { entries, waitingSince: Date.now(), ...more }
    return wholeText(humanResult('conversation-show', found, {}, true))
  }
  assert.match(shown('done'), /for \d+ s\. The message was handled without an answer\.\n/)
  assert.match(shown('unrouted'), /s\. The message has no route, so only a person can answer\.\n/)
  assert.match(shown('approval'), /s\. The answer waits for a decision about a request\.\n/)
  assert.match(shown('retrying'), /for \d+ s\.\n/)
  assert.match(shown('done', { heldBy: { by: 'ada', since: 1 } }), /for \d+ s\.\n/)
})

test('conversation show says why it cannot be answered', () => {
  const entries = [{ role: 'sender', at: 1, id: 'm1', from: { id: 'shop' }, conversation: 'c1', text: 'x' }]
  const shown = (found: JsonObject) =>
    wholeText(humanResult('conversation-show', { entries, ...found }, {}, true))
  assert.match(shown({ unanswerable: 'its job has ended' }), /It cannot be answered: its job has ended\./)
  const undelivered = { at: 1, letter: 'outbox:a' }
  const gone = shown({ unreachable: 'the mailbox does not exist', waitingSince: 1, undelivered })
  assert.doesNotMatch(gone, /--to ADDRESS/)
  const mail = entries.map((entry) => ({ ...entry, transport: 'email' }))
  assert.match(
    shown({ entries: mail, undelivered }),
    /`trivium gateway send TEXT --message-id m1 --to ADDRESS` answers at another address/,
  )
  assert.match(gone, /`trivium dead-letter show outbox:a` shows why it failed/)
  assert.match(gone, /Another answer would fail too: the mailbox does not exist\./)
  assert.doesNotMatch(gone, /gateway send/)
})

test('conversation show names the decision about an approval', () => {
  const at = Date.UTC(2026, 10, 29, 16, 16)
  const request = {
    role: 'reply',
    at,
    approval: 'a1',
    state: 'sent',
    text: 'Refund 64.50 EUR\n\nArguments: …',
  }
  const decision = { status: 'denied', at: at + 1_000, by: 'control-token:root@vm', reason: 'too late' }
  const entries = [{ ...request, decision }, { ...request, decision: { status: 'expired', at } }, request]
  const text = wholeText(
    humanResult('conversation-show', { entries }, { gateway: 'support', conversation: 'c1' }, true),
  )
  assert.match(
    text,
    /· asks for approval a1: Refund 64\.50 EUR\n {4}Denied by root@vm, .*16:16:01 UTC: too late\n/,
  )
  assert.match(text, / {4}Expired, as nobody decided in time, .*UTC\n/)
  assert.match(text, / {4}Not decided yet\./)
  assert.doesNotMatch(text, /→/)
})
