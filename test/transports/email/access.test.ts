import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sealMessage } from 'mailauth'
import { until } from '../../fixtures/until.ts'
import { mail, startWorld } from './harness.ts'
import { dnsOf, KEY, privateKey, RECORDS, signed } from './signing.ts'

/** example.net signs and asks to reject the rest; spf.example names its servers; other domains publish nothing. */
const resolver = dnsOf({
  ...RECORDS,
  'TXT spf.example': 'v=spf1 ip4:203.0.113.7 -all',
  'TXT _dmarc.spf.example': 'v=DMARC1; p=reject',
  'TXT s1._domainkey.lists.example.org': KEY,
})

/** Forwards a mail as a list does that says what it found. */
async function sealed(
  raw: string,
  sealer: string,
  found: string,
  cv: 'none' | 'pass' = 'none',
): Promise<string> {
  const authResults = `mx.${sealer}; ${found}`
  const headers = await sealMessage(Buffer.from(raw), {
    signingDomain: sealer,
    selector: 's1',
    privateKey,
    authResults,
    cv,
  })
  return headers.toString() + raw
}

const world = await startWorld()

describe('who may write', () => {
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

  test('a signature proves the sender; a forged name of a domain that signs is refused', async () => {
    const user = 'signed@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['anna@example.net'] })
    await world.deliver(mail({ text: 'forged' }), user)
    await until(() => daemon.refused.length === 1, 'the refusal')
    assert.deepEqual(daemon.refused, ['authentication'])
    await world.deliver(await signed(mail({ text: 'genuine' })), user)
    const message = await daemon.message()
    assert.equal(message.text, 'genuine')
    const { authentication } = message.data
    assert.ok(typeof authentication === 'object' && authentication && !Array.isArray(authentication))
    assert.deepEqual([authentication.result, authentication.by], ['pass', 'dmarc'])
  })

  test('a signed mail that was changed on the way is refused', async () => {
    const user = 'changed@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['anna@example.net'] })
    const raw = String(await signed(mail({ text: 'pay 10' })))
    await world.deliver(raw.replace('pay 10', 'pay 99'), user)
    await until(() => daemon.refused.length === 1, 'the refusal')
    assert.equal(daemon.store.messages.length, 0)
  })

  test('a signed mail with headers of somebody else before it is refused', async () => {
    const user = 'prepended@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['anna@example.net'] })
    const raw = await signed(mail({ subject: 'Lunch on Friday?' }))
    await world.deliver(`Subject: pay invoice 4711\r\nMessage-ID: <replay@evil.example>\r\n${raw}`, user)
    await until(() => daemon.refused.length === 1, 'the refusal')
    await world.deliver(raw, user)
    const message = await daemon.message()
    assert.equal(message.subject, 'Lunch on Friday?')
  })

  test('SPF is asked about the server that handed the mail over, not about the local delivery', async () => {
    const user = 'spf@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['anna@spf.example'] })
    const received = (ip: string) =>
      `Received: from mail.spf.example (mail.spf.example [${ip}])\r\n\tby mx.example.com (Postfix) with ESMTPS id 1;\r\n\tSat, 21 Nov 2026 19:40:48 +0000\r\n`
    const raw = mail({ from: 'Anna <anna@spf.example>' })
    const path = 'anna@spf.example'
    await world.deliver(received('198.51.100.66') + received('203.0.113.7') + raw, user, path)
    await until(() => daemon.refused.length === 1, 'the refusal')
    await world.deliver(received('203.0.113.7') + raw, user, path)
    const message = await daemon.message()
    assert.equal(message.from.verified, true)
  })

  test('prefer lets in whom nobody can vouch for, and require does not', async () => {
    const prefer = await guarded('prefer@example.com', { 'allowed-senders': ['*@example.org'] })
    const require = await guarded('require@example.com', { authentication: 'require' })
    for (const user of ['prefer@example.com', 'require@example.com']) {
      await world.deliver(mail({ from: 'bob@example.org' }), user)
    }
    await until(() => prefer.store.messages.length === 1, 'the message')
    await until(() => require.refused.length === 1, 'the refusal')
    assert.equal(require.store.messages.length, 0)
    await world.deliver(await signed(mail({})), 'require@example.com')
    await until(() => require.store.messages.length === 1, 'the proven message')
  })

  test('a forged sender without a list gets in, and no answer', async () => {
    const user = 'open@example.com'
    const daemon = await guarded(user, {})
    await world.deliver(mail({}), user)
    const message = await daemon.message()
    const target = message.data.replyTarget
    assert.ok(typeof target === 'object' && target && !Array.isArray(target))
    assert.equal(target.suppress, 'unauthenticated')
  })

  test('the results of your own server are believed where it is named', async () => {
    const user = 'trusting@example.com'
    const daemon = await guarded(user, { trust: 'mx.example.com', authentication: 'require' })
    await world.deliver(mail({ text: 'unproven' }), user)
    await until(() => daemon.refused.length === 1, 'the refusal')
    await world.deliver(
      mail({
        text: 'proven',
        headers: { 'Authentication-Results': 'mx.example.com; dmarc=pass header.from=example.net' },
      }),
      user,
    )
    await until(() => daemon.store.messages.length === 1, 'the message')
  })

  test('a list is believed that seals what it found, where it is named, and nobody else', async () => {
    const user = 'arc@example.com'
    const daemon = await guarded(user, { authentication: 'require', 'trust-arc': ['Lists.example.org'] })
    const proof = 'dmarc=pass (p=reject) header.from=example.net'
    const list = 'lists.example.org'
    const raw = mail({ text: 'through a list' })
    const forged = [
      await sealed(raw, 'evil.example', proof),
      await sealed(await sealed(raw, 'evil.example', proof), list, proof, 'pass'),
      await sealed(raw, list, 'dmarc=fail header.from=example.net'),
      await sealed(raw, list, 'dmarc=pass header.from=evil.example'),
      await sealed(raw, list, 'spf=pass (dmarc=pass header.from=example.net)'),
      (await sealed(raw, list, proof)).replace('through a list', 'changed after'),
    ]
    for (const each of forged) await world.deliver(each, user)
    await until(() => daemon.refused.length === forged.length, 'the refusals')
    await world.deliver(await sealed(raw, list, proof), user)
    const message = await daemon.message()
    assert.equal(message.text, 'through a list')
    assert.equal(message.from.verified, true)
    await daemon.stop()
    assert.equal(daemon.store.messages.length, 1)
  })

  test('a Reply-To that leads to somebody who may not write is not followed', async () => {
    const user = 'reply-to@example.com'
    const daemon = await guarded(user, { 'allowed-senders': ['*@example.org'], authentication: 'off' })
    await world.deliver(mail({ from: 'bob@example.org', headers: { 'Reply-To': 'eve@evil.example' } }), user)
    const message = await daemon.message()
    const target = message.data.replyTarget
    assert.ok(typeof target === 'object' && target && !Array.isArray(target))
    assert.equal(target.to, 'bob@example.org')
  })
})
