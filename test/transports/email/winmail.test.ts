import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import fc from '../../fixtures/fast-check.ts'
import { inTime } from '../../fixtures/in-time.ts'
import { encodeTnef, file, ID, property, type TnefContent } from './tnef-encoder.ts'

const offer = file('offer.pdf', '%PDF')
const OFFER = 'offer.pdf application/pdf'
const WINMAIL = 'winmail.dat application/ms-tnef'

describe('a mail with a winmail.dat', () => {
  test('lists the attachments in its place, and not itself', async () => {
    const mail = await parseMail(mailWith(encodeTnef({ attachments: [offer] }), 'See the offer.'))
    assert.deepEqual(namesOf(mail), [OFFER])
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString(), '%PDF')
    assert.equal(mail.text.trim(), 'See the offer.')
  })

  test('keeps its own text, and takes the one from winmail.dat only where it has none', async () => {
    const bytes = encodeTnef({ properties: [property.string(ID.body, 'Out of the box\r\n')] })
    assert.equal((await parseMail(mailWith(bytes, 'My own'))).text.trim(), 'My own')
    assert.equal((await parseMail(mailWith(bytes))).text.trim(), 'Out of the box')
  })

  test('has its texts in the code page that it names, and HTML in its own', async () => {
    const russian = Buffer.from('cff0e8e2e5f2', 'hex')
    const html = [
      property.int32(ID.codePage, 65_001),
      property.binary(ID.html, Buffer.from('<p>Привет!</p>')),
    ]
    const attachments = [{ title: russian, data: russian }]
    const mail = await parseMail(
      mailWith(encodeTnef({ codePage: 1251, body: russian, properties: html, attachments })),
    )
    assert.deepEqual([mail.text, mail.html, mail.parts[0]?.name], ['Привет', '<p>Привет!</p>', 'Привет'])
  })

  test('is read past properties of every kind', async () => {
    const properties = [
      ...[0x0002, 0x0003, 0x0004, 0x000b].map((type) => property.fixed(0x1230, type, Buffer.alloc(4, 1))),
      ...[0x0005, 0x0014, 0x0040].map((type) => property.fixed(0x1231, type, Buffer.alloc(8, 1))),
      property.fixed(0x1233, 0x0048, Buffer.alloc(16, 2)),
      property.fixed(0x1235, 0x1003, Buffer.alloc(4), Buffer.alloc(4)),
      property.strings(0x1234, 'odd', 'strings'),
      property.named(0x8001, 'a name of odd length', 'x'),
      property.string(ID.body, 'Behind them all'),
    ]
    const mail = await parseMail(mailWith(encodeTnef({ properties })))
    assert.deepEqual([mail.text, mail.parts], ['Behind them all', []])
  })

  test('is found by its file name where the type says nothing, and by its type under any name', async () => {
    const bytes = encodeTnef({ attachments: [offer] })
    const namesIn = async (type: string, name: string) =>
      namesOf(await parseMail(mailWith(bytes, 'x', type, name)))
    assert.deepEqual(await namesIn('application/octet-stream', 'WINMAIL.DAT'), [OFFER])
    assert.deepEqual(await namesIn('application/vnd.ms-tnef', 'whatever'), [OFFER])
    const other = await namesIn('application/octet-stream', 'other.dat')
    assert.deepEqual(other, ['other.dat application/octet-stream'])
  })

  const forwarded = {
    title: 'Fw',
    properties: [property.object(ID.data, encodeTnef({ attachments: [offer] }))],
  }
  const link = { properties: [property.string(ID.longName, 'far.doc')] }
  const lying = property.fixed(ID.body, 0x0777, Buffer.alloc(4))
  const kept: [what: string, bytes: Buffer, names: string[]][] = [
    ['is no TNEF at all', Buffer.from('not TNEF'), []],
    ['is empty', Buffer.alloc(0), []],
    ['is cut off', encodeTnef({ attachments: [offer, offer] }).subarray(0, -3), [OFFER]],
    ['has properties that nobody knows', encodeTnef({ properties: [lying], attachments: [offer] }), [OFFER]],
    ['is a meeting', encodeTnef({ messageClass: 'IPM.Schedule.Meeting', attachments: [offer] }), [OFFER]],
    ['links to a file elsewhere', encodeTnef({ attachments: [offer, link] }), [OFFER]],
    ['holds a message or an OLE object', encodeTnef({ attachments: [forwarded, offer] }), [OFFER]],
  ]
  for (const [what, bytes, names] of kept) {
    test(`that ${what} keeps it beside what could be read`, async () => {
      assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), [...names, WINMAIL])
    })
  }

  test('whose only text is in RTF keeps it, and says where the text is', async () => {
    const bytes = encodeTnef({
      properties: [property.binary(ID.rtf, Buffer.from('LZFu'))],
      attachments: [offer],
    })
    const mail = await parseMail(mailWith(bytes))
    assert.deepEqual(namesOf(mail), [OFFER, WINMAIL])
    assert.match(mail.unreadable ?? '', /winmail\.dat.*RTF/)
    const other = await parseMail(mailWith(bytes, 'My own'))
    assert.deepEqual([namesOf(other), other.unreadable], [[OFFER], undefined])
  })
})

describe('bytes that nobody meant for winmail.dat', () => {
  const content: TnefContent = {
    codePage: 932,
    body: Buffer.from('hello'),
    properties: [property.string(ID.body, 'Hello'), property.binary(ID.html, Buffer.from('<p>Hello</p>'))],
    attachments: [
      {
        ...offer,
        properties: [property.string(ID.longName, 'long.pdf'), property.strings(0x1234, 'a', 'b')],
      },
      { properties: [property.object(ID.data, encodeTnef({ attachments: [offer] }))] },
    ],
  }
  const good = encodeTnef(content)

  test('are read without a throw, into no more than they are, when a good one is damaged', async () => {
    const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(good.length), async (places, length) => {
        const broken = Buffer.from(good)
        for (const [at, byte] of places) broken.writeUInt8(byte, at)
        const { parts, text } = await parseMail(mailWith(broken.subarray(0, length)))
        const sizes = parts
          .filter(({ type }) => type !== 'application/ms-tnef')
          .map((each) => each.content.length)
        assert.ok(sizes.reduce((sum, size) => sum + size, text.length) <= good.length)
      }),
      { numRuns: 500 },
    )
  })

  test('that claim four billion values, or hold a hundred thousand attachments, take no time', async () => {
    const many = encodeTnef({ attachments: Array.from({ length: 100_000 }, () => file('x.txt', '')) })
    const liars = [0x1002, 0x1003, 0x101f, 0x1102, 0x001f, 0x0102].map((type) => {
      const start = property.fixed(ID.body, type).subarray(0, 4)
      return encodeTnef({ properties: [Buffer.concat([start, Buffer.alloc(8, 0xff)])] })
    })
    for (const bytes of [many, ...liars, Buffer.concat([good, Buffer.alloc(1_000_000, 2)])]) {
      const mail = await inTime('winmail.dat', 1000, () => parseMail(mailWith(bytes, 'x')))
      assert.ok(namesOf(mail).includes(WINMAIL))
    }
  })
})

function namesOf(mail: { parts: { name: string; type: string }[] }): string[] {
  return mail.parts.map(({ name, type }) => `${name} ${type}`)
}

function mailWith(bytes: Buffer, text?: string, type = 'application/ms-tnef', name = 'winmail.dat'): Buffer {
  const part = `--m\r\nContent-Type: ${type}; name="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n`
  const own = text === undefined ? '' : `--m\r\nContent-Type: text/plain\r\n\r\n${text}\r\n`
  const body = bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  const head = 'From: anna@example.net\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n'
  return Buffer.from(`${head}${own}${part}${body}\r\n--m--\r\n`)
}
