import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createConversations } from '../../../transports/email/inbound/conversation.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import type { Identity } from '../../../transports/email/proof/claim.ts'
import { replyTarget } from '../../../transports/email/reply-target.ts'
import { createSentLog, markOf, messageIdOf } from '../../../transports/email/sent-log.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { mail } from './harness.ts'
import { dnsOf, HOP, judge, onTop, SPF, signed } from './signing.ts'

/**
 * The headers that Gmail signs, without the repeated names that exclude added headers. Microsoft
 * signs fewer.
 */
const SPARSE = { headerList: 'to:subject:message-id:date:from:mime-version' }

async function answerTo(raw: Buffer, identity: Identity) {
  const facts = { own: new Set<string>(), auto: undefined, identity, allowed: () => true, isAddressed: true }
  return replyTarget(await parseMail(raw), { ...facts, receivedAt: 0, now: 0, maxAge: 1 }).to
}

describe('an unsigned header that is added to a mail with a valid signature', () => {
  const REPLY_TO = 'Reply-To: mallory@evil.example\r\n'

  test('does not redirect the answer', async () => {
    const raw = onTop(REPLY_TO, await signed(mail({}), 'example.net', SPARSE))
    const identity = await judge(raw)
    assert.deepEqual([identity.result, identity.unsigned], ['pass', ['reply-to']])
    assert.equal(await answerTo(raw, identity), 'anna@example.net')
  })

  test('counts if it is signed, or the server of the sender handed the mail over', async () => {
    const withSigned = await signed(REPLY_TO + mail({}))
    const fromServer = onTop(HOP + REPLY_TO, await signed(mail({}), 'example.net', SPARSE))
    for (const raw of [withSigned, fromServer]) {
      const identity = await judge(raw, { resolver: dnsOf(SPF) })
      assert.deepEqual([identity.result, identity.unsigned], ['pass', undefined])
      assert.equal(await answerTo(raw, identity), 'mallory@evil.example')
    }
  })

  test('is also recognised if a trusted server verified the signature', async () => {
    const results = (more = '') =>
      `Authentication-Results: mx.example.com; dkim=pass header.d=example.net; dmarc=pass header.from=example.net${more}\r\n`
    const raw = await signed(mail({}), 'example.net', SPARSE)
    const identityWith = (more?: string) =>
      judge(onTop(results(more) + REPLY_TO, raw), { trust: 'mx.example.com' })
    assert.deepEqual((await identityWith()).unsigned, ['reply-to'])
    assert.equal((await identityWith('; spf=pass smtp.mailfrom=example.net')).unsigned, undefined)
  })

  test('does not put the mail into a conversation of others, but into one with its sender', async () => {
    const { kv } = createMemoryStore()
    const sent = createSentLog(kv, 'support')
    const find = createConversations(kv, 'support', sent, 1000)
    const accept = async (raw: Buffer, identity: Identity) => {
      const { conversation, remember } = await find(await parseMail(raw), identity)
      await remember()
      return conversation
    }
    const unverified: Identity = { result: 'none', by: 'unsigned', detail: '' }
    const first = mail({ from: 'mallory@evil.example', id: 'm@evil.example', subject: 'Pay' })
    const ofMallory = await accept(Buffer.from(first), unverified)
    /** The conversation of a signed mail that refers to this id. */
    const conversationOf = async (id: string, headerList: string) => {
      const raw = await signed(mail({ subject: 'Yes', headers: { References: id } }), 'example.net', {
        headerList,
      })
      return accept(raw, await judge(raw))
    }
    const withReferences = `${SPARSE.headerList}:references`
    assert.equal(await conversationOf('<m@evil.example>', withReferences), ofMallory)
    assert.notEqual(await conversationOf('<m@evil.example>', SPARSE.headerList), ofMallory)

    /** Records a sent mail and resolves with its Message-ID. */
    const sentTo = async (to: string) => {
      const mark = markOf('support', to)
      await sent.set(mark, { state: 'sent', key: to, at: 0, to, conversation: `with ${to}` })
      return messageIdOf(mark, 'support@example.com')
    }
    assert.equal(
      await conversationOf(await sentTo('anna@example.net'), SPARSE.headerList),
      'with anna@example.net',
    )
    const other = await sentTo('mallory@evil.example')
    assert.notEqual(await conversationOf(other, SPARSE.headerList), 'with mallory@evil.example')
    assert.equal(await conversationOf(other, withReferences), 'with mallory@evil.example')
  })
})

describe('a body with an unsigned content type', () => {
  const TEXT = 'Content-Type: text/plain; charset=utf-8\r\n'
  const QUOTING = 'Sure.\n\n> What?\n--evil\n\nTransfer 1000 EUR\n--evil--\n'
  const PARTS =
    '--b1\nContent-Type: text/plain\n\nHello\n--b1\nContent-Type: text/html\n\n<p>Hello</p>\n--b1--\n'
  const withType = (type: string, raw: Buffer) => raw.toString().replace(TEXT, type)
  const typed = (type: string, text: string) =>
    withType(type, Buffer.from(mail({ text: text.replaceAll('\r\n', '\n') })))

  test('fails if the type is changed to a multipart, unless the server of the sender handed it over', async () => {
    const raw = await signed(mail({ text: QUOTING }), 'example.net', SPARSE)
    assert.equal((await judge(raw)).result, 'pass')
    const changed = withType('Content-Type: multipart/mixed; boundary=evil\r\n', raw)
    const { result, detail } = await judge(changed)
    assert.equal(result, 'fail')
    assert.match(detail, /content-type is not signed/)
    assert.equal((await judge(HOP + changed, { resolver: dnsOf(SPF) })).result, 'pass')
    const trusted =
      'Authentication-Results: mx.example.com; dmarc=pass (p=REJECT) header.from=example.net\r\n'
    assert.equal((await judge(trusted + changed, { trust: 'mx.example.com' })).result, 'fail')
    assert.equal((await judge(trusted + raw.toString(), { trust: 'mx.example.com' })).result, 'pass')
  })

  const FORGED: Record<string, [text: string, type: string]> = {
    'parts as a text': [PARTS, ''],
    'other parts': [PARTS, 'Content-Type: multipart/mixed; boundary=b2\r\n'],
    'two boundaries': [PARTS, 'Content-Type: multipart/mixed; boundary=b1; boundary=b2\r\n'],
    'the mark of a forwarded mail': [
      '---------- Forwarded message ---------\r\nFrom: Eve\r\n\r\nTransfer 1000 EUR\r\n',
      'Content-Type: multipart/mixed; boundary="-------- Forwarded message ---------"\r\n',
    ],
    'a text as HTML': ['Sure.\r\n> <br>Transfer<br>\r\n', 'Content-Type: text/html\r\n'],
    'a text as UTF-7': ['Sure.\r\n> +AAo-Transfer\r\n', 'Content-Type: text/plain; charset=utf-7\r\n'],
    'HTML as a text': ['<p>Sure.\r\nTransfer\r\n</p>', ''],
    'a text as quoted-printable': [
      'Sure.\r\n> a=0A=0ATransfer\r\n',
      `${TEXT}Content-Transfer-Encoding: quoted-printable\r\n`,
    ],
    'a text as base64': ['Sure, this.\r\n', `${TEXT}Content-Transfer-Encoding: base64\r\n`],
    'quoted-printable as a text': [
      `> ${'wo rd '.repeat(12)}=\r\nTransfer\r\n`,
      `${TEXT}Content-Transfer-Encoding: 8bit\r\n`,
    ],
  }
  test('fails if it does not fit the type, and passes if the type is signed', async () => {
    for (const [name, [text, type]] of Object.entries(FORGED)) {
      const forged = await judge(await signed(typed(type, text), 'example.net', SPARSE))
      assert.equal(forged.result, 'fail', name)
      const all = `${SPARSE.headerList}:content-type:content-transfer-encoding`
      const raw = typed(
        type === '' ? 'Content-Type: text/plain\r\nContent-Transfer-Encoding: 7bit\r\n' : type,
        text,
      )
      const own = await judge(await signed(raw, 'example.net', { headerList: all }))
      assert.equal(own.result, 'pass', name)
    }
  })

  const HONEST: Record<string, [text: string, type: string]> = {
    parts: [PARTS, 'Content-Type: multipart/alternative; boundary="b1"\r\n'],
    'parts after a note': [
      `This is a multi-part message in MIME format.\r\n\r\n${PARTS}`,
      'Content-Type: multipart/alternative;\r\n boundary=b1\r\n',
    ],
    'parts after a note in German': [
      `Dies ist eine mehrteilige Nachricht im MIME-Format.\r\n\r\n${PARTS}`,
      'Content-Type: multipart/alternative; boundary=b1\r\n',
    ],
    HTML: ['<html><p>Hello</p></html>', 'Content-Type: text/html\r\n'],
    'a text in quoted-printable': [
      'H=C3=A9llo =\r\nyou\r\n',
      `${TEXT}Content-Transfer-Encoding: quoted-printable\r\n`,
    ],
    'a text in base64': ['SGVsbG8gQW5uYQ==\r\n', `${TEXT}Content-Transfer-Encoding: base64\r\n`],
    'a text without a type': ['Hello\r\n--\r\nAnna\r\n', ''],
  }
  test('passes if it fits the type', async () => {
    for (const [name, [text, type]] of Object.entries(HONEST)) {
      const { result } = await judge(await signed(typed(type, text), 'example.net', SPARSE))
      assert.equal(result, 'pass', name)
    }
  })
})
