import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

/** example.net signs and asks to reject the rest; other domains publish nothing. */
const resolver = dnsOf(RECORDS)

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
  const raw = mail({ text: 'pay 10' })
  const genuine = String(await signed(raw))
  const results = 'Authentication-Results: mx.example.com; dmarc=pass header.from=example.net\r\n'

  const cases: Record<string, { options: object; refused: string[]; taken: string }> = {
    'a signature proves the sender, and no forged name, no change on the way, and no header put before it': {
      options: anna,
      refused: [
        raw,
        genuine.replace('pay 10', 'pay 99'),
        `Subject: invoice\r\nMessage-ID: <x@y>\r\n${genuine}`,
      ],
      taken: genuine,
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
  for (const [at, [what, { options, refused, taken }]] of Object.entries(cases).entries()) {
    test(what, async () => {
      const user = `case-${at}@example.com`
      const daemon = await guarded(user, options)
      for (const each of refused) await world.deliver(each, user)
      await world.deliver(taken, user)
      const { from, data } = await daemon.message()
      // Only a list of senders makes one of them.
      assert.deepEqual([from.verified, data.allowed], [true, 'allowed-senders' in options || undefined])
      assert.deepEqual(
        daemon.refused,
        Array.from({ length: refused.length }, () => 'authentication'),
      )
      assert.equal(daemon.store.messages.length, 1)
    })
  }

  test('a mail that is led elsewhere by what its signature leaves out is taken, and not as one of the allowed', async () => {
    const user = 'led@example.com'
    const daemon = await guarded(user, anna)
    const headerList = 'to:subject:message-id:date:from'
    const sparse = await signed(mail({ text: 'Yes' }), 'example.net', { headerList })
    await world.deliver(`In-Reply-To: <question@example.com>\r\n${sparse}`, user)
    const { from, data } = await daemon.message()
    assert.deepEqual([from.verified, data.allowed], [true, undefined])
  })

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
