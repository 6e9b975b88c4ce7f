import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

/** example.net signs and asks to reject the rest; spf.example names its servers; other domains publish nothing. */
const resolver = dnsOf({
  ...RECORDS,
  'TXT spf.example': 'v=spf1 ip4:203.0.113.7 -all',
  'TXT _dmarc.spf.example': 'v=DMARC1; p=reject',
})

const world = await startWorld()

describe('who may write', async () => {
  const guarded = (address: string, options: object) =>
    world.daemon({ address, authentication: 'prefer', ...options }, { world: { resolver } })

  test('allowed senders get in; the others are counted, logged, put into quarantine, and seen by nobody', async () => {
    const user = 'list@example.com'
    const daemon = await guarded(user, {
      'allowed-senders': ['*@example.org', 'anna@*'],
      authentication: 'off',
      quarantine: 'Refused',
    })
    await world.deliver(mail({ from: 'eve@evil.example', text: 'let me in' }), user)
    await world.deliver(mail({ from: '"bob@example.org" <eve@evil.example>', text: 'let me in' }), user)
    await world.deliver(mail({ from: 'BOB@Example.ORG', text: 'hello' }), user)
    await until(() => daemon.store.messages.length === 1, 'the message')
    await until(() => daemon.refused.length === 2, 'the refusals')
    assert.deepEqual(daemon.refused, ['sender', 'sender'])
    assert.equal(daemon.store.messages[0]?.from.address, 'bob@example.org')
    assert.equal(daemon.store.calls, 1)
    await until(
      async () => (await world.mailbox(user, 'Refused').catch(() => [])).length === 2,
      'the quarantine',
    )
    assert.ok(daemon.logs.some(({ fields }) => JSON.stringify(fields).includes('eve@evil.example')))
    assert.doesNotMatch(JSON.stringify(daemon.logs), /let me in/)
  })

  const require = { authentication: 'require' }
  const anna = { 'allowed-senders': ['anna@example.net'] }
  const from = 'Anna <anna@spf.example>'
  const received = (ip: string) =>
    `Received: from mail.spf.example (mail.spf.example [${ip}])\r\n\tby mx.example.com (Postfix) with ESMTPS id 1;\r\n\tSat, 21 Nov 2026 19:40:48 +0000\r\n`
  const raw = mail({ text: 'pay 10' })
  const genuine = String(await signed(raw))
  const results = 'Authentication-Results: mx.example.com; dmarc=pass header.from=example.net\r\n'

  const cases: Record<string, { options: object; refused: string[]; taken: string; path?: string }> = {
    'a signature proves the sender, and no forged name, no change on the way, and no header put before it': {
      options: anna,
      refused: [
        raw,
        genuine.replace('pay 10', 'pay 99'),
        `Subject: invoice\r\nMessage-ID: <x@y>\r\n${genuine}`,
      ],
      taken: genuine,
    },
    'SPF is asked about the server that handed the mail over, not about the local delivery': {
      options: { 'allowed-senders': ['anna@spf.example'] },
      refused: [received('198.51.100.66') + received('203.0.113.7') + mail({ from })],
      taken: received('203.0.113.7') + mail({ from }),
      path: 'anna@spf.example',
    },
    'require does not let in whom nobody can vouch for': {
      options: require,
      refused: [mail({ from: 'bob@example.org' })],
      taken: genuine,
    },
    'the results of your own server are believed where it is named': {
      options: { ...require, trust: 'mx.example.com' },
      refused: [raw],
      taken: results + raw,
    },
  }
  for (const [at, [what, { options, refused, taken, path }]] of Object.entries(cases).entries()) {
    test(what, async () => {
      const user = `case-${at}@example.com`
      const daemon = await guarded(user, options)
      for (const each of refused) await world.deliver(each, user, path)
      await world.deliver(taken, user, path)
      assert.equal((await daemon.message()).from.verified, true)
      assert.deepEqual(
        daemon.refused,
        Array.from({ length: refused.length }, () => 'authentication'),
      )
      assert.equal(daemon.store.messages.length, 1)
    })
  }

  test('prefer lets in whom nobody can vouch for, and answers no forged sender whom no list keeps out', async () => {
    const user = 'open@example.com'
    const daemon = await guarded(user, {})
    for (const each of [mail({ from: 'bob@example.org' }), raw]) await world.deliver(each, user)
    await daemon.message(1)
    const suppressed = daemon.store.messages.map(({ data }) => pathGet(data, 'replyTarget.suppress'))
    assert.deepEqual(suppressed, [undefined, 'unauthenticated'])
  })

  test('a Reply-To that leads to somebody who may not write is not followed', async () => {
    const user = 'reply-to@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['*@example.org'], authentication: 'off' })
    await world.deliver(mail({ from: 'bob@example.org', headers: { 'Reply-To': 'eve@evil.example' } }), user)
    assert.equal(pathGet((await daemon.message()).data, 'replyTarget.to'), 'bob@example.org')
  })
})
