import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import nodemailer from 'nodemailer'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { compose } from '../../../transports/email/outbound/compose.ts'
import type { ReplyTarget } from '../../../transports/email/reply-target.ts'

const OPTIONS = emailOptions.parse({
  address: 'support@example.com',
  imap: { host: 'imap.example.com', user: 'u', pass: 'p' },
  smtp: { host: 'smtp.example.com', user: 'u', pass: 'p' },
})

const stream = nodemailer.createTransport({ streamTransport: true, buffer: true })

describe('a composed mail', () => {
  const answer = (target: Partial<ReplyTarget>) =>
    compose(
      {
        key: 'k',
        gateway: 'support',
        conversation: 'c',
        text: 'Hello',
        target: { to: 'anna@example.net', subject: 'Parcel', references: [], at: 0, ...target },
      },
      OPTIONS,
    )
  const raw = async (target: Partial<ReplyTarget>) => {
    const { message } = await stream.sendMail(answer(target).mail)
    assert.ok(Buffer.isBuffer(message))
    return message
  }
  const head = async (target: Partial<ReplyTarget>) => {
    const [lines = ''] = (await raw(target)).toString().split('\r\n\r\n', 1)
    for (const line of lines.split('\r\n')) assert.ok(line.length <= 998, `${line.length} characters`)
    return lines.replaceAll(/\r\n\s+/g, ' ')
  }

  test('at another address has the subject of the answered mail, and continues no thread', () => {
    const target = {
      to: 'anna@example.net',
      subject: 'Parcel',
      references: ['<1@x>'],
      at: 0,
      messageId: '<1@x>',
    }
    const reply = {
      key: 'k',
      gateway: 'support',
      conversation: 'c',
      text: 'Hello',
      target,
      to: 'eve@example.net',
    }
    const { mail, recipients } = compose(reply, OPTIONS)
    assert.deepEqual(recipients, ['eve@example.net'])
    assert.equal(mail.subject, 'Re: Parcel')
    assert.deepEqual([mail.inReplyTo, mail.references], [undefined, []])
  })

  test('has exactly one valid address', () => {
    const good = "a@b.c|å@b.c|o'neil+x@b.c"
    for (const to of good.split('|')) assert.equal(answer({ to }).to, to)
    const bad =
      '|a|@b|a@|a b@c.d|a@b.c, d@e.f|<a@b.c>|a@b@c.d|"a"b"@c.d|"a@c.d|a@[b|a@b]|a@[127.0.0.1]@c|a@b c|' +
      '"a\r\nb"@c.d|a@b.c\0|"a\\"@c.d|Anna <a@b.c>'
    for (const to of [...bad.split('|'), `${'a'.repeat(320)}@b.c`])
      assert.throws(() => answer({ to }), { code: 'send_rejected' }, JSON.stringify(to))
  })

  test('has no line over 998 characters, however long the name and subject of the correspondent', async () => {
    for (const piece of ['A', 'A ', 'ö', '"\\', '😀']) {
      const long = piece.repeat(2000)
      const lines = await head({ name: long, subject: long })
      const read = await parseMail(Buffer.from(`${lines}\r\n\r\n`))
      assert.equal(read.to[0]?.address, 'anna@example.net')
      assert.ok(read.to[0]?.name.startsWith(piece.trim()), piece)
      assert.ok(read.to[0]?.name.isWellFormed())
      assert.ok(read.subject?.startsWith(`Re: ${piece.trim()}`))
    }
    assert.match(
      await head({ name: 'Anna, of Example Ltd' }),
      /^To: "Anna, of Example Ltd" <anna@example\.net>$/m,
    )
  })

  test('does not refer to malformed Message-IDs', async () => {
    const references = '<1@x> <a\u0001b@x> <ö@x> <no-at> 1@x <2@x>'.split(' ')
    references.splice(2, 0, `<${'a'.repeat(900)}@x>`, '<a b@x>')
    assert.match(await head({ references }), /^References: <1@x> <no-at> <2@x>$/m)
    assert.doesNotMatch(
      await head({ references: ['<ö@x>'], messageId: '<\u0001@x>' }),
      /^(References|In-Reply-To):/m,
    )
    assert.match(await head({ messageId: '<2@x>' }), /^In-Reply-To: <2@x>$/m)
  })

  test('adds Re: to a forwarded subject, but not to an answered one', () => {
    assert.equal(answer({ subject: 'Fwd: Parcel' }).mail.subject, 'Re: Fwd: Parcel')
    assert.equal(answer({ subject: 'AW: Parcel' }).mail.subject, 'AW: Parcel')
  })
})
