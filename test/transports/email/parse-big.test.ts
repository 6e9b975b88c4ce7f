import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { parseBigMail } from '../../../transports/email/inbound/parse-big.ts'
import { startTransportFixture, type TransportFixture } from '../../fixtures/transport-deps.ts'

const HEAD = 'From: anna@example.net\r\nSubject: Contract\r\nMIME-Version: 1.0\r\n'
const LONG_HTML = `<p>${'hello world this is html from outlook<br>\r\n'.repeat(8000)}</p>`

describe('a mail that is taken apart on its way to disk', () => {
  let fixture: TransportFixture
  before(async () => {
    fixture = await startTransportFixture()
  })
  after(() => fixture.close())

  const parse = (raw: string | Buffer) =>
    parseBigMail(Readable.from([Buffer.from(raw)]), fixture.deps.artifacts, 50_000_000)
  const saved = async (part: { saved?: { sha256: string } } | undefined) =>
    part?.saved && (await buffer(fixture.deps.artifacts.open(part.saved.sha256))).toString()

  test('keeps the attachments that come after a text of which a part had to be left out', async () => {
    const mail = await parse(
      mixed([
        text(LONG_HTML, 'text/html'),
        attachment('contract.pdf', 'application/pdf', '%PDF contract'),
        attachment('résumé.txt', 'text/plain', 'Anna'),
      ]),
    )
    assert.deepEqual(namesOf(mail), ['contract.pdf application/pdf', 'résumé.txt text/plain'])
    assert.equal(await saved(mail.parts[0]), '%PDF contract')
    assert.equal(await saved(mail.parts[1]), 'Anna')
    assert.match(mail.unreadable ?? '', /text is over/)
    assert.ok(mail.html?.startsWith('<p>hello world'))
  })

  test('keeps an attachment before such a text, within it and after it, in their order', async () => {
    const nested = `Content-Type: multipart/related; boundary=r\r\n\r\n--r\r\n${text(LONG_HTML, 'text/html')}\r\n--r\r\n${attachment('logo.png', 'image/png', 'PNG', 'Content-ID: <logo@x>\r\n')}\r\n--r--\r\n`
    const mail = await parse(
      mixed([
        attachment('first.txt', 'text/plain', '1'),
        nested,
        attachment('offer.eml', 'message/rfc822', 'Subject: x\r\n\r\nForwarded'),
        attachment('last.txt', 'text/plain', '3'),
      ]),
    )
    assert.deepEqual(namesOf(mail), [
      'first.txt text/plain',
      'logo.png image/png',
      'offer.eml message/rfc822',
      'last.txt text/plain',
    ])
    assert.equal(mail.parts[1]?.contentId, 'logo@x')
    assert.equal(await saved(mail.parts[2]), 'Subject: x\r\n\r\nForwarded')
    assert.equal(await saved(mail.parts[3]), '3')
  })

  test('keeps every one of many attachments, however long their headers are together', async () => {
    const extra = `X-Pad: ${'a'.repeat(700)}\r\n`
    const parts = Array.from({ length: 900 }, (_, at) =>
      attachment(`${at}.txt`, 'text/plain', `no ${at}`, extra),
    )
    const mail = await parse(mixed([text('Hello', 'text/plain'), ...parts]))
    assert.equal(mail.parts.length, 900)
    assert.equal(await saved(mail.parts[899]), 'no 899')
    assert.equal(mail.text.trim(), 'Hello')
    assert.equal(mail.unreadable, undefined)
  })

  test('keeps an attachment whose own headers are longer than the parser takes', async () => {
    const mail = await parse(
      mixed([
        attachment('a.txt', 'text/plain', 'whole', `X-Pad: ${'a'.repeat(300_000)}\r\n`),
        text('Hello', 'text/plain'),
      ]),
    )
    assert.deepEqual(namesOf(mail), ['a.txt text/plain'])
    assert.equal(await saved(mail.parts[0]), 'whole')
    assert.equal(mail.text.trim(), 'Hello')
  })

  test('of more parts than are read keeps what came before, and says so', async () => {
    const parts = Array.from({ length: 3000 }, (_, at) => attachment(`${at}.txt`, 'text/plain', `no ${at}`))
    const mail = await parse(mixed([text('Hello', 'text/plain'), ...parts]))
    assert.ok(mail.parts.length > 900, `${mail.parts.length} parts`)
    assert.equal(await saved(mail.parts[900]), 'no 900')
    assert.equal(mail.text.trim(), 'Hello')
    assert.match(mail.unreadable ?? '', /over 1000 parts.*left out/)
  })
})

function namesOf(mail: { parts: { name: string; type: string }[] }): string[] {
  return mail.parts.map(({ name, type }) => `${name} ${type}`)
}

function mixed(parts: readonly string[]): string {
  const body = parts.map((part) => `--b\r\n${part}\r\n`).join('')
  return `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${body}--b--\r\n`
}

function text(body: string, type: string): string {
  return `Content-Type: ${type}; charset=utf-8\r\n\r\n${body}`
}

function attachment(name: string, type: string, body: string, headers = ''): string {
  const encoded = `=?utf-8?B?${Buffer.from(name).toString('base64')}?=`
  const isMessage = type === 'message/rfc822'
  const content = isMessage ? body : Buffer.from(body).toString('base64')
  return `${headers}Content-Type: ${type}\r\nContent-Disposition: attachment; filename="${encoded}"\r\nContent-Transfer-Encoding: ${isMessage ? '7bit' : 'base64'}\r\n\r\n${content}`
}
