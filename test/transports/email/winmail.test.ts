import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { parseBigMail } from '../../../transports/email/inbound/parse-big.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { compressRtf, encodeTnef, file, ID, INTERFACE, property } from './tnef-encoder.ts'

const offer = file('offer.pdf', '%PDF')
const RTF = {
  text: '{\\rtf1\\ansi\\ansicpg1252 {\\b Hello}\\par Anna}',
  html: '{\\rtf1\\ansi\\fromhtml1 {\\*\\htmltag64 <p>}Hello{\\*\\htmltag72 </p>}}',
}

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

  test('has the text, or the HTML, that is there in RTF only', async () => {
    const text = encodeTnef({
      properties: [property.binary(ID.rtf, compressRtf(RTF.text))],
      attachments: [offer],
    })
    const mail = await parseMail(mailWith(text))
    assert.equal(mail.text, 'Hello\nAnna')
    assert.deepEqual(namesOf(mail), ['offer.pdf application/pdf'])
    const html = encodeTnef({ properties: [property.binary(ID.rtf, compressRtf(RTF.html))] })
    assert.equal((await parseMail(mailWith(html))).html, '<p>Hello</p>')
  })

  test('keeps it as well where the only text is in RTF that is broken, and not where the mail has one itself', async () => {
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
