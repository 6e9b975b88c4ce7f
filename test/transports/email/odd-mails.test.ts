// Mails of devices, scripts and old programs, from bug reports of MimeKit, mail-mime-parser,
// mail-parser, postal-mime and hypermail.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { automaticReason } from '../../../transports/email/inbound/automatic.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { inProportion } from '../../fixtures/in-time.ts'

const read = (head: string, body: string) =>
  parseMail(Buffer.from(`From: Ada <ada@example.net>\nTo: support@example.com\n${head}\n\n${body}\n`))
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('the text of a mail is read', () => {
  const cases: [title: string, head: string, body: string, text: string][] = [
    ['with an incomplete type', 'Content-Type: plain', 'Hé', 'Hé'],
    ['with an incomplete type of HTML', 'Content-Type: html; charset=utf-8', '<p>Hé <b>x</b></p>', 'Hé x'],
    ['with an unknown subtype', 'Content-Type: text/x-markdown', '*Hé*', '*Hé*'],
    ['as enriched text', 'Content-Type: text/enriched', '<bold>Hé</bold> <<x> y', 'Hé <x> y'],
    [
      'as richtext',
      'Content-Type: text/richtext',
      '<bold>Hé</bold> <lt>bold><nl><comment>no</comment>y',
      'Hé <bold>\ny',
    ],
    ['with the type of any data', 'Content-Type: application/octet-stream', 'Hé', 'Hé'],
    ['with an invalid type', 'Content-Type: application/text', 'Hé', 'Hé'],
    ['with a misspelled encoding', 'Content-Transfer-Encoding: quoted printable', 'H=C3=A9', 'Hé'],
    [
      'if it is wrongly labelled as base64',
      'Content-Transfer-Encoding: base64',
      'Hello, this is plain text. Call me at 5.',
      'Hello, this is plain text. Call me at 5.',
    ],
    [
      'with a footer that a list appended to base64',
      'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64',
      `${base64('Hé there')}\n\n_____\nThe list, see https://example.org/list`,
      'Hé there\nThe list, see https://example.org/list',
    ],
    [
      'inside a clear signature',
      'Subject: signed',
      '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nPlease call.\n- -- \nAda\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----',
      'Please call.\n-- \nAda',
    ],
    [
      'with emoji that are images',
      'Content-Type: text/html',
      '<p>Great <img alt="👍" src="cid:1"><img alt="Logo of a firm" src="x"></p>',
      'Great 👍',
    ],
  ]
  for (const [title, head, body, text] of cases)
    test(title, async () => {
      const mail = await read(head, body)
      assert.deepEqual([mail.text.trim(), mail.parts], [text, []])
    })

  test('but a file stays an attachment', async () => {
    for (const [type, body] of [
      ['text/vcard', 'BEGIN:VCARD'],
      ['text/csv', 'a,b'],
      ['application/octet-stream', 'a\0b'],
      ['application/octet-stream; name=a.txt', 'words of a file'],
      ['application/pdf', '%PDF-1.4 (with words, too)'],
    ] as const) {
      const { text, parts } = await read(`Content-Type: ${type}`, body)
      assert.deepEqual([text, parts.length], ['', 1], type)
    }
    const file = `${base64('x'.repeat(50_000))}\n`
    const { parts } = await read('Content-Type: image/png\nContent-Transfer-Encoding: base64', file)
    assert.equal(parts[0]?.content.length, 50_000)
  })

  test('in bounded time if any text is labelled as base64', async () => {
    for (const piece of ['a', 'a ', 'a, ', 'ab cd\n', '. \n', ' \n'])
      await inProportion(piece, 200_000, (size) =>
        read('Content-Transfer-Encoding: base64', piece.repeat(size / piece.length)),
      )
  })
})

describe('the sender of a mail is read', () => {
  const own = new Set(['support@example.com'])
  const heads: [title: string, raw: string][] = [
    ['after empty lines', '\r\n\r\nFrom: Ada <ada@example.net>\r\nTo: support@example.com\r\n\r\nHi\r\n'],
    [
      'if lines end with carriage returns only',
      'From: Ada <ada@example.net>\rTo: support@example.com\r\rHi\r',
    ],
    ['as a mailto link', 'From: Ada <mailto:ada@example.net>\n\nHi\n'],
    ['in two pairs of brackets', 'From: Ada <<ada@example.net>>\n\nHi\n'],
    ['with blanks in the address', 'From: Ada <ada @ example.net>\n\nHi\n'],
    ['with a final dot', 'From: Ada <ada@example.net.>\n\nHi\n'],
  ]
  for (const [title, raw] of heads)
    test(title, async () => {
      const mail = await parseMail(Buffer.from(raw))
      assert.deepEqual(mail.from, [{ name: 'Ada', address: 'ada@example.net' }])
      assert.deepEqual([mail.text.trim(), automaticReason(mail, own)], ['Hi', undefined])
    })
})
