import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codePageDecoder } from '../../../transports/email/inbound/code-page.ts'
import { readTnef, type Tnef } from '../../../transports/email/inbound/tnef.ts'
import fc from '../../fixtures/fast-check.ts'
import { compressRtf, encodeTnef, file, ID, INTERFACE, property, type TnefContent } from './tnef-encoder.ts'

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

  test('does not give more than 2 MB of RTF, however many messages within hold some', () => {
    const rtf = property.binary(ID.rtf, compressRtf(`{\\rtf1 ${'x'.repeat(800_000)}}`))
    const inner = property.object(ID.data, INTERFACE.message, encodeTnef({ properties: [rtf] }))
    const { attachments } = read({ attachments: Array.from({ length: 4 }, () => ({ properties: [inner] })) })
    assert.deepEqual(
      attachments.map(({ message }) => [message?.text?.length, message?.hasUnreadRtf]),
      [
        [800_000, false],
        [800_000, false],
        [undefined, true],
        [undefined, true],
      ],
    )
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

function read(content: TnefContent): Tnef {
  const tnef = readTnef(encodeTnef(content))
  assert.ok(tnef)
  return tnef
}

function namesIn(tnef: Tnef | undefined): string[] {
  return tnef?.attachments.map(({ name }) => name) ?? []
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
