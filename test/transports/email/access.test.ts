import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { mail, startMailServer } from './harness.ts'
import { dnsOf, RECORDS, signed } from './signing.ts'

/** example.net signs, and asks receivers to reject unsigned mail. Other domains publish nothing. */
const resolver = dnsOf(RECORDS)

const mailServer = await startMailServer()

describe('a mailbox with limited senders', async () => {
  const guarded = (address: string, options: object) =>
    mailServer.daemon({ address, authentication: 'prefer', ...options }, { overrides: { resolver } })

  test('accepts mail of allowed senders, and counts, logs and quarantines the rest', async () => {
    const user = 'list@example.com'
    const daemon = await guarded(user, {
      'allowed-senders': ['*@example.org', 'anna@*'],
      authentication: 'off',
      quarantine: 'Refused',
    })
    await mailServer.deliver(mail({ from: 'eve@evil.example', text: 'let me in' }), user)
    await mailServer.deliver(mail({ from: '"bob@example.org" <eve@evil.example>', text: 'let me in' }), user)
    await mailServer.deliver(mail({ from: 'BOB@Example.ORG', text: 'hello' }), user)
    await until(() => daemon.store.messages.length === 1, 'the message')
    await until(() => daemon.refused.length === 2, 'the refusals')
    assert.deepEqual(daemon.refused, ['sender', 'sender'])
    assert.equal(daemon.store.messages[0]?.from.address, 'bob@example.org')
    // Refused mail never reaches `accept`.
    assert.equal(daemon.store.acceptCalls, 1)
    await until(
      async () => (await mailServer.mailbox(user, 'Refused').catch(() => [])).length === 2,
      'the quarantine',
    )
    assert.ok(daemon.logs.some(({ fields }) => JSON.stringify(fields).includes('eve@evil.example')))
    assert.doesNotMatch(JSON.stringify(daemon.logs), /let me in/)
  })

  const requiring = { authentication: 'require' }
  const anna = { 'allowed-senders': ['anna@example.net'] }
  const raw = mail({ text: 'pay 10' })
  const genuine = String(await signed(raw))
  const results = 'Authentication-Results: mx.example.com; dmarc=pass header.from=example.net\r\n'

  const cases: Record<string, { options: object; refused: string[]; accepted: string }> = {
    'accepts a signed mail, but not a forged name, a changed text, or an added header': {
      options: anna,
      refused: [
        raw,
        genuine.replace('pay 10', 'pay 99'),
        `Subject: invoice\r\nMessage-ID: <x@y>\r\n${genuine}`,
      ],
      accepted: genuine,
    },
    'with `require` refuses a sender whose domain publishes nothing': {
      options: requiring,
      refused: [mail({ from: 'bob@example.org' })],
      accepted: genuine,
    },
    'believes the results of the server that `trust` names': {
      options: { ...requiring, trust: 'mx.example.com' },
      refused: [raw],
      accepted: results + raw,
    },
  }
  for (const [index, [title, { options, refused, accepted }]] of Object.entries(cases).entries()) {
    test(title, async () => {
      const user = `case-${index}@example.com`
      const daemon = await guarded(user, options)
      for (const each of refused) await mailServer.deliver(each, user)
      await mailServer.deliver(accepted, user)
      const { from, data } = await daemon.message()
      // Only a list of senders sets `data.allowed`.
      const allowed = 'allowed-senders' in options ? true : undefined
      assert.deepEqual([from.verified, data.allowed], [true, allowed])
      // Refusals are reported when the messages of their batch are stored.
      await until(() => daemon.refused.length >= refused.length, 'the refusals')
      assert.deepEqual(
        daemon.refused,
        Array.from({ length: refused.length }, () => 'authentication'),
      )
      assert.equal(daemon.store.messages.length, 1)
    })
  }

  test('accepts a mail with an unsigned In-Reply-To, but does not trust it as one of an allowed sender', async () => {
    // Somebody else may have added the header, to bring the mail into another conversation.
    const user = 'unsigned@example.com'
    const daemon = await guarded(user, anna)
    const headerList = 'to:subject:message-id:date:from'
    const sparse = await signed(mail({ text: 'Yes' }), 'example.net', { headerList })
    await mailServer.deliver(`In-Reply-To: <question@example.com>\r\n${sparse}`, user)
    const { from, data } = await daemon.message()
    assert.deepEqual([from.verified, data.allowed], [true, undefined])
  })

  test('with `prefer` accepts any mail, but does not answer a forged sender', async () => {
    const user = 'open@example.com'
    const daemon = await guarded(user, {})
    for (const each of [mail({ from: 'bob@example.org' }), raw]) await mailServer.deliver(each, user)
    await daemon.message(1)
    const suppressed = daemon.store.messages.map(({ data }) => pathGet(data, 'replyTarget.suppress'))
    assert.deepEqual(suppressed, [undefined, 'unauthenticated'])
  })

  test('does not reply to a Reply-To address that is not allowed', async () => {
    const user = 'reply-to@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['*@example.org'], authentication: 'off' })
    await mailServer.deliver(
      mail({ from: 'bob@example.org', headers: { 'Reply-To': 'eve@evil.example' } }),
      user,
    )
    assert.equal(pathGet((await daemon.message()).data, 'replyTarget.to'), 'bob@example.org')
  })
})
