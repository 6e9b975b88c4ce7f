import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { automaticReason } from '../../../transports/email/inbound/automatic.ts'
import { readBounce } from '../../../transports/email/inbound/bounce.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import { kindOfMail } from '../../../transports/email/inbound/subject.ts'
import fc from '../../fixtures/fast-check.ts'
import { inProportion, inTime } from '../../fixtures/in-time.ts'

const DIR = join(import.meta.dirname, 'mails')
const names = (await readdir(DIR)).filter((name) => name.endsWith('.eml')).map((name) => name.slice(0, -4))
const originals = await Promise.all(names.map((name) => readFile(join(DIR, `${name}.eml`))))
const expected: Record<string, object> = JSON.parse(await readFile(join(DIR, 'expected.json'), 'utf8'))

describe('a mail is read as intended by its sender:', () => {
  for (const [index, name] of names.entries()) {
    test(name.replaceAll('-', ' '), async () => {
      const defaults = { from: ['Anna Ekman <anna@example.net>'], id: `<${name}@example.net>`, parts: [] }
      assert.deepEqual(await summaryOf(originals[index]), { ...defaults, ...expected[name] })
    })
  }

  test('each expectation has a mail', () => {
    assert.deepEqual(Object.keys(expected).sort(), names.sort())
  })
})

describe('a malformed mail', () => {
  test('is read without an exception', async () => {
    const damage = fc.record({
      raw: fc.constantFrom(...originals),
      cut: fc.nat(3000),
      at: fc.nat(3000),
      noise: fc.uint8Array({ maxLength: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ raw, cut, at, noise }) => {
        const broken = Buffer.concat([raw.subarray(0, at), noise, raw.subarray(at, raw.length - cut)])
        const result = await summaryOf(broken)
        assert.doesNotMatch(result.subject ?? '', /[\r\n\0]/)
        for (const part of result.parts) assert.doesNotMatch(part.split(' ')[0] ?? '', /[\r\n]/)
      }),
      { numRuns: 300 },
    )
  })

  test('that cannot be parsed is an attachment, with the reason', async () => {
    const deep = Array.from(
      { length: 300 },
      (_, depth) => `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n`,
    )
    const many = `Content-Type: multipart/mixed; boundary=B\n\n${'--B\n\n'.repeat(100_000)}`
    const wide = many.replace(/B\n.*/s, `${'B'.repeat(60)}\n\n${`--${'B'.repeat(60)}\n`.repeat(60_000)}`)
    for (const body of [deep.join(''), many, wide]) {
      const raw = Buffer.from(`From: a@example.net\nSubject: Odd\n${body}`)
      const mail = await inTime('parsing', 2000, () => parseMail(raw))
      assert.equal(mail.subject, 'Odd')
      assert.match(mail.unreadable ?? '', /parts|nested/)
      assert.deepEqual(partsOf(mail), [`mail.eml message/rfc822 ${mail.parts[0]?.content.length}`])
      assert.ok((mail.parts[0]?.content.length ?? 0) > body.length)
    }
  })

  test('that breaks a rule of the format is read', async () => {
    const part = (head: string, text: string) => `--B\nContent-Type: text/${head}\n\n${text}\n`
    const parts = `Content-Type: multipart/mixed; boundary=B\n\n${part('plain; name=body.txt', 'Hi')}${part('plain; name=log.txt', 'log')}${part('html; name=x.html', '<p>')}--B--`
    const cases: [rest: string, text: string, files: string[]][] = [
      ['Content-Type: text/plain; charset=utf-7\n\nGr+APwA3w-e +- 1+-1', 'Grüße + 1+1', []],
      ['Content-Type: text\n\nHi', 'Hi', []],
      ['Dear all,\n\nno empty line', 'Dear all,\n\nno empty line', []],
      [parts, 'Hi', ['log.txt text/plain 3', 'x.html text/html 3']],
      ['Content-Transfer-Encoding: base64\n\nSGk=\nIHlv*dQ==\n', 'Hi you', []],
      // An encoded byte ends with its line.
      ['Content-Transfer-Encoding: quoted-printable\n\n=4=\n1=C3=a9 a=\nb ==zz', '=41é ab ==zz', []],
      ['Content-Transfer-Encoding: base64-quoted-printable\n\n=48i', 'Hi', []],
      ['Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a.txt\n"2&D`\n`\nend\n', 'Hi', []],
      ['Content-Transfer-Encoding: x-uuencode\n\nno such content', 'no such content', []],
    ]
    for (const [rest, text, files] of cases) {
      const mail = await parseMail(Buffer.from(`From: a@example.net\nSubject: x\n y\n${rest}`))
      assert.deepEqual([mail.subject, mail.text.trim(), partsOf(mail)], ['x y', text, files])
    }
  })

  test('with a file of many lines is read in proportional time', async () => {
    for (const [encoding, line] of [
      ['8bit', 'one line of a log, as long as lines of real logs are\n'],
      ['base64', `${'QUFB'.repeat(19)}\n`],
      ['quoted-printable', `${'=41'.repeat(24)}=\n`],
    ] as const) {
      const head = `Content-Disposition: attachment\nContent-Transfer-Encoding: ${encoding}\n\n`
      const mail = await inProportion(encoding, 120_000, (lines) =>
        parseMail(Buffer.from(head + line.repeat(lines))),
      )
      assert.ok((mail.parts[0]?.content.length ?? 0) > 2_000_000, encoding)
    }
    const mail = await inProportion('padding', 500_000, (count) =>
      parseMail(Buffer.from(`Content-Transfer-Encoding: base64\n\n${'QQ=='.repeat(count)}`)),
    )
    assert.equal(mail.text.length, 500_000)
  })

  test('with any repetition in a header is read in proportional time', async () => {
    const pieces = ['(', '(a', '<', '"', ',', ':', ';', '@', 'a@b,', '=?utf-8?q?a?= ', 'a*0=b; ', '\\"', ' ']
    pieces.push(
      'g:',
      'g:a@b;',
      'g:g:a@b,',
      '"a" ',
      '=?',
      '=?a?q?',
      'a*1*=%41;',
      'charset ',
      'name="',
      '>a<',
      '<a',
    )
    const names = ['Date', 'From', 'To', 'Reply-To', 'Subject', 'Content-Type', 'References', 'Message-ID']
    for (const name of [...names, 'Content-Disposition', 'Content-Transfer-Encoding', 'X-Other']) {
      for (const piece of pieces) {
        await inProportion(`${name}: ${piece}`, 100_000, (size) =>
          parseMail(Buffer.from(`${name}: ${piece.repeat(size / piece.length)}\r\n\r\nhi\r\n`)),
        )
      }
    }
    const dated = await parseMail(Buffer.from('Date: Fri, 6 Nov 2026 10:00:00 +0100 (CET)\r\n\r\nhi\r\n'))
    assert.equal(dated.date, Date.UTC(2026, 10, 6, 9))
  })

  test('with nested groups has each sender and recipient once', async () => {
    const deep = `From: ${'g:'.repeat(4_000)}anna@example.net;\nTo: Team: a@x.org, "B: c" <b@x.org>;, c@x.org\n\nhi`
    const mail = await parseMail(Buffer.from(deep))
    assert.deepEqual(
      mail.from.map(({ address }) => address),
      ['anna@example.net'],
    )
    assert.deepEqual(
      mail.to.map(({ address }) => address),
      ['a@x.org', 'b@x.org', 'c@x.org'],
    )
  })

  test('of a million short lines is read completely', async () => {
    const line = 'one line of a log\n'
    const mail = await inProportion('lines', 1_000_000, (lines) =>
      parseMail(Buffer.from(`From: a@example.net\n\n${line.repeat(lines)}`)),
    )
    assert.equal(mail.text, line.repeat(1_000_000))
    assert.equal(mail.unreadable, undefined)
  })

  test('that is a multipart without parts is a text', async () => {
    for (const type of ['multipart/mixed', 'multipart/mixed; boundary=B']) {
      const read = (body: string) =>
        parseMail(Buffer.from(`From: a@example.net\nContent-Type: ${type}\n\n${body}`))
      assert.equal((await read('all the same\n')).text, 'all the same\n')
      assert.equal((await read('--B\nContent-Type: text/plain\n\nhello\n--B--\n')).text, 'hello')
    }
  })
})

/** A short summary of a parsed mail. */
async function summaryOf(raw = Buffer.alloc(0)) {
  const mail = await parseMail(raw)
  const automatic = automaticReason(mail, new Set(['support@example.com']))
  const bounce = readBounce(mail)
  return {
    subject: mail.subject ?? null,
    from: mail.from.map(({ name, address }) => `${name} <${address}>`.trim()),
    id: mail.messageId ?? null,
    text: newPart(mail.text, kindOfMail(mail)),
    parts: partsOf(mail),
    ...(automatic ? { automatic } : {}),
    ...(bounce ? { bounce } : {}),
    ...(mail.unreadable ? { unreadable: mail.unreadable } : {}),
  }
}

function partsOf({ parts }: Awaited<ReturnType<typeof parseMail>>): string[] {
  return parts.map(({ name, type, content }) => `${name} ${type} ${content.length}`)
}
