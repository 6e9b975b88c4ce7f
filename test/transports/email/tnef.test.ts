import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { codePageDecoder } from '../../../transports/email/inbound/code-page.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { parseBigMail } from '../../../transports/email/inbound/parse-big.ts'
import { readTnef, type Tnef } from '../../../transports/email/inbound/tnef.ts'
import fc from '../../fixtures/fast-check.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { encodeTnef, INTERFACE, property, type TnefContent, type TnefFile } from './tnef-encoder.ts'

const ID = {
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  name: 0x3001,
  data: 0x3701,
  longName: 0x3707,
  type: 0x370e,
  contentId: 0x3712,
  flags: 0x3714,
}

const file = (title: string, content: string): TnefFile => ({ title, data: Buffer.from(content) })
const offer = file('offer.pdf', '%PDF')

describe('what Outlook wraps into winmail.dat', () => {
  test('is read past properties of every kind', () => {
    const properties = [
      property.int16(0x1230, 7),
      property.boolean(0x1231, true),
      property.time(0x1232),
      property.guid(0x1233),
      property.strings(0x1234, ['odd', 'strings']),
      property.int16s(0x1235, [1, 2, 3]),
      { ...property.string(0x8001, 'x'), name: 'a name of odd length' },
      { ...property.int16(0x8002, 5), name: 0x8514 },
      property.string8(0x1236, 'five\0'),
      property.string(ID.body, 'Behind them all'),
    ]
    const tnef = read({ properties })
    assert.equal(tnef.text, 'Behind them all')
    assert.equal(tnef.whole, true)
  })

  test('is named by the long file name, in Unicode, before the short one', () => {
    const long = property.string(ID.longName, 'Angebot für Łódź.pdf')
    const { attachments } = read({ attachments: [{ ...offer, properties: [long] }, offer] })
    assert.deepEqual(
      attachments.map(({ name }) => name),
      ['Angebot für Łódź.pdf', 'offer.pdf'],
    )
  })

  test('has its texts in the code page that it names, and HTML in its own', () => {
    const russian = Buffer.from('cff0e8e2e5f2', 'hex')
    const html = [property.int32(0x3fde, 65_001), property.binary(ID.html, Buffer.from('<p>Привет</p>'))]
    const tnef = read({
      codePage: 1251,
      body: russian,
      properties: html,
      attachments: [{ title: russian, data: russian }],
    })
    assert.equal(tnef.text, 'Привет')
    assert.equal(tnef.html, '<p>Привет</p>')
    assert.equal(tnef.attachments[0]?.name, 'Привет')
  })

  test('is decoded whatever the number of its code page', () => {
    for (let codePage = 0; codePage < 66_000; codePage++) {
      assert.equal(codePageDecoder(codePage).encoding.length > 0, true)
    }
  })

  test('keeps what stands in front of a place that is broken', () => {
    const good = encodeTnef({ attachments: [offer, file('second.pdf', 'x'.repeat(100))] })
    const cut = readTnef(good.subarray(0, -20))
    assert.deepEqual(namesIn(cut), ['offer.pdf'])
    assert.equal(cut?.whole, false)
  })

  test('that has a wrong checksum is read, and known to be damaged', () => {
    const bytes = encodeTnef({ attachments: [offer] })
    bytes[bytes.indexOf('%PDF')] = 0
    assert.deepEqual(namesIn(readTnef(bytes)), ['offer.pdf'])
    assert.equal(readTnef(bytes)?.whole, false)
  })

  test('whose properties are broken still gives the attachments behind them', () => {
    const lying = { ...property.binary(ID.body, Buffer.alloc(4)), type: 0x7777 }
    const tnef = read({ properties: [lying], attachments: [offer] })
    assert.deepEqual(namesIn(tnef), ['offer.pdf'])
    assert.equal(tnef.whole, false)
  })

  test('does not give more than a thousand attachments, wherever they are', () => {
    const many = { attachments: Array.from({ length: 700 }, (_, index) => file(`${index}`, '')) }
    const inner = property.object(ID.data, INTERFACE.message, encodeTnef(many))
    const tnef = read({ attachments: [...many.attachments, { properties: [inner] }] })
    assert.equal(tnef.attachments.length, 701)
    assert.equal(tnef.attachments.at(-1)?.message?.attachments.length, 299)
    assert.equal(tnef.attachments.at(-1)?.message?.whole, false)
  })
})

describe('bytes that nobody meant for winmail.dat', () => {
  const mail: TnefContent = {
    codePage: 932,
    body: Buffer.from('hello'),
    properties: [property.string(ID.body, 'Hello'), property.binary(ID.html, Buffer.from('<p>Hello</p>'))],
    attachments: [
      {
        ...offer,
        properties: [property.string(ID.longName, 'long name.pdf'), property.strings(0x1234, ['a', 'b'])],
      },
      { properties: [property.object(ID.data, INTERFACE.message, encodeTnef({ attachments: [offer] }))] },
    ],
  }
  const good = encodeTnef(mail)
  const check = (bytes: Uint8Array) => {
    const tnef = readTnef(bytes)
    if (tnef) assert.ok(sizeOf(tnef) <= bytes.length, `${sizeOf(tnef)} bytes out of ${bytes.length}`)
    return tnef
  }

  test('are read without a throw, into no more than they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        check(bytes)
        check(Buffer.concat([good.subarray(0, 6), bytes]))
      }),
      { numRuns: 1000 },
    )
  })

  test('are never taken for a whole one when they were cut off within an attribute', () => {
    const whole = new Set(boundaries(good))
    for (let length = 0; length < good.length; length++) {
      const tnef = check(good.subarray(0, length))
      if (tnef?.whole) assert.ok(whole.has(length), `cut at ${length} of ${good.length}`)
    }
  })

  test('are never taken for a whole one when a byte of an attribute was changed', () => {
    for (let at = 6; at < good.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const broken = Buffer.from(good)
        broken.writeUInt8((broken[at] ?? 0) ^ flip, at)
        const tnef = check(broken)
        const inHead = boundaries(good).some((start) => at > start && at < start + 5)
        if (!inHead) assert.equal(tnef?.whole ?? false, false, `byte ${at}`)
      }
    }
  })

  test('are read without a throw when a good one is damaged in several places', () => {
    const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(damage, fc.nat(good.length), (places, length) => {
        const broken = Buffer.from(good)
        for (const [at, byte] of places) broken.writeUInt8(byte, at)
        check(broken.subarray(0, length))
      }),
      { numRuns: 1000 },
    )
  })

  test('that claim four billion values, or nest for ever, take no time', () => {
    const start = performance.now()
    let nested = encodeTnef({ attachments: [offer] })
    for (let depth = 0; depth < 100; depth++) {
      nested = encodeTnef({
        attachments: [{ properties: [property.object(ID.data, INTERFACE.message, nested)] }],
      })
    }
    assert.equal(depthOf(check(nested)), 9)
    for (const type of [0x1002, 0x1003, 0x101f, 0x1102, 0x001f, 0x0102]) {
      const lying = { id: ID.body, type, value: Buffer.alloc(0) }
      const bytes = encodeTnef({ properties: [lying], attachments: [offer] })
      const count = bytes.indexOf(Buffer.from([type & 0xff, type >> 8, 0x00, 0x10])) + 4
      check(Buffer.concat([bytes.subarray(0, count), Buffer.alloc(8, 0xff), bytes.subarray(count + 8)]))
    }
    check(Buffer.concat([good.subarray(0, 6), Buffer.alloc(1_000_000, 0x02)]))
    assert.ok(performance.now() - start < 2000, `took ${performance.now() - start} ms`)
  })
})

describe('a mail with a winmail.dat', () => {
  test('lists the attachments in its place, and not itself', async () => {
    const mail = await parseMail(mailWith(encodeTnef({ attachments: [offer] }), 'See the offer.'))
    assert.deepEqual(namesOf(mail), ['offer.pdf application/pdf'])
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString(), '%PDF')
    assert.equal(mail.text.trim(), 'See the offer.')
  })

  test('has the names of the attachments as labels, whatever paths and line ends are in them', async () => {
    const names = ['C:\\Users\\anna\\offer.pdf', '../../etc/passwd', 'a\r\nBcc: x.pdf', '']
    const attachments = names.map((name) => ({ ...offer, properties: [property.string(ID.longName, name)] }))
    const [last] = attachments.splice(-1)
    const nameless = { ...last, title: '' }
    const mail = await parseMail(mailWith(encodeTnef({ attachments: [...attachments, nameless] })))
    assert.deepEqual(
      mail.parts.map(({ name }) => name),
      ['offer.pdf', 'passwd', 'a Bcc: x.pdf', 'part-4'],
    )
  })

  test('has images that its HTML shows by their content id', async () => {
    const image = {
      title: 'logo.png',
      data: Buffer.from('PNG'),
      properties: [property.string(ID.contentId, '<logo@x>'), property.int32(ID.flags, 4)],
    }
    const html = property.binary(ID.html, Buffer.from('<p>Hi <img src="cid:logo@x"></p>'))
    const mail = await parseMail(mailWith(encodeTnef({ properties: [html], attachments: [image] })))
    const [part] = mail.parts
    assert.deepEqual([part?.contentId, part?.inline, part?.type], ['logo@x', true, 'image/png'])
    assert.equal(mail.text, 'Hi')
    assert.match(mail.html ?? '', /cid:logo@x/)
  })

  test('keeps its own text, and takes the one from winmail.dat only where it has none', async () => {
    const bytes = encodeTnef({ properties: [property.string(ID.body, 'Out of the box\r\n')] })
    assert.equal((await parseMail(mailWith(bytes, 'My own'))).text.trim(), 'My own')
    assert.equal((await parseMail(mailWith(bytes))).text.trim(), 'Out of the box')
  })

  test('is found by its file name where the type says nothing, and by its type under any name', async () => {
    const bytes = encodeTnef({ attachments: [offer] })
    for (const [type, name] of [
      ['application/octet-stream', 'WINMAIL.DAT'],
      ['application/vnd.ms-tnef', 'whatever'],
      ['application/ms-tnef', 'winmail.dat'],
    ] as const) {
      assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x', type, name))), [
        'offer.pdf application/pdf',
      ])
    }
    const other = await parseMail(mailWith(bytes, 'x', 'application/octet-stream', 'other.dat'))
    assert.deepEqual(namesOf(other), ['other.dat application/octet-stream'])
  })

  const winmail = 'winmail.dat application/ms-tnef'

  test('that is broken keeps it as the attachment that it is', async () => {
    for (const bytes of [Buffer.from('not TNEF at all'), Buffer.alloc(0), encodeTnef({}).subarray(0, 20)]) {
      assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), [winmail])
    }
  })

  test('that is damaged behind an attachment keeps both', async () => {
    const bytes = encodeTnef({ attachments: [offer, offer] }).subarray(0, -3)
    assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), ['offer.pdf application/pdf', winmail])
  })

  test('keeps it as well where a text is there in RTF only, and not where the mail has the text itself', async () => {
    const bytes = encodeTnef({
      properties: [property.binary(ID.rtf, Buffer.from('LZFu'))],
      attachments: [offer],
    })
    assert.deepEqual(namesOf(await parseMail(mailWith(bytes))), ['offer.pdf application/pdf', winmail])
    assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), ['offer.pdf application/pdf'])
  })

  test('keeps it as well for a meeting, whose time is in no attachment', async () => {
    const bytes = encodeTnef({ messageClass: 'IPM.Microsoft Schedule.MtgReq', attachments: [offer] })
    assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), ['offer.pdf application/pdf', winmail])
  })

  test('keeps it as well for a link to a file that lies elsewhere', async () => {
    const bytes = encodeTnef({
      attachments: [offer, { properties: [property.string(ID.longName, 'far.doc')] }],
    })
    assert.deepEqual(namesOf(await parseMail(mailWith(bytes, 'x'))), ['offer.pdf application/pdf', winmail])
  })

  test('shows the text and the attachments of a message within, and keeps it for the headers', async () => {
    const inner = encodeTnef({ properties: [property.string(ID.body, 'Forwarded')], attachments: [offer] })
    const message = {
      properties: [property.string(ID.name, 'Fw: offer'), property.object(ID.data, INTERFACE.message, inner)],
    }
    const mail = await parseMail(mailWith(encodeTnef({ attachments: [message] }), 'x'))
    assert.deepEqual(namesOf(mail), ['Fw: offer.txt text/plain', 'offer.pdf application/pdf', winmail])
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString(), 'Forwarded')
  })

  test('gives an OLE object as the storage that it is', async () => {
    const storage = property.object(ID.data, INTERFACE.storage, Buffer.from('d0cf11e0a1b11ae1', 'hex'))
    const mail = await parseMail(
      mailWith(encodeTnef({ attachments: [{ title: 'Sheet', properties: [storage] }] }), 'x'),
    )
    assert.deepEqual(namesOf(mail), ['Sheet application/octet-stream'])
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString('hex'), 'd0cf11e0a1b11ae1')
  })

  test('that is too big for memory is read all the same', async () => {
    const fixture = await startTransportFixture()
    const { artifacts } = fixture.deps
    const content = 'x'.repeat(1_000_000)
    const bytes = encodeTnef({
      properties: [property.string(ID.body, 'Out of the box')],
      attachments: [file('big.txt', content)],
    })
    const mail = await parseBigMail(Readable.from([mailWith(bytes)]), artifacts, 10_000_000)
    assert.deepEqual(namesOf(mail), ['big.txt text/plain'])
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString(), content)
    assert.equal(mail.text, 'Out of the box')
    await fixture.close()
  })

  test('that says nothing but winmail.dat is still a mail', async () => {
    const raw = await readFile(join(import.meta.dirname, 'mails/outlook-tnef-only.eml'))
    const mail = await parseMail(raw)
    assert.match(mail.html ?? '', /<b>price list<\/b>/)
  })
})

function read(content: TnefContent): Tnef {
  const tnef = readTnef(encodeTnef(content))
  assert.ok(tnef)
  return tnef
}

function namesIn(tnef: Tnef | undefined): string[] {
  return tnef?.attachments.map(({ name }) => name) ?? []
}

function namesOf(mail: { parts: { name: string; type: string }[] }): string[] {
  return mail.parts.map(({ name, type }) => `${name} ${type}`)
}

/** All that was made of a TNEF, in bytes and characters; a message within is part of its attachment. */
function sizeOf({ text = '', html = '', attachments }: Tnef): number {
  const inner = attachments.map(({ name, content }) => name.length + content.length)
  return text.length + html.length + inner.reduce((sum, size) => sum + size, 0)
}

function depthOf(tnef: Tnef | undefined): number {
  return tnef ? 1 + depthOf(tnef.attachments[0]?.message) : 0
}

/** Where an attribute ends and another may begin. What is cut off there is shorter, and no less whole. */
function boundaries(bytes: Buffer): number[] {
  const ends = [6]
  for (let at = 6; at < bytes.length; ) {
    at += 9 + bytes.readUInt32LE(at + 5) + 2
    ends.push(at)
  }
  return ends
}

function mailWith(bytes: Buffer, text?: string, type = 'application/ms-tnef', name = 'winmail.dat'): Buffer {
  const part = `--m\r\nContent-Type: ${type}; name="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n`
  const own = text === undefined ? '' : `--m\r\nContent-Type: text/plain\r\n\r\n${text}\r\n`
  const body = bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  const head = 'From: anna@example.net\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n'
  return Buffer.from(`${head}${own}${part}${body}\r\n--m--\r\n`)
}
